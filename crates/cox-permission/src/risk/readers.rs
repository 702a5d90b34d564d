//! Which paths a command would read, for `Read` denies.

use crate::{Segment, rule::base_name};

/// Programs that show, copy or send what is in the files that they are given.
const READERS: &[&str] = &[
    ".",
    "ag",
    "awk",
    "base32",
    "base64",
    "bat",
    "bunzip2",
    "bzcat",
    "bzip2",
    "cat",
    "cksum",
    "cmp",
    "code",
    "column",
    "comm",
    "cp",
    "csplit",
    "curl",
    "cut",
    "dd",
    "diff",
    "egrep",
    "emacs",
    "expand",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "gawk",
    "git",
    "gpg",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "hexdump",
    "iconv",
    "install",
    "jq",
    "less",
    "ln",
    "ls",
    "mawk",
    "md5sum",
    "more",
    "mv",
    "nano",
    "nl",
    "node",
    "od",
    "openssl",
    "paste",
    "perl",
    "php",
    "pr",
    "python",
    "python3",
    "rev",
    "rg",
    "rsync",
    "ruby",
    "scp",
    "sed",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sort",
    "source",
    "split",
    "strings",
    "tac",
    "tail",
    "tar",
    "tee",
    "tr",
    "tree",
    "uniq",
    "vi",
    "vim",
    "wc",
    "wget",
    "xxd",
    "xz",
    "xzcat",
    "yq",
    "zcat",
    "zip",
    "zstd",
    "zstdcat",
];

/// Says whether a command shows, copies or sends what is in the files that it is given.
pub(crate) fn is_reader(segment: &Segment) -> bool {
    READERS.contains(&base_name(&segment.words[0]))
}

/// Returns the path-like arguments of a command that reads files, as written; none for any other command.
///
/// More words than paths: an option's value, or a word after `=`, `@` or `:`, may be a path as well.
pub fn read_paths(segment: &Segment) -> Vec<String> {
    let Some((program, arguments)) = segment.words.split_first() else {
        return Vec::new();
    };
    let program = base_name(program);
    if !READERS.contains(&program) {
        return Vec::new();
    }
    let mut skips_pattern = match program {
        "grep" | "egrep" | "fgrep" | "rg" | "ag" => {
            !arguments.iter().any(|word| names_pattern(word))
        }
        "sed" | "awk" | "gawk" | "mawk" | "jq" | "yq" | "tr" => {
            !arguments.iter().any(|word| names_pattern(word))
        }
        "git" => true,
        _ => false,
    };
    let mut paths = Vec::new();
    for word in arguments {
        let is_option = word.len() > 1 && word.starts_with('-');
        if !is_option && std::mem::take(&mut skips_pattern) {
            continue;
        }
        if !is_option {
            paths.push(word.clone());
        } else if !word.starts_with("--") {
            // `-fsecret`
            paths.extend(
                word.get(2..)
                    .filter(|rest| !rest.is_empty())
                    .map(str::to_owned),
            );
        }
        for separator in ['=', '@', ':'] {
            paths.extend(
                word.split_once(separator)
                    .map(|(_, rest)| rest.to_owned())
                    .filter(|rest| !rest.is_empty()),
            );
        }
        paths.extend(word.strip_prefix("file://").map(str::to_owned));
    }
    paths
}

/// Says whether an option gives the pattern, so that every operand is a path.
fn names_pattern(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => [
            "regexp",
            "file",
            "files",
            "expression",
            "from-file",
            "type-list",
        ]
        .iter()
        .any(|name| long.split('=').next() == Some(name)),
        None => word.starts_with('-') && word.contains(['e', 'f']),
    }
}

/// Says whether a command reads whole trees below the paths that it is given, or below its folder.
pub(crate) fn reads_trees(segment: &Segment) -> bool {
    let arguments = &segment.words[1..];
    let has = |letters: &[char]| {
        arguments.iter().any(|word| {
            word.starts_with('-') && !word.starts_with("--") && word.contains(letters)
                || word.starts_with("--rec")
                || word.starts_with("--deref")
        })
    };
    match base_name(&segment.words[0]) {
        "rg" | "ag" | "tar" | "rsync" => true,
        "git" => arguments.iter().any(|word| word == "grep"),
        "grep" | "egrep" | "fgrep" => has(&['r', 'R']),
        "cp" | "zip" | "diff" | "scp" | "gzip" => has(&['r', 'R', 'a']),
        _ => false,
    }
}

/// Says whether a shell may turn a word into other words.
pub(crate) fn word_has_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}
