//! Commands that only read, with the options under which they do.

use crate::Segment;

mod git;

/// Programs without an option or argument that writes or runs something.
const HARMLESS: &[&str] = &[
    ":",
    "arch",
    "basename",
    "break",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "continue",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expr",
    "false",
    "fgrep",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "head",
    "hexdump",
    "id",
    "jq",
    "lscpu",
    "ls",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "return",
    "rev",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "tr",
    "true",
    "tty",
    "type",
    "uname",
    "uptime",
    "wait",
    "wc",
    "whereis",
    "which",
    "who",
    "whoami",
];

/// Says whether a command only reads.
pub(super) fn is_read_only(segment: &Segment) -> bool {
    let Some((program, arguments)) = segment.words.split_first() else {
        return false;
    };
    let program = program.as_str();
    if HARMLESS.contains(&program) {
        return true;
    }
    if matches!(program, "test" | "[" | "[[") {
        return is_harmless_test(segment);
    }
    // What these set is checked where the line is read.
    if matches!(program, "read" | "set") {
        return true;
    }
    // An open word may turn out to be an option.
    if !segment.is_literal() {
        return false;
    }
    // A pattern at the start of a word may turn into an option: a file can be called `--pre=x`.
    if segment.begins_with_pattern {
        return false;
    }
    match program {
        "env" | "time" | "nice" | "hostname" => arguments.is_empty(),
        "command" => matches!(arguments.first().map(String::as_str), Some("-v" | "-V")),
        "timeout" => false,
        "date" => {
            only(
                arguments,
                Options {
                    short: "uR",
                    long: &["utc", "iso-8601", "rfc-3339", "rfc-email"],
                    with_value: "dr",
                },
            ) && operands(arguments, "dr").all(|word| word.starts_with('+'))
        }
        "uniq" => {
            only(
                arguments,
                Options {
                    short: "cdDuiz",
                    long: &["count", "repeated", "unique", "ignore-case"],
                    with_value: "fsw",
                },
            ) && operands(arguments, "fsw").count() <= 1
        }
        "xxd" => {
            only(
                arguments,
                Options {
                    short: "bpiueE",
                    long: &[],
                    with_value: "lscgo",
                },
            ) && operands(arguments, "lscgo").count() <= 1
        }
        "column" => only(
            arguments,
            Options {
                short: "tnx",
                long: &["table"],
                with_value: "sco",
            },
        ),
        "file" => only(
            arguments,
            Options {
                short: "bikLh0",
                long: &["brief", "mime", "mime-type", "mime-encoding"],
                with_value: "",
            },
        ),
        "base64" => only(
            arguments,
            Options {
                short: "dDi",
                long: &["decode", "wrap", "ignore-garbage"],
                with_value: "w",
            },
        ),
        "tree" => only(
            arguments,
            Options {
                short: "adfilpsugDFQNqJXhAC",
                long: &[
                    "noreport",
                    "dirsfirst",
                    "gitignore",
                    "prune",
                    "filelimit",
                    "du",
                    "charset",
                ],
                with_value: "LPI",
            },
        ),
        "sort" => only(
            arguments,
            Options {
                short: "bdfghinMRrVucCmsz",
                long: &[
                    "reverse",
                    "unique",
                    "numeric-sort",
                    "human-numeric-sort",
                    "version-sort",
                    "ignore-case",
                    "key",
                    "field-separator",
                    "stable",
                    "check",
                ],
                with_value: "kt",
            },
        ),
        "sed" => is_printing_sed(arguments),
        "find" => is_searching_find(arguments),
        "rg" => only(arguments, RG),
        "git" => git::is_reading(arguments),
        "node" | "python" | "python3" => matches!(arguments, [word] if word == "--version"),
        _ => false,
    }
}

/// Says whether a test evaluates nothing: a shell runs what stands in a subscript, and in what it takes for a number.
fn is_harmless_test(segment: &Segment) -> bool {
    if segment
        .words
        .iter()
        .enumerate()
        .any(|(at, word)| word.contains(['$', '`']) && !segment.open.contains(&at))
    {
        return false;
    }
    if segment.is_literal() && segment.words[0] != "[[" {
        return true;
    }
    const OPERATORS: &[&str] = &[
        "-f", "-d", "-e", "-s", "-z", "-n", "-r", "-w", "-x", "-L", "-h", "=", "==", "!=", "=~",
        "!", "&&", "||", "[", "]", "[[", "]]",
    ];
    // One open word between operators stays an operand.
    !segment.may_split
        && segment.words[1..].iter().enumerate().all(|(at, word)| {
            let is_open = segment.open.contains(&(at + 1));
            is_open
                || OPERATORS.contains(&word.as_str())
                || !word.starts_with('-') && !word.contains(['[', '(', '<', '>'])
        })
}

/// The options under which a program only reads.
#[derive(Clone, Copy)]
struct Options {
    /// Letters that stand alone.
    short: &'static str,
    /// Whole names, with or without `=value`.
    long: &'static [&'static str],
    /// Letters that a value follows.
    with_value: &'static str,
}

const RG: Options = Options {
    short: "nilwvcoSsFHINpPqx0.LUuah1V",
    long: &[
        "files",
        "hidden",
        "glob",
        "iglob",
        "type",
        "type-not",
        "type-list",
        "no-ignore",
        "no-ignore-vcs",
        "no-ignore-parent",
        "line-number",
        "no-line-number",
        "ignore-case",
        "smart-case",
        "case-sensitive",
        "word-regexp",
        "line-regexp",
        "fixed-strings",
        "count",
        "count-matches",
        "files-with-matches",
        "files-without-match",
        "max-count",
        "context",
        "after-context",
        "before-context",
        "heading",
        "no-heading",
        "color",
        "with-filename",
        "no-filename",
        "column",
        "no-column",
        "json",
        "multiline",
        "multiline-dotall",
        "pcre2",
        "sort",
        "sortr",
        "stats",
        "trim",
        "vimgrep",
        "max-depth",
        "max-filesize",
        "max-columns",
        "only-matching",
        "replace",
        "regexp",
        "passthru",
        "invert-match",
        "null",
        "follow",
        "text",
        "binary",
        "version",
        "encoding",
        "one-file-system",
        "quiet",
        "unrestricted",
        "crlf",
        "no-messages",
        "no-config",
    ],
    with_value: "egtTABCmrjdEMf",
};

/// Says whether all options are known.
fn only(arguments: &[String], options: Options) -> bool {
    let mut is_value = false;
    for word in arguments {
        if std::mem::take(&mut is_value) || word == "-" || !word.starts_with('-') {
            continue;
        }
        if word == "--" {
            return true;
        }
        if let Some(long) = word.strip_prefix("--") {
            if !options
                .long
                .contains(&long.split('=').next().unwrap_or(long))
            {
                return false;
            }
            continue;
        }
        for (at, letter) in word.char_indices().skip(1) {
            if options.with_value.contains(letter) {
                is_value = at + letter.len_utf8() == word.len();
                break;
            }
            if !options.short.contains(letter) {
                return false;
            }
        }
    }
    true
}

/// Returns the words that are neither options nor their values.
fn operands<'a>(
    arguments: &'a [String],
    with_value: &'static str,
) -> impl Iterator<Item = &'a String> {
    let mut is_value = false;
    arguments.iter().filter(move |word| {
        let is_option = word.len() > 1 && word.starts_with('-');
        // In a cluster, programs differ on whether the last letter takes the next word: then it does not count as one.
        let takes_next =
            is_option && word.len() == 2 && word.ends_with(|letter| with_value.contains(letter));
        !std::mem::replace(&mut is_value, takes_next) && !is_option
    })
}

/// `sed -n` with a script of line numbers and `p`, the way to see a part of a file.
fn is_printing_sed(arguments: &[String]) -> bool {
    let [option, script, files @ ..] = arguments else {
        return false;
    };
    let is_address = |text: &str| {
        text == "$" || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let prints = script.split(';').all(|command| {
        let addresses = command.trim().strip_suffix('p').unwrap_or("?");
        addresses.split(',').count() <= 2 && addresses.split(',').all(is_address)
    });
    option == "-n" && prints && files.iter().all(|word| !word.starts_with('-'))
}

fn is_searching_find(arguments: &[String]) -> bool {
    const TESTS: &[&str] = &[
        "name",
        "iname",
        "path",
        "ipath",
        "wholename",
        "iwholename",
        "regex",
        "iregex",
        "regextype",
        "type",
        "xtype",
        "maxdepth",
        "mindepth",
        "size",
        "mtime",
        "mmin",
        "atime",
        "amin",
        "ctime",
        "cmin",
        "newer",
        "newermt",
        "newerct",
        "perm",
        "user",
        "group",
        "uid",
        "gid",
        "empty",
        "prune",
        "print",
        "print0",
        "printf",
        "o",
        "or",
        "a",
        "and",
        "not",
        "follow",
        "L",
        "H",
        "P",
        "E",
        "xdev",
        "mount",
        "depth",
        "true",
        "false",
        "links",
        "inum",
        "samefile",
        "readable",
        "writable",
        "executable",
        "ls",
        "quit",
        "daystart",
        "lname",
        "ilname",
        "nouser",
        "nogroup",
    ];
    // A value such as `-1` of `-mtime` is no test.
    let is_number = |text: &str| {
        text.bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit())
    };
    arguments.iter().all(|word| match word.strip_prefix('-') {
        Some(test) => TESTS.contains(&test) || is_number(test),
        None => true,
    })
}
