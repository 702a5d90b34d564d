//! Which files a command would change that its arguments name, for `Edit` rules.

use crate::{Segment, rule::base_name};

/// What a command changes, as its words name it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// The paths as written.
    pub(crate) paths: Vec<String>,
    /// Whether all that lies below them is moved or removed with them.
    pub(crate) whole_trees: bool,
    /// The folder that they start at, if the command names one.
    pub(crate) folder: Option<String>,
    /// Whether a word that cannot be told may be one of them.
    pub(crate) is_open: bool,
}

/// How the words of a program say what it writes to.
enum Form {
    /// Every operand.
    Operands,
    /// Every operand but the first.
    BehindFirst,
    /// The last operand, or what `-t` names; a folder gets the names of the others.
    Destination,
    /// Every operand, and the names of all but the last in the last.
    Moved,
    /// The value behind `of=`.
    Of,
    /// The value of an option, glued or the next word.
    Option(&'static [&'static str]),
}

/// Returns what a command writes to; nothing for a program that is not known to write by argument.
pub(crate) fn written(segment: &Segment) -> Written {
    let program = base_name(&segment.words[0]);
    let arguments: Vec<&str> = segment.words[1..].iter().map(String::as_str).collect();
    let mut written = match program {
        "git" => by_git(&arguments),
        "sed" if !edits_in_place(&arguments) => Written::default(),
        _ => Written {
            paths: form(program).map_or_else(Vec::new, |form| paths(&form, &arguments)),
            whole_trees: matches!(program, "mv" | "rm" | "rmdir" | "rsync"),
            ..Written::default()
        },
    };
    written.is_open = !written.paths.is_empty() && !segment.is_literal();
    written
}

fn form(program: &str) -> Option<Form> {
    Some(match program {
        "tee" | "touch" | "truncate" | "rm" | "rmdir" | "unlink" | "shred" | "mkdir" | "mkfifo"
        | "gzip" | "gunzip" | "bzip2" | "xz" | "unxz" | "zstd" | "ex" | "ed" | "vi" | "vim"
        | "nano" | "emacs" | "patch" => Form::Operands,
        "chmod" | "chown" | "chgrp" | "sed" => Form::BehindFirst,
        "cp" | "install" | "ln" | "rsync" | "scp" => Form::Destination,
        "mv" => Form::Moved,
        "dd" => Form::Of,
        "sort" => Form::Option(&["-o", "--output"]),
        "curl" => Form::Option(&["-o", "--output", "-D", "--dump-header"]),
        "wget" => Form::Option(&["-O", "--output-document", "-o", "--output-file"]),
        "tree" | "shuf" => Form::Option(&["-o", "--output"]),
        _ => return None,
    })
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Says whether `sed` changes its files.
fn edits_in_place(arguments: &[&str]) -> bool {
    arguments.iter().any(|word| {
        word.starts_with("--in-place")
            || word.starts_with('-') && !word.starts_with("--") && word.contains('i')
    })
}

fn operands<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let (before, after) = match arguments.iter().position(|word| *word == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let before = before.iter().filter(|word| !is_option(word));
    before.chain(after).copied().collect()
}

fn paths(form: &Form, arguments: &[&str]) -> Vec<String> {
    let operands = operands(arguments);
    let owned = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    match form {
        Form::Operands => owned(&operands),
        // Which one is the script or the mode depends on options: too many are held against the rules rather than too few.
        Form::BehindFirst if arguments.iter().any(|word| names_script(word)) => owned(&operands),
        Form::BehindFirst => owned(operands.get(1..).unwrap_or_default()),
        Form::Destination => {
            let folders = values(&["-t", "--target-directory"], arguments);
            if !folders.is_empty() {
                return in_folders(&folders, &operands);
            }
            match operands.split_last() {
                Some((last, sources)) if !sources.is_empty() => {
                    in_folders(&[(*last).to_owned()], sources)
                }
                _ => owned(&operands),
            }
        }
        Form::Moved => {
            let mut all = paths(&Form::Destination, arguments);
            all.extend(owned(&operands));
            all
        }
        Form::Of => operands
            .iter()
            .filter_map(|word| word.strip_prefix("of="))
            .map(str::to_owned)
            .collect(),
        Form::Option(names) => values(names, arguments),
    }
}

fn names_script(word: &str) -> bool {
    word.starts_with("--expression")
        || word.starts_with("--file")
        || word.starts_with("--reference")
        || is_option(word) && !word.starts_with("--") && word.contains(['e', 'f'])
}

/// Returns the folders, and the names that sources get in them.
fn in_folders(folders: &[String], sources: &[&str]) -> Vec<String> {
    let mut paths = folders.to_vec();
    for folder in folders {
        let names = sources
            .iter()
            .map(|source| base_name(source.trim_end_matches('/')));
        paths.extend(names.map(|name| format!("{}/{name}", folder.trim_end_matches('/'))));
    }
    paths
}

/// Returns the values of options, glued, behind `=` or in the next word.
fn values(names: &[&str], arguments: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        for name in names {
            let is_long = name.starts_with("--");
            let glued = match word.strip_prefix(name) {
                Some(glued) if is_long => glued.strip_prefix('='),
                Some(glued) if !glued.is_empty() => Some(glued),
                _ => None,
            };
            // `-uo file`: the letter ends a cluster.
            let takes_next = word == name
                || !is_long
                    && is_option(word)
                    && !word.starts_with("--")
                    && word.ends_with(&name[1..]);
            match glued {
                Some(glued) => found.push(glued.to_owned()),
                None if takes_next => {
                    found.extend(arguments.get(at + 1).map(|next| (*next).to_owned()));
                }
                None => {}
            }
        }
    }
    found
}

fn by_git(arguments: &[&str]) -> Written {
    let mut rest = arguments;
    let mut folder = None;
    let subcommand = loop {
        rest = match rest {
            ["-C", path, after @ ..] => {
                folder = Some((*path).to_owned());
                after
            }
            ["-c", _, after @ ..] => after,
            [option, after @ ..] if is_option(option) => after,
            [subcommand, after @ ..] => {
                rest = after;
                break *subcommand;
            }
            [] => return Written::default(),
        };
    };
    let form = match subcommand {
        "checkout" | "restore" | "rm" | "clean" => Form::Operands,
        "mv" => Form::Moved,
        _ => return Written::default(),
    };
    Written {
        paths: paths(&form, rest),
        whole_trees: true,
        folder,
        is_open: false,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Segments, segments};

    #[test]
    fn what_a_command_writes_to_is_read_from_its_words() {
        let cases: [(&str, &[&str]); 27] = [
            ("cp a b", &["b", "b/a"]),
            ("cp x/a y/b dir/", &["dir/", "dir/a", "dir/b"]),
            ("cp -t dir a", &["dir", "dir/dir", "dir/a"]),
            ("cp --target-directory=dir a", &["dir", "dir/a"]),
            ("mv a b", &["b", "b/a", "a", "b"]),
            ("tee -a b c", &["b", "c"]),
            ("sed -i s/a/b/ x y", &["x", "y"]),
            ("sed -i -e s/a/b/ x", &["s/a/b/", "x"]),
            ("sed s/a/b/ x", &[]),
            ("dd if=a of=b", &["b"]),
            ("install -m 644 a b", &["b", "b/644", "b/a"]),
            ("ln -s a b", &["b", "b/a"]),
            ("ln -s dir/a", &["dir/a"]),
            ("touch a b", &["a", "b"]),
            ("truncate -s 0 a", &["0", "a"]),
            ("rm -rf -- -a b", &["-a", "b"]),
            ("chmod 600 a", &["a"]),
            ("sort -uo b a", &["b"]),
            ("sort --output=b a", &["b"]),
            ("curl -sob https://x.y", &[]),
            ("curl -ob https://x.y", &["b"]),
            ("wget -O b https://x.y", &["b"]),
            ("git checkout -- a", &["a"]),
            ("git -C d restore a", &["a"]),
            ("git mv a b", &["b", "b/a", "a", "b"]),
            ("git log -- a", &[]),
            ("cat a", &[]),
        ];
        for (line, paths) in cases {
            let Segments::Known(segments) = segments(line) else {
                panic!("cannot tell {line:?}");
            };
            assert_eq!(super::written(&segments[0]).paths, paths, "of {line:?}");
        }
    }
}
