//! URLs from outside: the normal form, the host, and what a person should be warned of.
