use std::{fs, os::unix::fs::symlink};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A workspace `main` (writable), a second root `library` (readable), and `outside`.
struct World {
    top: PathBuf,
    roots: Roots,
    _dir: TempDir,
}

fn world() -> World {
    let dir = TempDir::new().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for folder in ["main/src", "library", "outside/deep", "home"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    fs::write(top.join("main/src/a.rs"), "a").unwrap();
    fs::write(top.join("library/read.me"), "r").unwrap();
    fs::write(top.join("outside/secret"), "s").unwrap();
    symlink(top.join("outside"), top.join("main/out")).unwrap();
    symlink(top.join("outside/deep"), top.join("main/deep")).unwrap();
    symlink("../outside/not-yet", top.join("main/dangling")).unwrap();
    symlink("src/not-yet", top.join("main/dangling-inside")).unwrap();
    symlink("src", top.join("main/source")).unwrap();
    symlink("../library", top.join("main/lib")).unwrap();
    symlink("loop-b", top.join("main/loop-a")).unwrap();
    symlink("loop-a", top.join("main/loop-b")).unwrap();
    symlink(top.join("main"), top.join("alias")).unwrap();
    let roots = Roots {
        cwd: top.join("main"),
        home: top.join("home"),
        readable: vec![top.join("main"), top.join("library")],
        writable: vec![top.join("main")],
    };
    World {
        top,
        roots,
        _dir: dir,
    }
}

/// What came out, with the world's folder shown as `/T`.
fn outcome(world: &World, written: &str, access: Access) -> String {
    let written = written.replace("/T", &world.top.display().to_string());
    let text = match confine(&world.roots, &written, access) {
        Ok(confined) => {
            format!(
                "{} → {}",
                confined.lexical.display(),
                confined.real.display()
            )
        }
        Err(error) => {
            let name = format!("{error:?}");
            name.chars().take_while(|c| c.is_alphanumeric()).collect()
        }
    };
    text.replace(&world.top.display().to_string(), "/T")
}

#[test]
fn every_edge_is_judged_by_words_and_by_where_it_leads() {
    let world = world();
    let cases = [
        ("src/a.rs", "/T/main/src/a.rs → /T/main/src/a.rs"),
        (".", "/T/main → /T/main"),
        ("/T/main", "/T/main → /T/main"),
        (
            "./src/./../src/new.rs",
            "/T/main/src/new.rs → /T/main/src/new.rs",
        ),
        (
            "new/deep/file",
            "/T/main/new/deep/file → /T/main/new/deep/file",
        ),
        ("nothing/../src/a.rs", "/T/main/src/a.rs → /T/main/src/a.rs"),
        ("source/a.rs", "/T/main/source/a.rs → /T/main/src/a.rs"),
        (
            "dangling-inside",
            "/T/main/dangling-inside → /T/main/src/not-yet",
        ),
        (
            "src/a.rs/below-a-file",
            "/T/main/src/a.rs/below-a-file → /T/main/src/a.rs/below-a-file",
        ),
        ("c:name", "/T/main/c:name → /T/main/c:name"),
        ("~backup", "/T/main/~backup → /T/main/~backup"),
        ("/T/alias/src/a.rs", "/T/main/src/a.rs → /T/main/src/a.rs"),
        ("///T/main/src", "/T/main/src → /T/main/src"),
        ("", "Empty"),
        ("a\0b", "Nul"),
        ("C:\\Windows", "Prefix"),
        ("c:/Windows", "Prefix"),
        ("\\\\server\\share", "Prefix"),
        ("\\??\\C:\\x", "Prefix"),
        ("//server/share", "Prefix"),
        ("~", "Outside"),
        ("~/x", "Outside"),
        ("..", "Outside"),
        ("../../../../../../../../../../etc/passwd", "Outside"),
        ("/etc/passwd", "Outside"),
        ("/T/main-other/x", "Outside"),
        ("out/secret", "Outside"),
        (
            "out/../main/src/a.rs",
            "/T/main/main/src/a.rs → /T/main/src/a.rs",
        ),
        ("deep/../secret", "Outside"),
        ("dangling", "Outside"),
        ("dangling/x", "Outside"),
        ("loop-a", "TooManyLinks"),
        ("lib/read.me", "ReadOnly"),
        ("/T/library/read.me", "ReadOnly"),
    ];
    for (written, expected) in cases {
        assert_eq!(
            outcome(&world, written, Access::Write),
            expected,
            "{written:?}"
        );
    }
    let readable = "/T/main/lib/read.me → /T/library/read.me";
    assert_eq!(outcome(&world, "lib/read.me", Access::Read), readable);
    assert_eq!(outcome(&world, "out/secret", Access::Read), "Outside");
}

#[test]
fn a_refusal_names_the_path_the_place_the_roots_and_the_way_out() {
    let world = world();
    let error = confine(&world.roots, "out/secret", Access::Write).unwrap_err();
    let text = error
        .to_string()
        .replace(&world.top.display().to_string(), "/T");
    assert_eq!(
        text,
        "`out/secret` is outside the folders that may be written (it leads to `/T/outside/secret`): `/T/main`\n\
         hint: stay inside, or ask the person to start cox with `--add-dir /T/outside`"
    );
}

#[test]
fn a_path_that_leads_elsewhere_by_now_is_refused() {
    let world = world();
    let before = confine(&world.roots, "source/a.rs", Access::Write).unwrap();
    confine_again(&world.roots, &before, Access::Write).unwrap();
    fs::remove_file(world.top.join("main/source")).unwrap();
    fs::create_dir(world.top.join("main/source")).unwrap();
    let error = confine_again(&world.roots, &before, Access::Write).unwrap_err();
    assert!(matches!(error, ConfineError::Moved { .. }), "{error}");
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "..", ".", "main", "outside"]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..6).prop_map(|parts| parts.join("/"))
}

/// A link or a folder to be made inside the world, and where it leads.
fn entry() -> impl Strategy<Value = (String, Option<String>)> {
    (path(), prop::option::of(path()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_tree_of_links_leads_out_of_a_root(
        entries in prop::collection::vec(entry(), 0..12),
        asked in prop::collection::vec(path(), 1..6),
    ) {
        let dir = TempDir::new().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let root = top.join("main");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(top.join("outside/a")).unwrap();
        for (at, leads) in entries {
            let at = root.join(at);
            // What cannot be made is not part of this tree.
            drop(match leads {
                Some(target) => symlink(target, &at),
                None => fs::create_dir(&at),
            });
        }
        let roots = Roots {
            cwd: root.clone(),
            home: top,
            readable: vec![root.clone()],
            writable: vec![root.clone()],
        };
        for written in asked {
            let Ok(confined) = confine(&roots, &written, Access::Write) else { continue };
            prop_assert!(confined.real.starts_with(&root), "{confined:?}");
            // The system agrees: what exists is where we say it is, and what is made lands inside.
            if let Ok(system) = root.join(&written).canonicalize() {
                prop_assert_eq!(&system, &confined.real);
            }
            if let Ok(system) = confined.real.canonicalize() {
                prop_assert!(system.starts_with(&root), "{system:?}");
            }
        }
    }
}
