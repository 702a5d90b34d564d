use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::*;
use crate::search::{files::find_files, lines::search_lines};

fn tree(files: &[(&str, &[u8])]) -> (PathBuf, TempDir) {
    let dir = TempDir::new().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for (path, bytes) in files {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    (top, dir)
}

fn far() -> Instant {
    Instant::now() + std::time::Duration::from_secs(600)
}

fn usual() -> (PathBuf, TempDir) {
    tree(&[
        (".gitignore", b"ignored/\n*.log\n"),
        (".git/config", b"needle"),
        (".hidden/x", b"needle in hidden\n"),
        (
            "a.rs",
            b"zero\nneedle one\ntwo\nthree\nfour\nneedle five\r\n",
        ),
        ("sub/b.txt", b"needle b\n"),
        ("sub/deep/c.rs", b"nothing\n"),
        ("ignored/d", b"needle\n"),
        ("x.log", b"needle\n"),
        ("binary", b"needle\n\0\n"),
        ("secret/key", b"needle\n"),
        ("latin1", b"caf\xE9 needle\n"),
    ])
}

fn search(top: &Path, query: &LineQuery) -> Result<LineHits, SearchError> {
    let name = |path: &Path| path.strip_prefix(top).unwrap_or(path).display().to_string();
    let bounds = Bounds {
        may_read: &|path| !path.components().any(|part| part.as_os_str() == "secret"),
        cancelled: &|| false,
        deadline: far(),
    };
    search_lines(query, &name, &bounds)
}

fn query(top: &Path, pattern: &str) -> LineQuery {
    LineQuery {
        pattern: pattern.to_owned(),
        under: top.to_owned(),
        glob: None,
        context: 0,
        max_shown: 100,
        file_type: None,
        multiline: false,
        show: Show::Lines,
    }
}

#[test]
fn lines_come_sorted_without_what_is_ignored_binary_or_denied() {
    let (top, _dir) = usual();
    let hits = search(&top, &query(&top, "needle")).unwrap();
    assert_eq!(
        hits,
        LineHits {
            shown: ".hidden/x:1:needle in hidden\na.rs:2:needle one\na.rs:6:needle five\n\
                    latin1:1:caf\u{FFFD} needle\nsub/b.txt:1:needle b\n"
                .to_owned(),
            matches: 5,
            shown_matches: 5,
            files: 4,
            has_denied: true,
            binary: 1,
            ..LineHits::default()
        }
    );
}

#[test]
fn context_is_marked_and_groups_are_apart() {
    let (top, _dir) = usual();
    let query = LineQuery {
        glob: Some("*.{rs,txt}".into()),
        context: 1,
        ..query(&top, "needle")
    };
    assert_eq!(
        search(&top, &query).unwrap().shown,
        "a.rs-1-zero\na.rs:2:needle one\na.rs-3-two\n--\na.rs-5-four\na.rs:6:needle five\n--\nsub/b.txt:1:needle b\n"
    );
}

#[test]
fn the_short_list_ends_at_the_cap_and_the_long_one_does_not() {
    let (top, _dir) = usual();
    let hits = search(
        &top,
        &LineQuery {
            max_shown: 2,
            ..query(&top, "needle")
        },
    )
    .unwrap();
    assert_eq!(
        hits.shown,
        ".hidden/x:1:needle in hidden\na.rs:2:needle one\n"
    );
    assert_eq!((hits.matches, hits.shown_matches), (5, 2));
    assert_eq!(hits.all.unwrap().lines().count(), 5);
}

#[test]
fn globs_fit_names_or_paths() {
    let (top, _dir) = usual();
    let count = |glob: &str| {
        search(
            &top,
            &LineQuery {
                glob: Some(glob.into()),
                ..query(&top, "needle")
            },
        )
        .unwrap()
        .matches
    };
    let cases = [
        ("*.rs", 2),
        ("sub/*.txt", 1),
        ("sub/*", 1),
        ("**/b.txt", 1),
        ("./sub/**", 1),
        ("nope", 0),
        ("!*.rs", 3),
    ];
    for (glob, expected) in cases {
        assert_eq!(count(glob), expected, "{glob}");
    }
}

#[test]
fn a_file_named_by_itself_is_searched_even_when_ignored() {
    let (top, _dir) = usual();
    let hits = search(&top, &query(&top.join("x.log"), "needle")).unwrap();
    assert_eq!(hits.matches, 1);
}

#[test]
fn a_pattern_with_a_line_break_searches_across_lines() {
    let (top, _dir) = usual();
    let hits = search(&top, &query(&top, r"needle one\ntwo")).unwrap();
    assert_eq!(hits.shown, "a.rs:2:needle one\na.rs:3:two\n");
}

#[test]
fn a_very_long_line_is_cut_and_says_so() {
    let long = format!("{}needle{}\n", "é".repeat(600), "x".repeat(5000));
    let (top, _dir) = tree(&[("long", long.as_bytes())]);
    let hits = search(&top, &query(&top, "needle")).unwrap();
    assert!(
        hits.shown
            .ends_with(&format!("é … ({} bytes more)\n", long.len() - 1 - 1000)),
        "{}",
        hits.shown
    );
}

#[test]
fn bad_patterns_and_globs_are_told() {
    let (top, _dir) = usual();
    let error = search(&top, &query(&top, "a(b")).unwrap_err().to_string();
    assert!(
        error.starts_with("bad pattern `a(b`: ") && error.contains("unclosed group"),
        "{error}"
    );
    let bad = LineQuery {
        glob: Some("a[".into()),
        ..query(&top, "x")
    };
    let error = search(&top, &bad).unwrap_err().to_string();
    assert!(error.starts_with("bad glob `a[`: "), "{error}");
}

#[test]
fn files_come_newest_first_and_ties_by_name() {
    let (top, _dir) = usual();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    let new = old + std::time::Duration::from_secs(10);
    for (path, time) in [("a.rs", old), ("sub/deep/c.rs", new)] {
        fs::File::options()
            .write(true)
            .open(top.join(path))
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    for path in ["z.rs", "m.rs"] {
        fs::write(top.join(path), "").unwrap();
        fs::File::options()
            .write(true)
            .open(top.join(path))
            .unwrap()
            .set_modified(new)
            .unwrap();
    }
    let bounds = Bounds {
        may_read: &|_| true,
        cancelled: &|| false,
        deadline: far(),
    };
    let query = FileQuery {
        under: top.clone(),
        glob: "*.rs".into(),
    };
    let names: Vec<String> = find_files(&query, &bounds)
        .unwrap()
        .files
        .iter()
        .map(|file| file.path.strip_prefix(&top).unwrap().display().to_string())
        .collect();
    assert_eq!(names, ["m.rs", "sub/deep/c.rs", "z.rs", "a.rs"]);
}

#[test]
fn a_search_that_is_cancelled_says_so() {
    let (top, _dir) = usual();
    let bounds = Bounds {
        may_read: &|_| true,
        cancelled: &|| true,
        deadline: far(),
    };
    let query = FileQuery {
        under: top,
        glob: "*".into(),
    };
    assert!(matches!(
        find_files(&query, &bounds),
        Err(SearchError::Cancelled)
    ));
}

#[test]
fn rows_are_lines_files_or_counts() {
    let (top, _dir) = usual();
    let shown = |show, max_shown| {
        let query = LineQuery {
            show,
            max_shown,
            ..query(&top, "needle")
        };
        let hits = search(&top, &query).unwrap();
        (hits.shown, hits.all, hits.matches, hits.files)
    };
    assert_eq!(
        shown(Show::Counts, 9),
        (
            ".hidden/x:1\na.rs:2\nlatin1:1\nsub/b.txt:1\n".to_owned(),
            None,
            5,
            4
        )
    );
    assert_eq!(
        shown(Show::Files, 1),
        (
            ".hidden/x\n".to_owned(),
            Some(".hidden/x\na.rs\nlatin1\nsub/b.txt\n".to_owned()),
            4,
            4
        )
    );
}

#[test]
fn a_type_narrows_the_files_and_an_unknown_one_says_so() {
    let (top, _dir) = usual();
    let of_type = |name: &str| {
        let query = LineQuery {
            file_type: Some(name.to_owned()),
            show: Show::Files,
            ..query(&top, "needle|nothing")
        };
        search(&top, &query).map(|hits| hits.shown)
    };
    assert_eq!(of_type("rust").unwrap(), "a.rs\nsub/deep/c.rs\n");
    assert_eq!(of_type("rs").unwrap(), "a.rs\nsub/deep/c.rs\n");
    let error = of_type("rusty").unwrap_err().to_string();
    assert!(error.starts_with("there is no file type `rusty`\nhint: some that there are: "));
}

#[test]
fn multiline_lets_a_dot_cross_lines() {
    let (top, _dir) = tree(&[("a", b"fn a(\n  x: u32,\n) {}\nfn b() {}\n")]);
    let across = |multiline| {
        let query = LineQuery {
            multiline,
            ..query(&top, r"fn a\(.*?\) \{")
        };
        search(&top, &query).unwrap().shown
    };
    assert_eq!(across(false), "");
    assert_eq!(across(true), "a:1:fn a(\na:2:  x: u32,\na:3:) {}\n");
    let hits = search(&top, &query(&top, r"(?is)fn a.*?\) \{")).unwrap();
    assert_eq!(hits.matches, 3);
}

#[test]
fn millions_of_empty_matches_are_counted_not_kept() {
    let (top, _dir) = tree(&[("a", &b"\n".repeat(3_000_000))]);
    let hits = search(&top, &query(&top, "^")).unwrap();
    assert_eq!(hits.matches, 3_000_000);
    assert!(hits.not_kept > 2_000_000, "{}", hits.not_kept);
}

#[test]
fn binary_files_are_counted_and_a_line_over_the_limit_cuts_its_file() {
    let (top, _dir) = tree(&[("b", b"needle\n\0\n"), ("c", b"\0")]);
    let hits = search(&top, &query(&top, "needle")).unwrap();
    assert_eq!((hits.matches, hits.binary), (0, 2));
    let mut long = b"needle first\n".to_vec();
    long.resize(lines::MAX_HEAP + 100, b'x');
    let (top, _dir) = tree(&[("long", &long)]);
    let hits = search(&top, &query(&top, "needle")).unwrap();
    assert_eq!((hits.matches, hits.cut, hits.failed), (1, 1, 0));
}

#[test]
fn a_dollar_fits_before_both_line_endings() {
    let (top, _dir) = tree(&[("a", b"foo\r\nfoo\nfoo\tx\r\nfoo\rbar\n")]);
    let lines = |pattern: &str, multiline| {
        let query = LineQuery {
            multiline,
            ..query(&top, pattern)
        };
        search(&top, &query).unwrap().matches
    };
    assert_eq!(lines("foo$", false), 3);
    assert_eq!(lines("^foo$", true), 3);
    assert_eq!(lines(r"foo\r$", false), 1);
    let error = search(&top, &query(&top, "a$(")).unwrap_err().to_string();
    assert!(error.contains("a$(") && !error.contains("?R"), "{error}");
}

#[test]
fn what_is_said_of_denied_files_does_not_depend_on_the_question() {
    let (top, _dir) = usual();
    for (glob, file_type) in [
        (None, None),
        (Some("key"), None),
        (Some("*.none"), None),
        (None, Some("rust")),
    ] {
        let query = LineQuery {
            glob: glob.map(str::to_owned),
            file_type: file_type.map(str::to_owned),
            ..query(&top, "no such text")
        };
        let hits = search(&top, &query).unwrap();
        assert_eq!((hits.has_denied, hits.matches), (true, 0), "{glob:?}");
    }
    let hits = search(&top, &query(&top.join("sub"), "x")).unwrap();
    assert!(!hits.has_denied);
}

#[test]
fn globs_with_braces_folders_and_parents() {
    let (top, _dir) = tree(&[
        ("src/a.rs", b"x\n"),
        ("src/test/b.rs", b"x\n"),
        ("src/[c].rs", b"x\n"),
        ("B.RS", b"x\n"),
    ]);
    let names = |glob: &str| {
        let bounds = Bounds {
            may_read: &|_| true,
            cancelled: &|| false,
            deadline: far(),
        };
        let query = FileQuery {
            under: top.clone(),
            glob: glob.into(),
        };
        let found = find_files(&query, &bounds)?;
        let mut names: Vec<String> = found
            .files
            .iter()
            .map(|file| file.path.strip_prefix(&top).unwrap().display().to_string())
            .collect();
        names.sort();
        Ok::<_, SearchError>(names.join(" "))
    };
    assert_eq!(
        names("src/{,test/}*.rs").unwrap(),
        "src/[c].rs src/a.rs src/test/b.rs"
    );
    assert_eq!(names("src/").unwrap(), "src/[c].rs src/a.rs src/test/b.rs");
    assert_eq!(names("./src/*.rs").unwrap(), "src/[c].rs src/a.rs");
    assert_eq!(names("src/\\[c\\].rs").unwrap(), "src/[c].rs");
    assert_eq!(
        names("*.[rR][sS]").unwrap(),
        "B.RS src/[c].rs src/a.rs src/test/b.rs"
    );
    assert_eq!(names("!**/*.rs").unwrap(), "B.RS");
    assert_eq!(
        names(&format!("{}/src/*", top.display())).unwrap(),
        "src/[c].rs src/a.rs"
    );
    let error = names("../*.rs").unwrap_err().to_string();
    assert!(
        error.starts_with("bad glob `../*.rs`: `..` leads out"),
        "{error}"
    );
}

#[test]
fn a_search_ends_at_its_deadline_inside_a_file_and_keeps_what_it_found() {
    let mut long = b"needle\n".to_vec();
    let mut dice = 1_u32;
    long.extend((0..8 << 20).map(|_| {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"ab"[(dice >> 31) as usize]
    }));
    let (top, _dir) = tree(&[("long", &long)]);
    let name = |path: &Path| path.display().to_string();
    let started = Instant::now();
    let bounds = Bounds {
        may_read: &|_| true,
        cancelled: &|| false,
        deadline: started + std::time::Duration::from_secs(1),
    };
    // Slow: no automaton has room for its states.
    let slow = r"needle|a[ab]{3000}[^ab]";
    let hits = search_lines(&query(&top, slow), &name, &bounds).unwrap();
    assert!(hits.timed_out && hits.matches == 1, "{hits:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn a_search_is_cancelled_inside_a_file() {
    let (top, _dir) = tree(&[("long", &b"abc def\n".repeat(1 << 20))]);
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let bounds = Bounds {
        may_read: &|_| true,
        cancelled: &|| asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 20,
        deadline: far(),
    };
    let found = search_lines(&query(&top, "no such"), &|_| String::new(), &bounds);
    assert!(matches!(found, Err(SearchError::Cancelled)));
    // A file of this size is read in more than a hundred pieces.
    assert!(asked.into_inner() < 40);
}

#[test]
fn what_is_binary_is_told_by_its_beginning_as_reading_does() {
    let late = [&[b'a'; 9000][..], b"\nneedle \0 late\n"].concat();
    let (top, _dir) = tree(&[("early", b"needle\0\n"), ("late", &late)]);
    let hits = search(&top, &query(&top, "needle")).unwrap();
    assert_eq!(
        (hits.shown.as_str(), hits.binary),
        ("late:2:needle \u{2400} late\n", 1)
    );
}

#[test]
fn what_is_wrong_with_a_pattern_is_shown_in_the_pattern() {
    let (top, _dir) = tree(&[]);
    let told = |pattern: &str| search(&top, &query(&top, pattern)).unwrap_err().to_string();
    assert!(
        told(r"ab(?=x)").starts_with(
            "bad pattern `ab(?=x)`: regex parse error:\n    ab(?=x)\n      ^^^\nerror: look-around"
        ),
        "{}",
        told(r"ab(?=x)")
    );
    assert!(
        told(r"(\w{1,100}\s){1,100}")
            .starts_with("the pattern `(\\w{1,100}\\s){1,100}` is too large")
    );
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Lines as a person would find them, one after the other.
    fn by_hand(files: &[(String, String)], pattern: &str) -> String {
        let mut rows = String::new();
        for (path, text) in files {
            for (index, line) in text.lines().enumerate() {
                if line.contains(pattern) {
                    rows.push_str(&format!("{path}:{}:{line}\n", index + 1));
                }
            }
        }
        rows
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_plain_word_is_found_where_a_plain_search_finds_it(
            texts in prop::collection::btree_map(
                "[a-c]{1,2}(/[a-c]\\.[rt])?",
                prop::collection::vec("[xyz é]{0,6}", 0..6),
                1..8,
            ),
            pattern in "[xyzé]{1,2}",
            ends in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            // A name cannot be a file and a folder.
            let texts: Vec<(String, String)> = texts
                .into_iter()
                .map(|(path, lines)| (path.replace('/', "-d/"), lines.join(ends)))
                .collect();
            let files: Vec<(&str, &[u8])> = texts
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_bytes()))
                .collect();
            let (top, _dir) = tree(&files);
            let mut sorted = texts.clone();
            sorted.sort_by(|a, b| Path::new(&a.0).cmp(Path::new(&b.0)));
            let hits = search(&top, &query(&top, &pattern)).unwrap();
            prop_assert_eq!(hits.shown, by_hand(&sorted, &pattern));
        }
    }
}
