#![expect(clippy::disallowed_methods, reason = "tests lay out their own folders")]

use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// Lays out files; paths start with `home/` or `repo/`.
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(place.at("repo/sub")).unwrap();
        for (path, text) in files {
            let path = place.at(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join(path)
    }

    fn load(&self, budget: usize) -> Instructions {
        let home = self.at("home");
        load(
            &home,
            &home.join(".cox"),
            &self.at("repo"),
            &self.at("repo/sub"),
            budget,
        )
    }

    /// Returns `path: text` for every file, then `! notice` for every notice, with the folder cut off.
    fn shown(&self, budget: usize) -> Vec<String> {
        let loaded = self.load(budget);
        let base = format!("{}/", self.at("").display()).replace("//", "/");
        let files = loaded
            .files
            .iter()
            .map(|file| format!("{}: {}", file.path.display(), file.text));
        let notices = loaded.notices.iter().map(|notice| format!("! {notice}"));
        files
            .chain(notices)
            .map(|line| line.replace(&base, ""))
            .collect()
    }
}

fn check(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(Place::with(files).shown(8_000), expected);
}

#[test]
fn the_persons_files_come_first_then_the_folders_from_the_root_down() {
    check(
        &[
            ("repo/sub/CLAUDE.local.md", "8"),
            ("repo/sub/AGENTS.md", "7"),
            ("repo/CLAUDE.local.md", "6"),
            ("repo/.claude/CLAUDE.md", "5"),
            ("repo/.cox/AGENTS.md", "4"),
            ("repo/CLAUDE.md", "3"),
            ("repo/AGENTS.md", "\u{feff}2"),
            ("home/.claude/CLAUDE.md", "1"),
            ("home/.cox/AGENTS.md", "0"),
            ("home/AGENTS.md", "not read"),
            ("repo/sub/deeper/AGENTS.md", "not read"),
        ],
        &[
            "home/.cox/AGENTS.md: 0",
            "home/.claude/CLAUDE.md: 1",
            "repo/AGENTS.md: 2",
            "repo/CLAUDE.md: 3",
            "repo/.cox/AGENTS.md: 4",
            "repo/.claude/CLAUDE.md: 5",
            "repo/CLAUDE.local.md: 6",
            "repo/sub/AGENTS.md: 7",
            "repo/sub/CLAUDE.local.md: 8",
        ],
    );
    check(&[("repo/AGENTS.md", " \n")], &[]);
}

#[test]
fn includes_are_appended_once() {
    check(
        &[
            ("repo/AGENTS.md", "Read @docs/a.md, and (@docs/b.md).\n"),
            ("repo/docs/a.md", "A with @b.md\n"),
            ("repo/docs/b.md", "B\n"),
            ("repo/CLAUDE.md", "@AGENTS.md\n@docs/a.md"),
        ],
        &[
            "repo/AGENTS.md: Read @docs/a.md, and (@docs/b.md).\n\nContents of @docs/a.md:\n\nA with @b.md\n\nContents of @b.md:\n\nB\n",
            "repo/CLAUDE.md: @AGENTS.md\n@docs/a.md",
        ],
    );
}

#[test]
fn words_that_name_no_file_and_code_stay_as_they_are() {
    let text = "@someone me@docs/a.md `@docs/a.md` @docs\n```\n@docs/a.md\n```\n~~~\n```\n@docs/a.md\n~~~\n";
    check(
        &[("repo/AGENTS.md", text), ("repo/docs/a.md", "A")],
        &[&format!("repo/AGENTS.md: {text}")],
    );
}

#[test]
fn a_circle_is_cut_and_reported() {
    check(
        &[("repo/AGENTS.md", "@b.md"), ("repo/b.md", "@AGENTS.md")],
        &[
            "repo/AGENTS.md: @b.md\n\nContents of @b.md:\n\n@AGENTS.md",
            "! repo/AGENTS.md includes itself by @AGENTS.md",
        ],
    );
}

#[test]
fn includes_end_at_depth_three() {
    let chain = [
        ("repo/AGENTS.md", "@1.md"),
        ("repo/1.md", "@2.md"),
        ("repo/2.md", "@3.md"),
        ("repo/3.md", "@4.md"),
        ("repo/4.md", "too deep"),
    ];
    let shown = Place::with(&chain).shown(8_000);
    assert!(
        shown[0].ends_with("Contents of @3.md:\n\n@4.md"),
        "{shown:?}"
    );
    assert_eq!(
        shown[1],
        "! @4.md in repo was left out: files include files 3 deep at most"
    );
}

#[test]
fn a_repository_reaches_nothing_outside_but_the_persons_markdown() {
    check(
        &[
            (
                "repo/AGENTS.md",
                "@../secret.md @~/.ssh/id @~/.cox/key.txt @~/.claude/style.md",
            ),
            ("secret.md", "secret"),
            ("home/.ssh/id", "secret"),
            ("home/.cox/key.txt", "secret"),
            ("home/.claude/style.md", "style"),
        ],
        &[
            "repo/AGENTS.md: @../secret.md @~/.ssh/id @~/.cox/key.txt @~/.claude/style.md\n\nContents of @~/.claude/style.md:\n\nstyle",
            "! @../secret.md in repo was left out: it lies outside repo",
            "! @~/.ssh/id in repo was left out: it lies outside repo",
            "! @~/.cox/key.txt in repo was left out: it lies outside repo",
        ],
    );
}

#[cfg(unix)]
#[test]
fn links_count_by_where_they_lead() {
    use std::os::unix::fs::symlink;
    let place = Place::with(&[
        ("repo/AGENTS.md", "one"),
        ("secret.md", "secret"),
        ("dotfiles/agents.md", "mine"),
        ("home/.cox/x", ""),
    ]);
    symlink("AGENTS.md", place.at("repo/CLAUDE.md")).unwrap();
    symlink("../secret.md", place.at("repo/CLAUDE.local.md")).unwrap();
    symlink(
        place.at("dotfiles/agents.md"),
        place.at("home/.cox/AGENTS.md"),
    )
    .unwrap();
    assert_eq!(
        place.shown(8_000),
        [
            "home/.cox/AGENTS.md: mine",
            "repo/AGENTS.md: one",
            "! repo/CLAUDE.local.md was left out: it leads to secret.md, outside repo",
        ]
    );
}

#[test]
fn what_exceeds_the_budget_is_left_out_whole_and_smaller_ones_still_fit() {
    let place = Place::with(&[
        ("repo/AGENTS.md", &"a".repeat(30)),
        ("repo/CLAUDE.md", &"b".repeat(41)),
        ("repo/sub/AGENTS.md", "c @big.md"),
        ("repo/sub/big.md", &"d".repeat(400)),
    ]);
    assert_eq!(
        place.shown(10),
        [
            &format!("repo/AGENTS.md: {}", "a".repeat(30)),
            "repo/sub/AGENTS.md: c @big.md",
            "! repo/CLAUDE.md was left out: it has about 11 tokens, 2 of 10 are left for instruction files",
            "! repo/sub/big.md was left out: it has about 100 tokens, 0 of 10 are left for instruction files",
        ]
    );
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_and_reported() {
    let place = Place::with(&[]);
    fs::write(place.at("repo/AGENTS.md"), b"caf\xe9").unwrap();
    assert_eq!(
        place.shown(100),
        [
            "repo/AGENTS.md: caf\u{fffd}",
            "! repo/AGENTS.md is not UTF-8: what could not be read is shown as \u{fffd}",
        ]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_folders_and_endless_files_do_not_stop_it() {
    let place = Place::with(&[("repo/sub/AGENTS.md", "fine @/dev/zero")]);
    fs::create_dir(place.at("repo/AGENTS.md")).unwrap();
    let pipe = place.at("repo/CLAUDE.md");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let sparse = File::create(place.at("repo/CLAUDE.local.md")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert_eq!(
        place.shown(100),
        [
            "repo/sub/AGENTS.md: fine @/dev/zero",
            "! repo/CLAUDE.local.md was left out: it has about 274877906944 tokens, 100 of 100 are left for instruction files",
        ]
    );
}

#[test]
fn a_working_directory_outside_the_root_adds_nothing() {
    let place = Place::with(&[("repo/AGENTS.md", "1"), ("elsewhere/AGENTS.md", "2")]);
    let home = place.at("home");
    let loaded = load(&home, &home, &place.at("repo"), &place.at("elsewhere"), 100);
    let texts: Vec<_> = loaded.files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!((texts, loaded.notices.len()), (vec!["1"], 0));
}
