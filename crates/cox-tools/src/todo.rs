//! `todo`: the list of what is to be done, as the model keeps it.
