//! The line ending that a project wants in a file that does not exist yet: `.gitattributes`, then `.editorconfig`.
//!
//! Only `eol=crlf` and `end_of_line = crlf` are looked for; everything else is a bare newline, as it was written.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::{confine::Confined, file};

/// Largest settings file that is read, in bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// Returns the bytes of a new file in the line endings that the project wants for it.
///
/// A text that has a carriage return already, or no line break at all, stays as it is.
pub fn with_wanted_endings(at: &Confined, text: &str) -> Vec<u8> {
    if text.contains('\r') || !text.contains('\n') || !wants_crlf(at) {
        return text.into();
    }
    text.replace('\n', "\r\n").into_bytes()
}

/// Returns new bytes for a file that is replaced as a whole, in the endings and with the byte order mark of the old ones.
///
/// Endings are followed when the old file has nothing but CRLF and the new text has no carriage return.
pub fn like_the_old(old: &[u8], new: &str) -> Vec<u8> {
    const BOM: &str = "\u{FEFF}";
    let mut text = String::new();
    if old.starts_with(BOM.as_bytes()) && !new.starts_with(BOM) {
        text.push_str(BOM);
    }
    let newlines = memchr::memchr_iter(b'\n', old).count();
    let crlf = memchr::memmem::find_iter(old, b"\r\n").count();
    if newlines > 0 && newlines == crlf && !new.contains('\r') {
        text.push_str(&new.replace('\n', "\r\n"));
    } else {
        text.push_str(new);
    }
    text.into_bytes()
}

fn wants_crlf(at: &Confined) -> bool {
    let mut editor = None;
    let mut git = None;
    let mut stop_editor = false;
    // The nearest file decides, so upwards from the file's folder; nothing above the root is read.
    for folder in at
        .real
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.starts_with(&at.root))
    {
        if git.is_none() {
            git = settings(at, folder, ".gitattributes")
                .and_then(|text| from_gitattributes(&text, folder, &at.real));
        }
        if editor.is_none()
            && !stop_editor
            && let Some(text) = settings(at, folder, ".editorconfig")
        {
            editor = from_editorconfig(&text, folder, &at.real);
            stop_editor = is_topmost(&text);
        }
    }
    git.or(editor).unwrap_or(false)
}

fn settings(at: &Confined, folder: &Path, name: &str) -> Option<String> {
    let place = Confined {
        written: name.to_owned(),
        lexical: folder.join(name),
        real: folder.join(name),
        root: at.root.clone(),
    };
    let bytes = file::read(&place, MAX_SETTINGS).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last line that matches decides; `-text` and `binary` are no line endings at all.
fn from_gitattributes(text: &str, folder: &Path, file: &Path) -> Option<bool> {
    let mut wanted = None;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next().filter(|word| !word.starts_with('#')) else {
            continue;
        };
        if !matches(pattern, folder, file) {
            continue;
        }
        for word in words {
            match word {
                "eol=crlf" => wanted = Some(true),
                "eol=lf" | "-text" | "binary" => wanted = Some(false),
                _ => {}
            }
        }
    }
    wanted
}

fn from_editorconfig(text: &str, folder: &Path, file: &Path) -> Option<bool> {
    let mut wanted = None;
    let mut applies = false;
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        let line = line.trim();
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            applies = matches(section, folder, file);
        } else if applies
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("end_of_line")
        {
            wanted = Some(value.trim().eq_ignore_ascii_case("crlf"));
        }
    }
    wanted
}

fn is_topmost(editorconfig: &str) -> bool {
    editorconfig
        .lines()
        .take_while(|line| !line.trim_start().starts_with('['))
        .filter_map(|line| line.split_once('='))
        .any(|(key, value)| {
            key.trim().eq_ignore_ascii_case("root") && value.trim().eq_ignore_ascii_case("true")
        })
}

/// Matches as both formats do: a pattern without a slash is for names in any folder below.
fn matches(pattern: &str, folder: &Path, file: &Path) -> bool {
    let Ok(path) = file.strip_prefix(folder) else {
        return false;
    };
    let anywhere = !pattern.trim_end_matches('/').contains('/');
    let pattern = pattern.trim_start_matches('/');
    match glob(pattern) {
        Some(glob) if anywhere => path.file_name().is_some_and(|name| glob.is_match(name)),
        Some(glob) => glob.is_match(path),
        None => false,
    }
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    glob.ok().map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Access, Roots, confine};

    /// The bytes of a new file with two lines, in a project with these settings.
    fn check(gitattributes: &str, editorconfig: &str, path: &str, expected: &str) {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::write(root.join(".gitattributes"), gitattributes).unwrap();
        fs::write(root.join(".editorconfig"), editorconfig).unwrap();
        let roots = Roots {
            cwd: root.clone(),
            home: root.clone(),
            readable: vec![root.clone()],
            writable: vec![root],
        };
        let at = confine(&roots, path, Access::Write).unwrap();
        let bytes = with_wanted_endings(&at, "a\nb\n");
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            expected,
            "{gitattributes:?} {editorconfig:?} {path}"
        );
    }

    #[test]
    fn a_new_file_gets_the_endings_of_the_project() {
        let (lf, crlf) = ("a\nb\n", "a\r\nb\r\n");
        check("", "", "x.bat", lf);
        check("*.bat text eol=crlf\n", "", "deep/er/x.bat", crlf);
        check("*.bat text eol=crlf\n", "", "x.sh", lf);
        check("* eol=crlf\n*.sh eol=lf\n", "", "x.sh", lf);
        check("win/** eol=crlf\n", "", "win/x.txt", crlf);
        check("/win/*.txt eol=crlf\n", "", "other/win/x.txt", lf);
        check("# *.bat eol=crlf\n", "", "x.bat", lf);
        check("", "[*]\nend_of_line = crlf\n", "x", crlf);
        check("", "[*.{bat,cmd}]\nEnd_Of_Line=CRLF\n", "x.cmd", crlf);
        check(
            "",
            "[*]\nend_of_line = crlf\n[*.sh]\nend_of_line = lf\n",
            "x.sh",
            lf,
        );
        check("*.txt eol=lf\n", "[*]\nend_of_line = crlf\n", "x.txt", lf);
        check("[[[ eol=crlf\n", "[{{\nend_of_line = crlf\n", "x", lf);
    }

    #[test]
    fn a_replaced_file_keeps_its_endings_and_its_mark() {
        for (old, new, expected) in [
            ("a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"),
            ("a\r\nb\n", "x\ny\n", "x\ny\n"),
            ("a\r\nb\r\n", "x\r\ny\n", "x\r\ny\n"),
            ("a\nb\n", "x\ny\n", "x\ny\n"),
            ("\u{FEFF}a\r\n", "x\n", "\u{FEFF}x\r\n"),
            ("\u{FEFF}a\n", "\u{FEFF}x\n", "\u{FEFF}x\n"),
            ("", "x\n", "x\n"),
        ] {
            let bytes = like_the_old(old.as_bytes(), new);
            assert_eq!(
                String::from_utf8(bytes).unwrap(),
                expected,
                "{old:?} {new:?}"
            );
        }
    }
}
