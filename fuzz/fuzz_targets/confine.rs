//! Judges paths over any tree of folders, files and links: what is let through leads inside the root, and the system
//! agrees.
#![no_main]

use std::{
    cell::RefCell,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use cox_workspace::{
    Access, Roots, confine,
    confine::{confine_again, root_of},
};
use libfuzzer_sys::fuzz_target;

/// Names of which paths are made, so that most paths lead somewhere.
const NAMES: [&str; 16] = [
    "a", "b", "c", "..", "a", "b", ".", "..", "f", "m", "r", "o", "", "l", "k", "..",
];

/// A tree on disk: `m` may be written, `r` only read, `o` is outside.
struct World {
    /// The bytes that it was made from.
    made_from: Vec<u8>,
    roots: Roots,
    _dir: tempfile::TempDir,
}

// A byte for how many links there are, two or more bytes for each, and then the path: names, or words behind a NUL byte.
fuzz_target!(|data: &[u8]| {
    thread_local! {
        // A tree costs more than a path, so it is kept as long as the tree stays the same.
        static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
    }
    let (tree, path) = parts(data);
    WORLD.with_borrow_mut(|world| {
        if world.as_ref().is_none_or(|world| world.made_from != tree) {
            *world = None;
        }
        check(world.get_or_insert_with(|| make(tree)), path);
    });
});

/// The bytes of the tree and those of the path.
fn parts(data: &[u8]) -> (&[u8], &[u8]) {
    let Some((count, rest)) = data.split_first() else {
        return (&[], &[]);
    };
    let mut end = 0;
    for _ in 0..count % 12 {
        let names = rest.get(end).map_or(0, |shape| shape & 7);
        end = (end + 2 + usize::from(names)).min(rest.len());
    }
    rest.split_at(end)
}

fn make(tree: &[u8]) -> World {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() {
        tempfile::TempDir::new_in(memory)
    } else {
        tempfile::TempDir::new()
    };
    let dir = dir.expect("a folder can be made");
    let top = dir.path().canonicalize().expect("it is there");
    for folder in ["m/a/b", "r/a", "o/a"] {
        fs::create_dir_all(top.join(folder)).expect("a folder can be made");
    }
    let mut rest = tree;
    while let [shape, at, after @ ..] = rest {
        let count = usize::from(shape & 7).min(after.len());
        let (target, after) = after.split_at(count);
        rest = after;
        let parent = ["m", "m/a", "m/a/b", "r", "o", "o/a", "", "m/c"][usize::from(at >> 4 & 7)];
        let at = top.join(parent).join(NAMES[usize::from(at % 16)]);
        let written = words(target);
        // What cannot be made is not part of this tree.
        drop(match shape >> 3 & 7 {
            0 => fs::create_dir(&at),
            1 => fs::write(&at, "x"),
            2 => symlink(top.join(&written), &at),
            _ => symlink(&written, &at),
        });
    }
    let root = top.join("m");
    World {
        made_from: tree.to_owned(),
        roots: Roots {
            cwd: root.clone(),
            home: top.clone(),
            readable: vec![root.clone(), top.join("r")],
            writable: vec![root],
        },
        _dir: dir,
    }
}

fn words(bytes: &[u8]) -> String {
    let names = bytes.iter().map(|byte| NAMES[usize::from(byte % 16)]);
    names.collect::<Vec<_>>().join("/")
}

fn check(world: &World, path: &[u8]) {
    let written = match path.split_first() {
        Some((0, rest)) => String::from_utf8_lossy(rest).into_owned(),
        Some((byte, rest)) if byte & 0xC0 == 0x80 => format!("~/{}", words(rest)),
        Some((byte, rest)) if byte & 0xC0 == 0xC0 => {
            format!("{}/{}", world.roots.home.display(), words(rest))
        }
        _ => words(path),
    };
    for (access, allowed) in [
        (Access::Read, &world.roots.readable),
        (Access::Write, &world.roots.writable),
    ] {
        let at = match confine(&world.roots, &written, access) {
            Ok(at) => at,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let is_inside = |path: &Path| root_of(allowed, path).is_some();
        assert!(is_inside(&at.real) && is_inside(&at.lexical), "{at:?}");
        assert!(at.real.starts_with(&at.root), "{at:?}");
        // What there is is where it is said to be; what there is not would be made inside.
        if let Some(system) = deepest(&at.real) {
            assert!(is_inside(&system), "{at:?} leads to {system:?}");
        }
        let joined = match written.strip_prefix("~/") {
            Some(rest) => world.roots.home.join(rest.trim_start_matches('/')),
            None => world.roots.cwd.join(&written),
        };
        if written != "~"
            && let Ok(system) = joined.canonicalize()
        {
            assert_eq!(system, at.real, "{written}");
        }
        // The answer is where it leads, and stays so.
        confine_again(&world.roots, &at, access).expect("nothing has changed");
        let real = at.real.to_str().expect("names are text");
        let again = confine(&world.roots, real, access).expect("it lies inside");
        assert_eq!(again.real, at.real);
    }
}

/// The deepest folder or file on the way that there is, as the system finds it.
fn deepest(path: &Path) -> Option<PathBuf> {
    let inside = |path: &&Path| path.symlink_metadata().is_ok();
    path.ancestors().find(inside)?.canonicalize().ok()
}
