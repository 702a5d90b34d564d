use std::{ffi::OsStr, fs, io::Write as _, os::unix::fs::symlink};

use super::*;

/// A folder by its path, as systems without descriptors of folders use it.
fn plain_folder() -> (tempfile::TempDir, plain::Folder) {
    let dir = tempfile::TempDir::new().unwrap();
    let folder = plain::Folder::root(&dir.path().canonicalize().unwrap()).unwrap();
    (dir, folder)
}

#[test]
fn a_plain_folder_is_not_reached_through_a_link() {
    let (dir, root) = plain_folder();
    fs::create_dir_all(dir.path().join("real/deep")).unwrap();
    symlink("real", dir.path().join("link")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(root.below("real/deep".as_ref()).is_ok());
    assert!(root.below("".as_ref()).is_ok());
    for (path, kind) in [
        ("link/deep", io::ErrorKind::NotADirectory),
        ("file", io::ErrorKind::NotADirectory),
        ("gone", io::ErrorKind::NotFound),
        ("real/..", io::ErrorKind::InvalidInput),
        ("/", io::ErrorKind::InvalidInput),
    ] {
        assert_eq!(
            root.below(path.as_ref()).unwrap_err().kind(),
            kind,
            "{path}"
        );
    }
    symlink("file", dir.path().join("other")).unwrap();
    assert!(root.open(OsStr::new("other")).is_err());
    assert!(root.open_to_write(OsStr::new("other")).is_err());
}

#[test]
fn a_plain_folder_creates_only_what_is_not_there_and_says_what_it_cannot_do() {
    let (dir, root) = plain_folder();
    let [one, other] = ["one", "other"].map(OsStr::new);
    let mut file = root.create(one, 0o600).unwrap();
    file.write_all(b"1").unwrap();
    let stamp = root.stamp(one).unwrap();
    assert_eq!((stamp.kind, stamp.size), (Kind::File, 1));
    assert!(stamp.same_content(&plain::stamp_of(&root.open(one).unwrap()).unwrap()));
    assert_eq!(
        root.create(one, 0o600).unwrap_err().kind(),
        io::ErrorKind::AlreadyExists
    );
    assert!(is_unsupported(&root.rename_to_new(one, other).unwrap_err()));
    assert!(is_unsupported(&root.exchange(one, other).unwrap_err()));
    root.link(one, other).unwrap();
    assert_eq!(
        root.link(one, other).unwrap_err().kind(),
        io::ErrorKind::AlreadyExists
    );
    root.may_write(one).unwrap();
    root.sync();
    let open = |name: &OsStr| root.open(name).unwrap();
    assert!(plain::take_after(&open(other), &stamp, &open(one)).unwrap());
    root.remove(one).unwrap();
    root.rename(other, one).unwrap();
    root.make_folder(other).unwrap();
    assert_eq!(root.stamp(other).unwrap().kind, Kind::Folder);
    root.remove_folder(other).unwrap();
    assert_eq!(fs::read(dir.path().join("one")).unwrap(), b"1");
}
