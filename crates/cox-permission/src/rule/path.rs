//! Path globs, anchored: relative ones at the workspace root, `~/` ones at the home, the rest absolute.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::Anchors;

/// What a `Read` deny hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenPath {
    /// The deepest folder or file that the glob names literally. Absolute.
    pub path: PathBuf,
    /// The absolute glob, unless all of `path` is hidden.
    pub glob: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct PathGlob {
    /// The longest literal beginning.
    base: PathBuf,
    /// The whole glob, absolute.
    text: String,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    /// The base itself.
    Literal,
    /// All below the base: `base/**`.
    Below,
    /// Whatever the matcher says.
    Glob(GlobMatcher),
}

impl PathGlob {
    /// Compiles a glob. Errors are what is wrong and what would be right.
    pub(crate) fn new(written: &str, anchors: &Anchors) -> Result<Self, (String, String)> {
        const EXPECTED: &str = "a path or glob such as `src/**`, `~/notes/*.md` or `/etc/hosts`";
        let (mut base, mut rest) = match written.strip_prefix("~/") {
            Some(rest) => (anchors.home.clone(), rest),
            None if written == "~" => (anchors.home.clone(), ""),
            None if written.starts_with('~') => {
                return Err((
                    "another person's home cannot be named".into(),
                    EXPECTED.into(),
                ));
            }
            None => match written.strip_prefix('/') {
                Some(rest) => (PathBuf::from("/"), rest),
                None => (anchors.root.clone(), written),
            },
        };
        if written.contains('\0') {
            return Err(("a path has no NUL".into(), EXPECTED.into()));
        }
        // Literal folders first. What is left begins with the first part that has a wildcard.
        loop {
            let (part, after) = rest.split_once('/').unwrap_or((rest, ""));
            match part {
                _ if rest.is_empty() => break,
                "" | "." => {}
                ".." => {
                    base.pop();
                }
                _ => match literal(part) {
                    Some(part) => base.push(part),
                    None => break,
                },
            }
            rest = after;
        }
        if rest.split('/').any(|part| matches!(part, "." | "..")) {
            return Err((
                "`.` and `..` cannot follow a wildcard".into(),
                EXPECTED.into(),
            ));
        }
        let is_folder = written.ends_with('/');
        let text = match rest.trim_end_matches('/') {
            "" if is_folder => join(&base, "**"),
            "" => escape(&base.to_string_lossy()),
            rest if is_folder => join(&base, &format!("{rest}/**")),
            rest => join(&base, rest),
        };
        let shape = match rest.trim_end_matches('/') {
            "" if is_folder => Shape::Below,
            "" => Shape::Literal,
            "**" => Shape::Below,
            _ => match GlobBuilder::new(&text)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
            {
                Ok(glob) => Shape::Glob(glob.compile_matcher()),
                Err(error) => {
                    return Err((
                        format!("the glob does not read: {}", error.kind()),
                        EXPECTED.into(),
                    ));
                }
            },
        };
        Ok(Self { base, text, shape })
    }

    /// Says whether the glob names `path`.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        match &self.shape {
            Shape::Literal => path == self.base,
            Shape::Below => path.starts_with(&self.base) && path != self.base,
            Shape::Glob(glob) => glob.is_match(path),
        }
    }

    /// Says whether the glob names `path`, a folder above it, or the folder all of which it names. For stopping.
    pub(crate) fn covers_strictly(&self, path: &Path) -> bool {
        match &self.shape {
            Shape::Literal | Shape::Below => path.starts_with(&self.base),
            Shape::Glob(glob) => {
                path.starts_with(&self.base)
                    && path
                        .ancestors()
                        .take_while(|folder| folder.starts_with(&self.base))
                        .any(|folder| {
                            // `a/*/**` names `a/b` as well.
                            glob.is_match(folder)
                                || self.text.ends_with("/**") && glob.is_match(folder.join("_"))
                        })
            }
        }
    }

    /// Says whether something at or below `folder` may be named by the glob.
    pub(crate) fn reaches_into(&self, folder: &Path) -> bool {
        self.base.starts_with(folder) || folder.starts_with(&self.base)
    }

    /// Says whether something below `folder` may be named by the glob.
    pub(crate) fn lies_below(&self, folder: &Path) -> bool {
        self.base.starts_with(folder)
    }

    /// Returns the path that the glob names, if it names just one with all below it.
    pub(crate) fn whole(&self) -> Option<&Path> {
        match self.shape {
            Shape::Literal | Shape::Below => Some(&self.base),
            Shape::Glob(_) => None,
        }
    }

    pub(crate) fn hidden(&self) -> HiddenPath {
        let glob = self.whole().is_none().then(|| self.text.clone());
        HiddenPath {
            path: self.base.clone(),
            glob,
        }
    }
}

/// Returns `part` without escapes if it has no wildcard.
fn literal(part: &str) -> Option<String> {
    let mut plain = String::new();
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        match char {
            // A class of one character is how `escape` writes a wildcard.
            '[' => {
                let mut ahead = chars.clone();
                match (ahead.next(), ahead.next()) {
                    (Some(one), Some(']')) if !matches!(one, '!' | '^' | ']') => plain.push(one),
                    _ => return None,
                }
                chars = ahead;
            }
            '*' | '?' | ']' | '{' | '}' => return None,
            '\\' => plain.push(chars.next()?),
            char => plain.push(char),
        }
    }
    Some(plain)
}

fn join(base: &Path, glob: &str) -> String {
    let base = escape(&base.to_string_lossy());
    format!("{}/{glob}", base.trim_end_matches('/'))
}

/// Returns a glob that names just this text.
pub(crate) fn escape(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '*' | '?' | '[' | '{' | '}' => glob.extend(['[', char, ']']),
            ']' | '!' | '\\' => glob.extend(['\\', char]),
            char => glob.push(char),
        }
    }
    glob
}

/// Returns `path` as an absolute path without `.` and `..`, read from `folder`; links are not followed.
pub fn lexical(path: &Path, folder: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            component => normal.push(component),
        }
    }
    normal
}
