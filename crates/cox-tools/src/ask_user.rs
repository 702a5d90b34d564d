//! `ask_user`: puts a question to the person.
