//! Judges any path over a tree with links in all directions: what is let through leads inside the root, and the system
//! agrees.
#![no_main]

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use cox_workspace::{Access, Roots, confine};
use libfuzzer_sys::fuzz_target;

struct World {
    root: PathBuf,
    roots: Roots,
    _dir: tempfile::TempDir,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let dir = tempfile::TempDir::new().expect("a folder can be made");
    let top = dir.path().canonicalize().expect("it is there");
    let root = top.join("m");
    for folder in ["m/a/b", "m/c", "o/a"] {
        std::fs::create_dir_all(top.join(folder)).expect("a folder can be made");
    }
    for (link, target) in [
        ("m/o", "../o"),
        ("m/u", "a/b"),
        ("m/a/r", "../.."),
        ("m/a/b/s", "../../c"),
        ("m/l", "k"),
        ("m/k", "l"),
        ("m/d", "../o/no"),
        ("m/c/n", "no/yet"),
        ("x", "m"),
    ] {
        symlink(target, top.join(link)).expect("a link can be made");
    }
    let roots = Roots {
        cwd: root.clone(),
        home: top,
        readable: vec![root.clone()],
        writable: vec![root.clone()],
    };
    World {
        root,
        roots,
        _dir: dir,
    }
});

fuzz_target!(|data: &[u8]| {
    // Few bytes stand for the names of the tree, so that most paths lead somewhere.
    const NAMES: [&str; 16] = [
        "a", "b", "c", "o", "u", "r", "s", "l", "k", "d", "n", "..", ".", "", "x", "m",
    ];
    let written = match data.split_first() {
        Some((0, rest)) => String::from_utf8_lossy(rest).into_owned(),
        _ => data
            .iter()
            .map(|byte| NAMES[usize::from(byte % 16)])
            .collect::<Vec<_>>()
            .join("/"),
    };
    let world = &*WORLD;
    let Ok(at) = confine(&world.roots, &written, Access::Write) else {
        return;
    };
    assert!(at.real.starts_with(&world.root), "{at:?}");
    let agrees = |path: &Path| {
        path.canonicalize()
            .map_or(true, |system| system.starts_with(&world.root))
    };
    assert!(agrees(&at.real), "{at:?}");
    if let Ok(system) = world.root.join(&written).canonicalize() {
        assert_eq!(system, at.real, "{written}");
    }
});
