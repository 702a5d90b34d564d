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

fn patch(lines: &[&str]) -> Value {
    json!({"patch": lines.join("\n")})
}

#[cfg(unix)]
#[tokio::test]
async fn a_moved_program_is_still_one_and_a_new_one_becomes_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let lab = Lab::new(&[("run", b"old\n"), ("private", b"key\n")]);
    let mode = |path: &str| fs::metadata(lab.path(path)).unwrap().permissions().mode() & 0o7777;
    for (path, mode) in [("run", 0o754), ("private", 0o600)] {
        fs::set_permissions(lab.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let moves = [
        "*** Begin Patch",
        "*** Update File: run",
        "*** Move to: bin/run",
        "-old",
        "+new",
        "*** Update File: private",
        "*** Move to: hidden",
        "*** End Patch",
    ];
    lab.call("apply_patch", patch(&moves)).await.unwrap();
    assert_eq!((mode("bin/run"), mode("hidden")), (0o754, 0o600));
    let made = [
        "diff --git a/tool b/tool",
        "new file mode 100755",
        "--- /dev/null",
        "+++ b/tool",
        "@@ -0,0 +1 @@",
        "+#!/bin/sh",
    ];
    lab.call("apply_patch", patch(&made)).await.unwrap();
    assert_eq!(mode("tool") & 0o100, 0o100);
}

#[tokio::test]
async fn a_link_is_not_a_way_to_take_a_file_away() {
    let lab = Lab::new(&[("real", b"text\n")]);
    symlink("real", lab.path("link")).unwrap();
    for tail in [
        &["*** Delete File: link"] as &[&str],
        &["*** Update File: link", "*** Move to: other"],
    ] {
        let said = lab
            .said(
                "apply_patch",
                patch(&[&["*** Begin Patch"], tail, &["*** End Patch"]].concat()),
            )
            .await;
        assert_eq!(
            said,
            "error: `link` is a symbolic link to `real`, and that file would be gone; nothing was written\n\
             hint: name `real`, or remove the link with `bash`"
        );
    }
    assert_eq!(lab.bytes("real"), b"text\n");
    assert!(!lab.path("other").exists());
}

#[tokio::test]
async fn a_diff_deletes_only_the_lines_that_it_names() {
    let lab = Lab::new(&[("a", b"1\n2\n")]);
    let delete = |lines: &[&str]| {
        let counts = format!("@@ -1,{} +0,0 @@", lines.len());
        patch(&[&["--- a/a", "+++ /dev/null", counts.as_str()], lines].concat())
    };
    let said = lab.said("apply_patch", delete(&["-1"])).await;
    assert!(
        said.contains("which holds more than the lines it takes away (2 bytes left)"),
        "{said}"
    );
    let said = lab.said("apply_patch", delete(&["-1", "-other"])).await;
    assert!(said.starts_with("error: `a`: "), "{said}");
    assert_eq!(lab.bytes("a"), b"1\n2\n");
    lab.call("apply_patch", delete(&["-1", "-2"]))
        .await
        .unwrap();
    assert!(!lab.path("a").exists());
}

#[test]
fn nobody_is_asked_about_a_patch_that_cannot_be_read() {
    let lab = Lab::new(&[]);
    let cx = SubjectCx {
        roots: Arc::clone(lab.cx.workspace.roots()),
    };
    let error = Lab::tool("apply_patch")
        .subject(&json!({"patch": "please"}), &cx)
        .unwrap_err();
    assert!(matches!(error, ToolError::BadInput { .. }), "{error}");
}

#[tokio::test]
async fn a_latin_file_takes_new_text_in_its_own_encoding_and_the_answer_says_so() {
    let world = Lab::new(&[("a", b"caf\xE9 au lait\n"), ("b", b"\x8F\xF0\xEF x\n")]);
    let said = world
        .said(
            "edit",
            json!({"path": "a", "old": "café", "new": "thé, thé"}),
        )
        .await;
    let note =
        "note: the file is not UTF-8 and looks like Windows-1252; the new text was written in that";
    assert_eq!(said, format!("edited `a` at line 1\n{note}"));
    assert_eq!(world.bytes("a"), b"th\xE9, th\xE9 au lait\n");
    let patch =
        "*** Begin Patch\n*** Update File: a\n thé, thé au lait\n+à la crème\n*** End Patch";
    let said = world.said("apply_patch", json!({"patch": patch})).await;
    assert_eq!(said, format!("M a\n  {note}"));
    assert_eq!(
        world.bytes("a"),
        b"th\xE9, th\xE9 au lait\n\xE0 la cr\xE8me\n"
    );
    for (path, old, why) in [
        ("a", "lait", "looks like Windows-1252, which has no `日`"),
        ("b", "x", "its encoding cannot be told, so `日`"),
    ] {
        let before = world.bytes(path);
        let said = world
            .said("edit", json!({"path": path, "old": old, "new": "日"}))
            .await;
        assert!(said.contains(why), "{said}");
        assert_eq!(world.bytes(path), before);
    }
}

#[tokio::test]
async fn places_in_one_line_are_told_once() {
    let world = Lab::new(&[("a", b"x x\nx\n")]);
    let edit = |all: bool| json!({"path": "a", "old": "x", "new": "y", "replace_all": all});
    let said = world.said("edit", edit(false)).await;
    assert!(
        said.contains("in 3 places when matched exactly: lines 1 (twice), 2\n"),
        "{said}"
    );
    let said = world.said("edit", edit(true)).await;
    assert_eq!(said, "edited `a` in 3 places: lines 1 (twice), 2");
}
