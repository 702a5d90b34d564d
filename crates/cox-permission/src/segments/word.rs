//! What both readers make of a line: commands of words, and the files that they are connected to.

/// A word with its quotes removed.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    pub(super) text: String,
    /// Where it begins and ends in the line, in bytes.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it begins with a pattern that a shell replaces by names of files.
    pub(super) begins_with_pattern: bool,
    pub(super) value: Value,
}

/// What is known about the value of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// It is its text.
    #[default]
    Literal,
    /// It is some one word.
    One,
    /// It is any number of words.
    Any,
}

/// A file that a command is connected to by `<`, `>` and the like.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) written: String,
    pub(super) writes: bool,
}

/// What a command reads from its standard input, when the line says so.
#[derive(Clone, Debug, Default)]
pub(super) enum Input {
    #[default]
    Inherited,
    Text(String),
    Unknown,
}

/// A plain command: at least one word.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    pub(super) words: Vec<Word>,
    /// Where it ends in the line; redirects included where the strict reader read it.
    pub(super) end: usize,
    pub(super) files: Vec<File>,
    pub(super) input: Input,
}

/// Says whether a variable of this name may be set without changing what other commands do: names as people give to
/// what a loop runs over.
pub(super) fn is_idle_variable(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "arg", "branch", "commit", "crate", "dir", "ext", "file", "item", "line", "name", "num",
        "pkg", "src", "url", "word", "dirname", "filename", "version", "row", "rest", "count",
    ];
    NAMES.contains(&name) || name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Says whether a variable may be set to a value for one command: it changes language, colours or time zone alone.
pub(super) fn is_safe_assignment(name: &str, value: &str) -> bool {
    const NAMES: &[&str] = &[
        "LC_ALL",
        "LC_CTYPE",
        "LC_COLLATE",
        "LC_NUMERIC",
        "LC_TIME",
        "LC_MESSAGES",
        "LANG",
        "LANGUAGE",
        "TZ",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "CARGO_TERM_COLOR",
        "COLUMNS",
        "LINES",
        "TERM",
        "CI",
        "RUST_BACKTRACE",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "GIT_OPTIONAL_LOCKS",
    ];
    match name {
        "PAGER" | "GIT_PAGER" | "MANPAGER" => value == "cat",
        _ => {
            NAMES.contains(&name)
                && !value.starts_with('/')
                && !value.contains("..")
                && value.bytes().all(|byte| {
                    byte.is_ascii_alphanumeric()
                        || matches!(byte, b'_' | b'.' | b':' | b'@' | b'/' | b'+' | b'-')
                })
        }
    }
}
