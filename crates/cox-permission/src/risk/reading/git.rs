//! The subcommands of git that only read, with the options under which they do.

use super::{Options, only};

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

/// Says whether git only reads.
pub(super) fn is_reading(arguments: &[String]) -> bool {
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
        "branch" => is_list(
            arguments,
            &[
                "-a",
                "-r",
                "-v",
                "-vv",
                "-l",
                "--all",
                "--remotes",
                "--show-current",
            ],
        ),
        "tag" => is_list(arguments, &["-l", "-n"]),
        "symbolic-ref" => {
            let names = arguments
                .iter()
                .filter(|word| !matches!(word.as_str(), "--short" | "-q" | "--quiet"));
            names.count() == 1
                && !arguments.iter().any(|word| {
                    word.starts_with('-') && !matches!(word.as_str(), "--short" | "-q" | "--quiet")
                })
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
        "config" => reads_settings(arguments),
        _ => false,
    }
}

/// Says whether `git branch` or `git tag` only lists: names of new ones are taken for patterns under some options alone.
fn is_list(arguments: &[String], own: &[&str]) -> bool {
    const SHARED: &[&str] = &[
        "--list",
        "--sort",
        "--format",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "--ignore-case",
        "-i",
        "--color",
        "--no-color",
        "--column",
        "--no-column",
    ];
    const LISTING: &[&str] = &[
        "--list",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
    ];
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    // `-l` made a log of changes once.
    let lists = arguments
        .iter()
        .any(|word| LISTING.contains(&name(word).as_str()))
        || own.contains(&"-n") && arguments.first().is_some_and(|word| word == "-l");
    arguments.iter().all(|word| match word.starts_with('-') {
        true => SHARED.contains(&name(word).as_str()) || own.contains(&word.as_str()),
        false => lists,
    })
}

/// Says whether `git config` only reads.
fn reads_settings(arguments: &[String]) -> bool {
    let is_scope = |word: &String| matches!(word.as_str(), "--global" | "--local" | "--system");
    let arguments = match arguments {
        [scope, rest @ ..] if is_scope(scope) => rest,
        whole => whole,
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--list" | "-l" | "list", rest @ ..] => rest.iter().all(|word| {
            matches!(
                *word,
                "--show-origin" | "--show-scope" | "--global" | "--local" | "--name-only"
            )
        }),
        ["--get" | "--get-all" | "--get-regexp", ..] => only(&arguments[1..], GIT),
        ["get", key] | [key] => !key.starts_with('-') && key.contains('.'),
        _ => false,
    }
}
