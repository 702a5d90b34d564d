//! Commands that only read, with the options under which they do.

use crate::{Segment, segments::has_open_pattern};

/// Programs without an option or argument that writes or runs something.
const HARMLESS: &[&str] = &[
    "arch",
    "basename",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
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
    // A shell may evaluate what is in a subscript that it tests.
    if matches!(program, "test" | "[") {
        return !arguments.iter().any(|word| word.contains(['$', '`']));
    }
    // A pattern at the start of a word may turn into an option: a file can be called `--pre=x`.
    if has_open_pattern(&segment.text) {
        return false;
    }
    match program {
        "env" | "time" | "nice" => arguments.is_empty(),
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
        "git" => is_reading_git(arguments),
        "node" | "python" | "python3" => matches!(arguments, [word] if word == "--version"),
        _ => false,
    }
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

/// Options under which git's reading subcommands only read. `--output`, `--ext-diff`, `--textconv`, `-O` and the like are not
/// among them, nor is any beginning of them.
const GIT: Options = Options {
    short: "puswbzvalritcEFqmRWhd0123456789eVBgxXT",
    long: &[
        "stat",
        "shortstat",
        "numstat",
        "name-only",
        "name-status",
        "cached",
        "staged",
        "oneline",
        "graph",
        "all",
        "decorate",
        "no-decorate",
        "abbrev-commit",
        "no-abbrev-commit",
        "merges",
        "no-merges",
        "author",
        "committer",
        "since",
        "until",
        "after",
        "before",
        "grep",
        "follow",
        "patch",
        "no-patch",
        "color",
        "no-color",
        "color-words",
        "word-diff",
        "unified",
        "porcelain",
        "short",
        "branch",
        "untracked-files",
        "ignored",
        "show-toplevel",
        "git-dir",
        "abbrev-ref",
        "verify",
        "pretty",
        "format",
        "date",
        "max-count",
        "skip",
        "reverse",
        "first-parent",
        "summary",
        "compact-summary",
        "dirstat",
        "diff-filter",
        "ignore-all-space",
        "ignore-space-change",
        "ignore-blank-lines",
        "minimal",
        "patience",
        "histogram",
        "no-ext-diff",
        "no-textconv",
        "exit-code",
        "quiet",
        "check",
        "raw",
        "full-index",
        "binary",
        "no-renames",
        "find-renames",
        "no-prefix",
        "relative",
        "left-right",
        "cherry-pick",
        "tags",
        "branches",
        "remotes",
        "contains",
        "merged",
        "no-merged",
        "list",
        "sort",
        "others",
        "exclude-standard",
        "modified",
        "deleted",
        "stage",
        "error-unmatch",
        "full-name",
        "full-tree",
        "heads",
        "symbolic",
        "is-inside-work-tree",
        "show-prefix",
        "show-cdup",
        "abbrev",
        "long",
        "always",
        "dirty",
        "line-porcelain",
        "count",
        "numbered",
        "email",
        "topo-order",
        "date-order",
        "no-walk",
        "merge-base",
        "is-ancestor",
        "fork-point",
        "function-context",
        "inter-hunk-context",
        "text",
        "ignore-case",
        "line-number",
        "files-with-matches",
        "untracked",
        "max-depth",
        "word-regexp",
        "extended-regexp",
        "fixed-strings",
        "show-stash",
        "get",
        "get-all",
        "get-regexp",
        "show-origin",
        "show-scope",
        "local",
        "global",
        "name",
        "simplify-by-decoration",
        "ancestry-path",
    ],
    with_value: "nSGLMCUAf",
};

fn is_reading_git(arguments: &[String]) -> bool {
    let mut arguments = arguments;
    while let [first, rest @ ..] = arguments
        && matches!(first.as_str(), "--no-pager" | "-P" | "--no-optional-locks")
    {
        arguments = rest;
    }
    let Some((subcommand, arguments)) = arguments.split_first() else {
        return false;
    };
    let word = |at: usize| arguments.get(at).map(String::as_str);
    match subcommand.as_str() {
        "--version" | "version" => arguments.is_empty(),
        "status" | "diff" | "log" | "show" | "blame" | "rev-parse" | "ls-tree" | "shortlog"
        | "describe" | "rev-list" | "merge-base" | "name-rev" | "for-each-ref"
        | "count-objects" | "whatchanged" | "show-ref" | "diff-tree" | "diff-index"
        | "diff-files" | "check-ignore" | "show-branch" | "cherry" => only(arguments, GIT),
        "cat-file" => matches!(word(0), Some("-p" | "-t" | "-s" | "-e")) && arguments.len() == 2,
        "ls-files" => only(
            arguments,
            Options {
                short: "cdmosiukztv",
                ..GIT
            },
        ),
        "grep" => only(
            arguments,
            Options {
                short: "niIlLwvcohHFEGPqWpz",
                with_value: "eABCm",
                ..GIT
            },
        ),
        "branch" => {
            let is_list = |word: &String| {
                matches!(
                    word.as_str(),
                    "-a" | "-r"
                        | "-v"
                        | "-vv"
                        | "-l"
                        | "--list"
                        | "--all"
                        | "--remotes"
                        | "--show-current"
                )
            };
            arguments.iter().all(is_list)
        }
        "tag" => {
            matches!(word(0), None | Some("-l" | "--list"))
                && arguments.iter().skip(1).all(|word| !word.starts_with('-'))
        }
        "remote" => match word(0) {
            None => true,
            Some("-v" | "--verbose") => arguments.len() == 1,
            Some("get-url") => {
                arguments.len() == 2 && word(1).is_some_and(|word| !word.starts_with('-'))
            }
            _ => false,
        },
        "stash" => matches!(word(0), Some("list" | "show")) && only(&arguments[1..], GIT),
        "reflog" => {
            word(0).is_none_or(|word| word == "show" || word.starts_with('-'))
                && only(arguments, GIT)
        }
        "worktree" | "submodule" => {
            subcommand == "worktree" && word(0) == Some("list") && only(&arguments[1..], GIT)
        }
        "config" => match word(0) {
            Some("--list" | "-l") => arguments.len() == 1,
            Some("--get" | "--get-all" | "--get-regexp") => only(arguments, GIT),
            _ => false,
        },
        _ => false,
    }
}
