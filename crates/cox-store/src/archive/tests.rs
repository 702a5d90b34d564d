use super::*;

fn archive(folder: &tempfile::TempDir) -> Archive {
    Archive::new(Home::new(folder.path().join("home")))
}

fn names(archive: &Archive) -> Vec<String> {
    let Ok(entries) = fs::read_dir(archive.home.archive_dir()) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn what_was_put_is_read_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&folder);
    for size in [0, 1, SPILL_BYTES, SPILL_BYTES + 1, 3 * SPILL_BYTES + 7] {
        let bytes: Vec<u8> = (0..size).map(|at| at as u8).collect();
        let id = archive.put(&bytes).unwrap();
        assert_eq!(archive.read(id).unwrap(), bytes);
        assert_eq!(archive.len(id).unwrap(), size as u64);
    }
}

#[test]
fn pieces_of_any_size_make_one_entry() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&folder);
    let mut writer = archive.writer().unwrap();
    let mut expected = Vec::new();
    for size in [10, SPILL_BYTES - 5, 3, 2 * SPILL_BYTES, 1, SPILL_BYTES, 70] {
        let piece = vec![size as u8; size];
        writer.write(&piece).unwrap();
        expected.extend(piece);
    }
    assert_eq!(writer.len(), expected.len() as u64);
    let id = writer.finish().unwrap();
    assert!(archive.read(id).unwrap() == expected);
    assert_eq!(names(&archive), [id.to_string()]);
}

#[test]
fn a_small_output_touches_the_disk_only_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&folder);
    let mut writer = archive.writer().unwrap();
    writer.write(b"small").unwrap();
    assert!(!folder.path().join("home").exists());
    writer.finish().unwrap();
    assert_eq!(names(&archive).len(), 1);
}

#[test]
fn an_unfinished_entry_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&folder);
    let mut writer = archive.writer().unwrap();
    let id = writer.id();
    writer.write(&vec![b'x'; 2 * SPILL_BYTES]).unwrap();
    assert_eq!(names(&archive), [format!(".{id}.part")]);
    assert!(matches!(archive.read(id), Err(StoreError::NotFound(_))));
    drop(writer);
    assert_eq!(names(&archive), [] as [String; 0]);
}

#[cfg(unix)]
#[test]
fn entries_and_folders_belong_to_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&folder);
    let id = archive.put(b"secret").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&archive.home.root), 0o700);
    assert_eq!(mode(&archive.home.archive_dir()), 0o700);
    assert_eq!(mode(&archive.home.archive_path(id)), 0o600);
}

#[test]
fn a_range_gives_numbered_rows() {
    let folder = tempfile::tempdir().unwrap();
    let archive = archive(&folder);
    let check = |text: &str, from, to, expected: &str, copied, seen| {
        let id = archive.put(text.as_bytes()).unwrap();
        let mut rows = Vec::new();
        let done = archive.copy_lines(id, from, to, &mut rows).unwrap();
        assert_eq!(
            String::from_utf8(rows).unwrap(),
            expected,
            "{text:?} {from}-{to}"
        );
        assert_eq!(done, LinesCopied { copied, seen }, "{text:?} {from}-{to}");
    };
    check("a\nb\nc\n", 1, 3, "1\ta\n2\tb\n3\tc\n", 3, 3);
    check("a\nb\nc\n", 2, 2, "2\tb\n", 1, 2);
    check("a\nb\nc", 3, 9, "3\tc\n", 1, 3);
    check("a\nb\nc\n", 4, 9, "", 0, 3);
    check("", 1, 9, "", 0, 0);
    check("\n\n", 1, 9, "1\t\n2\t\n", 2, 2);
    let long = "y".repeat(3 * SPILL_BYTES);
    check(
        &format!("{long}\nz\n"),
        1,
        2,
        &format!("1\t{long}\n2\tz\n"),
        2,
        2,
    );
}
