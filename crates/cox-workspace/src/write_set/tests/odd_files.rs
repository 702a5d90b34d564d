//! Files that are not plain: protected, of other owners, with attributes, folders, names that differ in case.

use super::*;
use crate::failpoint::{Asked, refusing::while_refused};

fn apply(set: WriteSet<'_>) -> Result<Receipt, WriteError> {
    set.apply(&Kept::default(), &Noted::default())
}

fn update(world: &World, path: &str, old: &str, new: &str) -> Result<Receipt, WriteError> {
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at(path), old.into(), new.into());
    apply(set)
}

#[test]
fn a_file_that_nobody_may_write_is_not_replaced() {
    let world = world();
    world.put("protected", "old");
    let path = world.top.join("main/protected");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(
        update(&world, "protected", "old", "new")
            .unwrap_err()
            .to_string(),
        "`protected` is write-protected (mode 0444); nothing was written\n\
         hint: ask the person before changing its mode"
    );
    let mut set = WriteSet::new(&world.roots);
    set.delete(world.at("protected"), b"old".to_vec());
    assert!(matches!(
        apply(set),
        Err(WriteError::WriteProtected { mode: 0o444, .. })
    ));
    assert_eq!(world.files(), strings(&[("protected", "old")]));
}

#[test]
fn a_changed_program_keeps_its_mode_but_not_the_power_of_its_owner() {
    let world = world();
    world.put("tool", "old");
    let path = world.top.join("main/tool");
    for (mode, after) in [(0o4755, 0o755), (0o2755, 0o755), (0o1755, 0o1755)] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        update(&world, "tool", "old", "new").unwrap();
        let now = fs::metadata(&path).unwrap().mode() & 0o7777;
        assert_eq!(now, after, "{mode:o} became {now:o}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn attributes_come_along() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let world = world();
    world.put("tagged", "old");
    let path = world.top.join("main/tagged");
    // Not every file system of a test machine has attributes.
    if setxattr(&path, "user.tag", b"mine", XattrFlags::empty()).is_err() {
        return;
    }
    update(&world, "tagged", "old", "new").unwrap();
    let mut value = [0; 16];
    let length = getxattr(&path, "user.tag", &mut value).unwrap();
    assert_eq!(&value[..length], b"mine");
}

#[test]
fn folders_and_paths_below_files_are_refused_by_name() {
    let world = world();
    fs::create_dir(world.top.join("main/folder")).unwrap();
    world.put("file", "text");
    let mut set = WriteSet::new(&world.roots);
    set.delete(world.at("folder"), Vec::new());
    assert_eq!(
        apply(set).unwrap_err().to_string(),
        "`folder` is a folder, not a regular file; nothing was written"
    );
    for (path, said) in [
        ("folder", "`folder` exists already; nothing was written"),
        (
            ".",
            "`.` is a folder, not a regular file; nothing was written",
        ),
        (
            "file/below",
            "`file/below` is to stand below a file; nothing was written\n\
             hint: look at the folders in the path with `glob`",
        ),
    ] {
        let mut set = WriteSet::new(&world.roots);
        set.create(world.at(path), b"new".to_vec());
        assert_eq!(apply(set).unwrap_err().to_string(), said);
    }
    assert_eq!(world.files(), strings(&[("file", "text"), ("folder/", "")]));
}

#[test]
fn a_name_may_change_its_case_alone() {
    let world = world();
    world.put("readme", "old");
    let mut set = WriteSet::new(&world.roots);
    set.relocate(
        world.at("readme"),
        b"old".to_vec(),
        world.at("README"),
        b"old".to_vec(),
    );
    apply(set).unwrap();
    assert_eq!(world.files(), strings(&[("README", "old")]));
}

#[test]
fn a_set_that_fails_leaves_no_record_and_nothing_beside() {
    let world = world();
    world.put("a", "a");
    world.put("b", "b");
    let noted = Noted::default();
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"a".to_vec(), b"A".to_vec());
    set.create(world.at("new/c"), b"c".to_vec());
    set.update(world.at("b"), b"other".to_vec(), b"B".to_vec());
    set.apply(&Kept::default(), &noted).unwrap_err();
    assert!(noted.left.lock().unwrap().is_empty());
    assert_eq!(world.files(), strings(&[("a", "a"), ("b", "b")]));
}

#[test]
fn a_set_that_cannot_be_written_down_is_not_made() {
    struct Full;
    impl Journal for Full {
        fn begin(&self, _record: &[u8], _durable: bool) -> io::Result<Box<dyn Begun>> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }
    let world = world();
    world.put("a", "a");
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"a".to_vec(), b"A".to_vec());
    let error = set.apply(&Kept::default(), &Full).unwrap_err();
    assert!(matches!(error, WriteError::Journal { .. }), "{error}");
    assert_eq!(world.files(), strings(&[("a", "a")]));
}

/// Applies an update and checks that it was made in place, with the old bytes kept and nothing left beside.
fn assert_in_place(world: &World, path: &str) {
    let inode = |world: &World| {
        fs::metadata(world.top.join("main").join(path))
            .unwrap()
            .ino()
    };
    let before = inode(world);
    let kept = Kept::default();
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at(path), b"old".to_vec(), b"new text".to_vec());
    let receipt = set.apply(&kept, &Noted::default()).unwrap();
    assert!(receipt.files[0].in_place);
    assert_eq!(receipt.files[0].preimage.as_deref(), Some("id1"));
    assert_eq!(kept.kept.lock().unwrap()[0].1, "old");
    assert_eq!(world.files(), strings(&[(path, "new text")]));
    assert_eq!(inode(world), before, "the file is still the same one");
}

#[test]
fn a_file_that_cannot_be_renamed_over_is_written_in_place() {
    for kind in [io::ErrorKind::ResourceBusy, io::ErrorKind::CrossesDevices] {
        let world = world();
        world.put("a", "old");
        while_refused(Asked::Rename, kind, || assert_in_place(&world, "a"));
    }
}

#[test]
fn a_file_whose_owner_cannot_be_given_is_written_in_place() {
    let world = world();
    world.put("a", "old");
    let denied = io::ErrorKind::PermissionDenied;
    while_refused(Asked::Owner, denied, || assert_in_place(&world, "a"));
}

#[test]
fn another_owner_stays_the_owner() {
    // Only root can give a file away, to look at it then.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = world();
    world.put("a", "old");
    let path = world.top.join("main/a");
    std::os::unix::fs::chown(&path, Some(12_345), Some(12_346)).unwrap();
    let receipt = update(&world, "a", "old", "new").unwrap();
    let now = fs::metadata(&path).unwrap();
    assert_eq!((now.uid(), now.gid()), (12_345, 12_346));
    assert!(!receipt.files[0].in_place);
}

#[test]
fn a_failure_after_a_file_was_written_in_place_writes_its_old_bytes_again() {
    let world = world();
    world.put("a", "old");
    world.put("gone", "text");
    let mut set = WriteSet::new(&world.roots);
    set.update(world.at("a"), b"old".to_vec(), b"new text".to_vec());
    // A deletion is a rename too, and has no other way.
    set.delete(world.at("gone"), b"text".to_vec());
    let busy = io::ErrorKind::ResourceBusy;
    while_refused(Asked::Rename, busy, || apply(set)).unwrap_err();
    assert_eq!(world.files(), strings(&[("a", "old"), ("gone", "text")]));
}

/// The variable with the folder that holds a file which is mounted by itself.
#[cfg(target_os = "linux")]
const MOUNTED: &str = "COX_MOUNTED_WORLD";

/// Does nothing unless it was started by [`a_file_that_is_mounted_by_itself_is_written_in_place`].
#[cfg(target_os = "linux")]
#[test]
fn the_process_that_sees_a_mounted_file() {
    let Some(top) = std::env::var_os(MOUNTED).map(PathBuf::from) else {
        return;
    };
    let root = top.join("main");
    let roots = Roots {
        cwd: root.clone(),
        home: top,
        readable: vec![root.clone()],
        writable: vec![root],
    };
    let mut set = WriteSet::new(&roots);
    let at = confine(&roots, "a", Access::Write).unwrap();
    set.update(at, b"old".to_vec(), b"new text".to_vec());
    assert!(apply(set).unwrap().files[0].in_place);
    // Gone wrong, a process that was started would end well without having done anything.
    println!("written in place");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_mounted_by_itself_is_written_in_place() {
    let world = world();
    world.put("a", "");
    let outside = world.top.join("outside/a");
    fs::write(&outside, "old").unwrap();
    let bwrap = || {
        let mut command = std::process::Command::new("bwrap");
        command.args(["--dev-bind", "/", "/", "--bind"]);
        command.args([&outside, &world.top.join("main/a")]);
        command
    };
    // Not every test machine lets a process mount.
    if !bwrap()
        .arg("true")
        .status()
        .is_ok_and(|ended| ended.success())
    {
        return;
    }
    let test = "write_set::tests::odd_files::the_process_that_sees_a_mounted_file";
    let ended = bwrap()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MOUNTED, &world.top)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(
        ended.status.success() && said.contains("written in place"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&outside).unwrap(), "new text");
    assert_eq!(world.files(), strings(&[("a", "")]));
}
