use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    sync::Mutex,
};

use tempfile::TempDir;

use super::*;
use crate::confine::confine;

mod crash;
mod odd_files;

struct World {
    roots: Roots,
    top: PathBuf,
    _dir: TempDir,
}

fn world() -> World {
    let dir = TempDir::new().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let root = top.join("main");
    fs::create_dir(&root).unwrap();
    fs::create_dir(top.join("outside")).unwrap();
    let roots = Roots {
        cwd: root.clone(),
        home: top.clone(),
        readable: vec![root.clone()],
        writable: vec![root],
    };
    World {
        roots,
        top,
        _dir: dir,
    }
}

impl World {
    fn put(&self, path: &str, bytes: &str) {
        fs::write(self.top.join("main").join(path), bytes).unwrap();
    }

    fn at(&self, path: &str) -> Confined {
        confine(&self.roots, path, Access::Write).unwrap()
    }

    /// Every file below the root with its bytes, sorted; links as `→`.
    fn files(&self) -> Vec<(String, String)> {
        fn walk(folder: &Path, root: &Path, out: &mut Vec<(String, String)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root).unwrap().display().to_string();
                if path.is_symlink() {
                    out.push((
                        name,
                        format!("→ {}", fs::read_link(&path).unwrap().display()),
                    ));
                } else if path.is_dir() {
                    out.push((format!("{name}/"), String::new()));
                    walk(&path, root, out);
                } else {
                    out.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let root = self.top.join("main");
        let mut out = Vec::new();
        walk(&root, &root, &mut out);
        out.sort();
        out
    }
}

/// Keeps pre-images; runs something at the first, to meddle in the middle of a set.
#[derive(Default)]
struct Kept {
    kept: Mutex<Vec<(PathBuf, String)>>,
    meddle: Option<Box<dyn Fn() + Send + Sync>>,
    full: bool,
}

impl PreImages for Kept {
    fn keep(&self, path: &Path, bytes: &[u8]) -> io::Result<String> {
        if self.full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        if let Some(meddle) = &self.meddle {
            meddle();
        }
        let mut kept = self.kept.lock().unwrap();
        kept.push((path.to_owned(), String::from_utf8_lossy(bytes).into_owned()));
        Ok(format!("id{}", kept.len()))
    }
}

/// Keeps records in memory, and says how many are left.
#[derive(Default)]
struct Noted {
    left: std::sync::Arc<Mutex<Vec<Vec<u8>>>>,
}

struct NotedOne(std::sync::Arc<Mutex<Vec<Vec<u8>>>>);

impl Journal for Noted {
    fn begin(&self, record: &[u8], _durable: bool) -> io::Result<Box<dyn Begun>> {
        self.left.lock().unwrap().push(record.to_vec());
        Ok(Box::new(NotedOne(self.left.clone())))
    }
}

impl Begun for NotedOne {
    fn rewrite(&mut self, record: &[u8]) -> io::Result<()> {
        *self.0.lock().unwrap().last_mut().unwrap() = record.to_vec();
        Ok(())
    }

    fn end(self: Box<Self>) {
        self.0.lock().unwrap().pop();
    }
}

fn strings(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn all_kinds_of_changes_are_made_together() {
    let world = world();
    for (path, text) in [("a", "old a"), ("b", "old b"), ("c", "old c")] {
        world.put(path, text);
    }
    let kept = Kept::default();
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"old a".to_vec(), b"new a".to_vec());
    set.create(world.at("deep/er/new"), b"new".to_vec());
    set.delete(world.at("b"), b"old b".to_vec());
    set.relocate(
        world.at("c"),
        b"old c".to_vec(),
        world.at("moved/c"),
        b"new c".to_vec(),
    );
    let receipt = set.apply(&kept, &Noted::default()).unwrap();
    assert_eq!(
        world.files(),
        strings(&[
            ("a", "new a"),
            ("deep/", ""),
            ("deep/er/", ""),
            ("deep/er/new", "new"),
            ("moved/", ""),
            ("moved/c", "new c"),
        ])
    );
    let done: Vec<(WrittenKind, Option<&str>)> = receipt
        .files
        .iter()
        .map(|file| (file.kind, file.preimage.as_deref()))
        .collect();
    assert_eq!(
        done,
        [
            (WrittenKind::Changed, Some("id1")),
            (WrittenKind::Created, None),
            (WrittenKind::Deleted, Some("id2")),
            (WrittenKind::Created, None),
            (WrittenKind::Deleted, Some("id3")),
        ]
    );
    let kept: Vec<String> = kept
        .kept
        .lock()
        .unwrap()
        .iter()
        .map(|(_, text)| text.clone())
        .collect();
    assert_eq!(kept, ["old a", "old b", "old c"]);
}

#[test]
fn a_failure_anywhere_leaves_every_file_as_it_was() {
    type Spoil = fn(&World);
    let spoilers: [(&str, Spoil); 5] = [
        ("changed", |world| world.put("z", "someone else's")),
        ("gone", |world| {
            fs::remove_file(world.top.join("main/z")).unwrap();
        }),
        ("a folder", |world| {
            fs::remove_file(world.top.join("main/z")).unwrap();
            fs::create_dir(world.top.join("main/z")).unwrap();
        }),
        ("a link out", |world| {
            fs::remove_file(world.top.join("main/z")).unwrap();
            symlink(world.top.join("outside/target"), world.top.join("main/z")).unwrap();
        }),
        ("write-protected", |world| {
            let protected = fs::Permissions::from_mode(0o444);
            fs::set_permissions(world.top.join("main/z"), protected).unwrap();
        }),
    ];
    for (what, spoil) in spoilers {
        let world = world();
        for name in ["a", "b", "z"] {
            world.put(name, name);
        }
        let z = world.at("z");
        let mut set = WriteSet::new(&world.roots);
        set.update(world.at("a"), b"a".to_vec(), b"A".to_vec());
        set.create(world.at("new/file"), b"n".to_vec());
        set.delete(world.at("b"), b"b".to_vec());
        set.update(z, b"z".to_vec(), b"Z".to_vec());
        spoil(&world);
        let before = world.files();
        set.apply(&Kept::default(), &Noted::default()).unwrap_err();
        assert_eq!(world.files(), before, "{what}");
        assert!(!world.top.join("outside/target").exists(), "{what}");
    }
}

#[test]
fn a_file_that_changes_after_it_was_staged_is_not_overwritten() {
    let world = world();
    world.put("a", "a");
    world.put("z", "z");
    let path = world.top.join("main/a");
    // The pre-image of `z` is kept after `a` was staged.
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let meddle = move || {
        if calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            fs::write(&path, "theirs").unwrap();
        }
    };
    let kept = Kept {
        meddle: Some(Box::new(meddle)),
        ..Kept::default()
    };
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"a".to_vec(), b"A".to_vec());
    set.update(world.at("z"), b"z".to_vec(), b"Z".to_vec());
    let error = set.apply(&kept, &Noted::default()).unwrap_err();
    assert!(
        matches!(error, WriteError::ChangedMeanwhile { .. }),
        "{error}"
    );
    assert_eq!(world.files(), strings(&[("a", "theirs"), ("z", "z")]));
}

#[test]
fn files_replaced_before_the_failing_one_are_put_back() {
    let world = world();
    for name in ["a", "b", "d", "z"] {
        world.put(name, name);
    }
    fs::hard_link(world.top.join("main/b"), world.top.join("b-too")).unwrap();
    let before = world.files();
    let inode = fs::metadata(world.top.join("main/a")).unwrap().ino();
    let path = world.top.join("main/z");
    let calls = std::sync::atomic::AtomicUsize::new(0);
    // `z` is the last to be staged but one; it changes while the last pre-image is kept.
    let meddle = move || {
        if calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 4 {
            fs::write(&path, "theirs").unwrap();
        }
    };
    world.put("last", "last");
    let kept = Kept {
        meddle: Some(Box::new(meddle)),
        ..Kept::default()
    };
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"a".to_vec(), b"A".to_vec());
    set.update(world.at("b"), b"b".to_vec(), b"B".to_vec());
    set.create(world.at("new/c"), b"c".to_vec());
    set.delete(world.at("d"), b"d".to_vec());
    set.update(world.at("z"), b"z".to_vec(), b"Z".to_vec());
    set.update(world.at("last"), b"last".to_vec(), b"LAST".to_vec());
    set.apply(&kept, &Noted::default()).unwrap_err();
    let mut expected = before;
    expected.last_mut().unwrap().1 = "theirs".to_owned();
    expected.push(("last".to_owned(), "last".to_owned()));
    expected.sort();
    assert_eq!(world.files(), expected);
    assert_eq!(
        fs::metadata(world.top.join("main/a")).unwrap().ino(),
        inode,
        "the same file is back"
    );
    assert_eq!(fs::read_to_string(world.top.join("b-too")).unwrap(), "b");
}

#[test]
fn nothing_is_written_when_the_old_bytes_cannot_be_kept() {
    let world = world();
    world.put("a", "a");
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"a".to_vec(), b"A".to_vec());
    let error = set
        .apply(
            &Kept {
                full: true,
                ..Kept::default()
            },
            &Noted::default(),
        )
        .unwrap_err();
    assert!(matches!(error, WriteError::Keep { .. }), "{error}");
    assert_eq!(world.files(), strings(&[("a", "a")]));
}

#[test]
fn the_mode_stays_and_new_files_obey_the_umask() {
    let world = world();
    world.put("script", "old");
    let path = world.top.join("main/script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    world.put("plain", "");
    let usual = fs::metadata(world.top.join("main/plain")).unwrap().mode();
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("script"), b"old".to_vec(), b"new".to_vec());
    set.create(world.at("made"), b"new".to_vec());
    set.apply(&Kept::default(), &Noted::default()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o754);
    assert_eq!(
        fs::metadata(world.top.join("main/made")).unwrap().mode(),
        usual
    );
}

#[test]
fn links_stay_links_and_other_names_stay_names() {
    let world = world();
    world.put("real", "old");
    world.put("one", "old");
    symlink("real", world.top.join("main/link")).unwrap();
    fs::hard_link(world.top.join("main/one"), world.top.join("main/two")).unwrap();
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("link"), b"old".to_vec(), b"by link".to_vec());
    set.update(world.at("one"), b"old".to_vec(), b"in place".to_vec());
    let receipt = set.apply(&Kept::default(), &Noted::default()).unwrap();
    assert_eq!(
        world.files(),
        strings(&[
            ("link", "→ real"),
            ("one", "in place"),
            ("real", "by link"),
            ("two", "in place")
        ])
    );
    assert_eq!(
        receipt
            .files
            .iter()
            .map(|file| file.in_place)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn two_changes_of_one_file_and_a_file_that_exists_are_refused() {
    let world = world();
    world.put("a", "a");
    symlink("a", world.top.join("main/link")).unwrap();
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"a".to_vec(), b"A".to_vec());
    set.delete(world.at("link"), b"a".to_vec());
    assert!(matches!(
        set.apply(&Kept::default(), &Noted::default()),
        Err(WriteError::Twice { .. })
    ));
    let mut set = WriteSet::new(&world.roots);
    set.create(world.at("a"), b"A".to_vec());
    assert!(matches!(
        set.apply(&Kept::default(), &Noted::default()),
        Err(WriteError::Exists { .. })
    ));
    assert_eq!(world.files(), strings(&[("a", "a"), ("link", "→ a")]));
}
