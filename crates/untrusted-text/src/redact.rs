//! Secrets that must not be stored or shown, replaced by a marker.
