//! What all tools that change files have in common.

use super::*;

#[tokio::test]
async fn the_second_failure_of_the_same_call_names_another_tool() {
    let world = Lab::new(&[]);
    fs::write(world.path("a.rs"), "text\n").unwrap();
    let edit = json!({"path": "a.rs", "old": "nowhere", "new": "x"});
    let hint = "hint: this same call has failed";
    assert!(!world.said("edit", edit.clone()).await.contains(hint));
    let said = world.said("edit", edit.clone()).await;
    assert!(
        said.ends_with("\nhint: this same call has failed 2 times; read the file again, or use `apply_patch`, or `write` for a short file"),
        "{said}"
    );
    let patch =
        json!({"patch": "*** Begin Patch\n*** Update File: a.rs\n-nowhere\n+x\n*** End Patch"});
    world.said("apply_patch", patch.clone()).await;
    let said = world.said("apply_patch", patch.clone()).await;
    assert!(
        said.ends_with("failed 2 times; read the file again, or use `edit`"),
        "{said}"
    );
    // After a change the same call is a new one.
    world
        .said(
            "edit",
            json!({"path": "a.rs", "old": "text", "new": "nowhere else"}),
        )
        .await;
    let said = world
        .said("edit", json!({"path": "a.rs", "old": "gone", "new": "x"}))
        .await;
    assert!(!said.contains(hint), "{said}");
}

#[tokio::test]
async fn a_new_file_gets_the_endings_that_the_project_wants() {
    let world = Lab::new(&[]);
    fs::write(world.path(".gitattributes"), "*.bat text eol=crlf\n").unwrap();
    world
        .said("write", json!({"path": "a.bat", "content": "1\n2\n"}))
        .await;
    world
        .said("edit", json!({"path": "b.bat", "old": "", "new": "1\n2\n"}))
        .await;
    let patch =
        "*** Begin Patch\n*** Add File: c.bat\n+1\n+2\n*** Add File: d.sh\n+1\n*** End Patch";
    world.said("apply_patch", json!({"patch": patch})).await;
    for (path, bytes) in [
        ("a.bat", "1\r\n2\r\n"),
        ("b.bat", "1\r\n2\r\n"),
        ("c.bat", "1\r\n2\r\n"),
        ("d.sh", "1\n"),
    ] {
        assert_eq!(world.bytes(path), bytes.as_bytes(), "{path}");
    }
    // And a file that is replaced as a whole keeps what it has.
    world
        .said("write", json!({"path": "a.bat", "content": "3\n"}))
        .await;
    assert_eq!(world.bytes("a.bat"), b"3\r\n");
}

#[tokio::test]
async fn a_made_change_leaves_no_record_in_the_home() {
    let world = Lab::new(&[]);
    let patch = "*** Begin Patch\n*** Add File: a\n+1\n*** Add File: b\n+2\n*** End Patch";
    world.said("apply_patch", json!({"patch": patch})).await;
    let records = fs::read_dir(world.top.join("home/write-sets")).unwrap();
    assert_eq!(records.count(), 0);
}
