//! `expand`: reads an archived output again, whole or a range of its lines.
