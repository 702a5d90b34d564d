//! Honest shortening: head and tail, cut on line and character boundaries, with the cut stated.
