//! Commands that only read, with the options under which they do.

use crate::Segment;

mod awk;
mod find;
mod git;
mod options;
mod sed;

use self::options::{Options, RG, only, operands};

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
    "dirs",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "expr",
    "false",
    "fgrep",
    "fold",
    "free",
    "getent",
    "locale",
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
    "popd",
    "printenv",
    "printf",
    "ps",
    "pushd",
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
    "unexpand",
    "uptime",
    "wait",
    "wc",
    "whereis",
    "which",
    "who",
    "whoami",
    "yes",
    "zcat",
];

/// Says whether a program does nothing but run another command, with options that were read with it.
pub(super) fn is_wrapper(segment: &Segment) -> bool {
    let (program, arguments) = (segment.words[0].as_str(), &segment.words[1..]);
    match program {
        "command" | "ionice" | "nice" | "stdbuf" | "time" | "timeout" | "xargs" => true,
        // An option may change the folder.
        "env" => !arguments.iter().any(|word| word.starts_with('-')),
        _ => false,
    }
}

/// Says whether a command only reads, as far as it goes by itself: what it runs is a command of its own.
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
    if is_wrapper(segment) {
        return true;
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
        "hostname" => arguments.is_empty(),
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
        "sed" => sed::is_printing(arguments),
        "find" => find::is_searching(arguments),
        "rg" => only(arguments, RG),
        "awk" | "gawk" | "mawk" => awk::is_printing(arguments),
        "git" => git::is_reading(arguments),
        // `cargo`, `rustc`, `go` and `yarn` are not among them: a file of the repository says which program answers.
        "cc" | "clang" | "cmake" | "docker" | "g++" | "gcc" | "make" | "node" | "npm"
        | "python" | "python3" | "ruby" => match arguments {
            [word] if word == "--version" => true,
            [word] => matches!(
                (program, word.as_str()),
                ("node" | "npm", "-v") | ("python" | "python3", "-V")
            ),
            _ => false,
        },
        "ulimit" => matches!(arguments, [word] if word == "-a"),
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
    // Between single brackets, and those alone, a word is no arithmetic.
    const NUMBERS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    let compares = |word: &str| segment.words[0] != "[[" && NUMBERS.contains(&word);
    // One open word between operators stays an operand.
    !segment.may_split
        && segment.words[1..].iter().enumerate().all(|(at, word)| {
            let is_open = segment.open.contains(&(at + 1));
            is_open
                || OPERATORS.contains(&word.as_str())
                || compares(word)
                || !word.starts_with('-') && !word.contains(['[', '(', '<', '>'])
        })
}
