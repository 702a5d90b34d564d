use proptest::prelude::*;

use super::*;

/// Applies the only update of a patch.
fn outcome(content: &str, patch: &str) -> String {
    let patch = match Patch::parse(patch) {
        Ok(patch) => patch,
        Err(error) => return error.to_string(),
    };
    let [
        Operation {
            action: Action::Update { hunks, .. },
            ..
        },
    ] = patch.operations.as_slice()
    else {
        return format!("{:?}", patch.operations);
    };
    match apply(content.as_bytes(), hunks) {
        Ok(patched) => String::from_utf8(patched.bytes).unwrap(),
        Err(error) => error.to_string(),
    }
}

fn update(body: &str) -> String {
    format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n")
}

fn check(cases: &[(&str, &str, &str)]) {
    for (content, body, expected) in cases {
        assert_eq!(
            outcome(content, &update(body)),
            *expected,
            "{content:?}\n{body}"
        );
    }
}

#[test]
fn hunks_change_the_lines_they_name() {
    check(&[
        ("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("a\nb\nc\n", " a\n-b\n c\n", "a\nc\n"),
        ("a\nb\n", "@@\n a\n+x\n b\n@@\n b\n+y\n", "a\nx\nb\ny\n"),
        ("a\nb", "@@\n a\n-b\n", "a"),
        (
            "a\nb\nc\nb\n",
            "@@\n a\n+x\n b\n@@\n b\n+y\n c\n",
            "a\nx\nb\ny\nc\nb\n",
        ),
        ("a\n\nc\n", "@@\n a\n\n-c\n+C\n", "a\n\nC\n"),
        // Endings, and a missing one, stay.
        (
            "a\r\nb\r\nc\r\n",
            "@@\n a\n-b\n+B\n+B2\n c\n",
            "a\r\nB\r\nB2\r\nc\r\n",
        ),
        ("a\nb", "@@\n a\n-b\n+B\n", "a\nB"),
        ("a\nb", "@@\n b\n+c\n", "a\nb\nc"),
        ("trail  \nb\n", "@@\n trail\n-b\n+c\n", "trail  \nc\n"),
        ("\tx\n\ty\n", "@@\n     x\n-    y\n+    z\n", "\tx\n\tz\n"),
    ]);
}

#[test]
fn hints_choose_between_places_and_never_replace_a_match() {
    let twice = "fn a() {\n    x\n}\nfn b() {\n    x\n}\n";
    check(&[
        (
            twice,
            "@@ fn b() {\n-    x\n+    y\n",
            "fn a() {\n    x\n}\nfn b() {\n    y\n}\n",
        ),
        (
            twice,
            "@@ fn a() {\n-    x\n+    y\n",
            "fn a() {\n    y\n}\nfn b() {\n    x\n}\n",
        ),
        (
            twice,
            "@@ -5,1 +5,1 @@\n-    x\n+    y\n",
            "fn a() {\n    x\n}\nfn b() {\n    y\n}\n",
        ),
        (
            twice,
            "@@\n-    x\n+    y\n }\n*** End of File\n",
            "fn a() {\n    x\n}\nfn b() {\n    y\n}\n",
        ),
        (
            twice,
            "@@ fn c() {\n-    x\n+    y\n",
            "hunk 1 (line 3 of the patch) fits in 2 places when matched exactly: lines 2, 5\n\
             hint: add context lines, or an `@@` line that names the function around it",
        ),
        // A header that is missing, and a wrong number, are only hints.
        ("a\nb\n", "@@ nowhere\n-b\n+B\n", "a\nB\n"),
        ("a\nb\n", "@@ -90,1 +90,1 @@ fn x\n-b\n+B\n", "a\nB\n"),
        // Out of order.
        ("a\nb\nc\n", "@@\n-c\n+C\n@@\n-a\n+A\n", "A\nb\nC\n"),
        ("x\na\nx\n", "@@\n a\n-x\n+X\n@@\n-x\n+Y\n", "Y\na\nX\n"),
        ("a\nb\n", "@@\n a\n-b\n+B\n*** End of File\n", "a\nB\n"),
        ("a\nb", "@@\n-b\n+B\n*** End of File\n", "a\nB"),
    ]);
}

#[test]
fn added_lines_alone_go_where_they_say_or_to_the_end() {
    check(&[
        ("a\nb\n", "@@\n+c\n", "a\nb\nc\n"),
        ("a\nb", "@@\n+c\n", "a\nb\nc"),
        ("a\r\nb", "@@\n+c\n", "a\r\nb\r\nc"),
        ("", "@@\n+c\n", "c\n"),
        ("a\nb\n", "@@ a\n+x\n", "a\nx\nb\n"),
        ("a\nb\n", "@@ -1,0 +2,1 @@\n+x\n", "a\nx\nb\n"),
        (
            "a\n",
            "@@ zzz\n+x\n",
            "hunk 1 (line 3 of the patch) only adds lines, and `@@ zzz` does not name one line of the file\n\
             hint: add a context line",
        ),
    ]);
}

#[test]
fn a_hunk_that_does_not_fit_shows_the_nearest_lines() {
    check(&[(
        "fn main() {\n    let total = compute();\n}\n",
        "@@\n-    let totals = compute();\n+    x\n",
        "hunk 1 (line 3 of the patch) does not fit: its lines do not stand in the file, also not when white space and quotes are ignored; \
         the most similar places (· is a space, → a tab, ␍ a carriage return):\n\
         line 2: file has `····let·total·=·compute();`\n        \
         `old` has `····let·totals·=·compute();`\n\
         hint: read these lines again; context must be copied from the file",
    )]);
}

#[test]
fn overlapping_hunks_are_refused() {
    assert!(outcome("a\nb\nc\n", &update("@@\n a\n-b\n+x\n@@\n-b\n+y\n c\n")).contains("hunk 2"),);
}

#[test]
fn envelopes_of_all_kinds_are_read() {
    let body = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch";
    let wrapped = [
        body.to_owned(),
        format!("```\n{body}\n```\n"),
        format!("Here is the patch:\n```diff\n{body}\n```\nDone."),
        format!("apply_patch <<'EOF'\n{body}\nEOF\n"),
        format!("bash -lc \"apply_patch <<'PATCH'\n{body}\nPATCH\"\n"),
        body.replace("Begin Patch", "Begin Patch ***")
            .replace("End Patch", "End Patch ***"),
        body.replace("*** Begin Patch\n", "")
            .replace("*** End Patch", ""),
        body.replace('\n', "\r\n"),
        format!("\u{FEFF}{body}"),
        body.replace("*** Update File: f", "*** Update File: `f`"),
    ];
    for patch in wrapped {
        assert_eq!(outcome("a\n", &patch), "b\n", "{patch}");
    }
}

#[test]
fn adds_deletes_and_moves_are_read() {
    let patch = Patch::parse(
        "*** Begin Patch\n*** Add File: new.rs\n+one\n+\n+two\n*** Add File: empty\n*** Delete File: gone.rs\n\
         *** Update File: from.rs\n*** Move to: to.rs\n@@\n-a\n+b\n*** Update File: kept\n*** Move to: moved\n*** End Patch",
    )
    .unwrap();
    let actions: Vec<(&str, String)> = patch
        .operations
        .iter()
        .map(|operation| {
            let action = match &operation.action {
                Action::Add { content, .. } => format!("add {content:?}"),
                Action::Delete { .. } => "delete".to_owned(),
                Action::Update { move_to, hunks } => format!("update {move_to:?} {}", hunks.len()),
            };
            (operation.path.as_str(), action)
        })
        .collect();
    assert_eq!(
        actions,
        [
            ("new.rs", r#"add "one\n\ntwo\n""#.to_owned()),
            ("empty", r#"add """#.to_owned()),
            ("gone.rs", "delete".to_owned()),
            ("from.rs", r#"update Some("to.rs") 1"#.to_owned()),
            ("kept", r#"update Some("moved") 0"#.to_owned()),
        ]
    );
    assert_eq!(
        patch.paths(),
        [
            "new.rs", "empty", "gone.rs", "from.rs", "to.rs", "kept", "moved"
        ]
    );
    assert_eq!(patch.deletions(), 1);
}

#[test]
fn unified_diffs_are_read() {
    assert_eq!(
        outcome(
            "a\nb\nc\n",
            "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
        ),
        "a\nB\nc\n"
    );
    // A removed line that looks like a header is no header inside a hunk.
    assert_eq!(
        outcome(
            "-- x\nb\n",
            "--- a/f\n+++ b/f\n@@ -1,2 +1,1 @@\n--- x\n b\n"
        ),
        "b\n"
    );
    let git = "diff --git a/old.rs b/new.rs\nsimilarity index 90%\nrename from old.rs\nrename to new.rs\n\
               diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
               diff --git a/made b/made\nnew file mode 100644\n--- /dev/null\n+++ b/made\n@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n";
    let patch = Patch::parse(git).unwrap();
    let shown: Vec<String> = patch
        .operations
        .iter()
        .map(|operation| format!("{} {:?}", operation.path, operation.action))
        .collect();
    assert_eq!(
        shown,
        [
            r#"old.rs Update { move_to: Some("new.rs"), hunks: [] }"#,
            r#"gone Delete { hunks: [Hunk { line: 9, headers: [], old_start: Some(1), lines: [Remove("x")], at_end: false, old_ends_bare: false, new_ends_bare: false }] }"#,
            r#"made Add { content: "1\n2", executable: false }"#,
        ]
    );
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    let cases = [
        (
            "",
            "line 1 of the patch: expected at least one file to add, update or delete, received `an empty line`",
        ),
        (
            "*** Begin Patch\n*** Add File: a\nno plus\n*** End Patch",
            "line 3 of the patch: expected a line that begins with `+`, `*** Add File: PATH`, `*** Update File: PATH`, \
             `*** Delete File: PATH` or `*** End Patch`, received `no plus`",
        ),
        (
            "*** Begin Patch\n*** Update File: a\nno mark\n*** End Patch",
            "line 3 of the patch: expected a line that begins with ` `, `+`, `-` or `@@`, or a `*** …` marker, received `no mark`",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "line 2 of the patch: expected at least one line with `+` or `-` for this file, received `*** Update File: a`",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** Add File: a\n+x\n*** End Patch",
            "line 3 of the patch: expected each file once, with all its hunks together, received `a`",
        ),
        (
            "*** Begin Patch\n*** Delete File:\n*** End Patch",
            "line 2 of the patch: expected a path after the colon, received `*** Delete File:`",
        ),
        (
            "please change it",
            "line 1 of the patch: expected `*** Begin Patch`, then `*** Add File: PATH`, `*** Update File: PATH`, \
             `*** Delete File: PATH` or `*** End Patch`; or a unified diff that begins with `--- PATH`, received `please change it`",
        ),
    ];
    for (patch, expected) in cases {
        assert_eq!(
            Patch::parse(patch).unwrap_err().to_string(),
            expected,
            "{patch}"
        );
    }
}

fn patch_line() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "*** Begin Patch",
        "*** End Patch",
        "*** Update File: f",
        "*** Add File: g",
        "*** Delete File: h",
        "*** Move to: m",
        "*** End of File",
        "@@",
        "@@ a",
        "@@ -1,2 +1,2 @@ x",
        "--- a/f",
        "+++ b/f",
        "--- /dev/null",
        "diff --git a/f b/f",
        "rename to z",
        "```",
        "\\ No newline at end of file",
    ]);
    prop_oneof![
        known.prop_map(str::to_owned),
        prop::sample::select(vec![" a", "-a", "+b", " b", "-", "+", "", "a"])
            .prop_map(str::to_owned),
        any::<String>(),
    ]
}

/// A file with distinct lines and what becomes of each: kept, removed, replaced, or followed by a new one.
fn changes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0u8..4, 1..30)
}

#[test]
fn a_blank_context_line_at_the_end_of_a_diff_belongs_to_it() {
    for envelope in ["", "\n\n", "```\n", "\nEOF\n"] {
        let patch = format!("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n+x\n \n{envelope}");
        assert_eq!(outcome("\n", &patch), "x\n\n", "{patch}");
    }
    // More of them than the header announces are the envelope's.
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+x\n  \n \n";
    assert_eq!(outcome("a\nb\n", patch), "x\nb\n");
}

proptest! {
    #[test]
    fn no_patch_panics_or_changes_more_than_its_places(lines in prop::collection::vec(patch_line(), 0..14), content: Vec<u8>) {
        if let Ok(patch) = Patch::parse(&lines.join("\n")) {
            for operation in &patch.operations {
                let Action::Update { hunks, .. } = &operation.action else { continue };
                for file in [content.as_slice(), b"a\nb\r\na\n"] {
                    let Ok(patched) = apply(file, hunks) else { continue };
                    // Every byte outside the changed places stays.
                    let (mut before, mut after) = (0, 0);
                    for place in &patched.places {
                        prop_assert_eq!(&file[before..place.old.start], &patched.bytes[after..place.new.start]);
                        before = place.old.end;
                        after = place.new.end;
                    }
                    prop_assert_eq!(&file[before..], &patched.bytes[after..]);
                }
            }
        }
    }

    #[test]
    fn a_diff_applies_and_its_reverse_undoes_it(
        changes in changes(), crlf: bool, ends: [bool; 2], odd: bool,
    ) {
        let ending = if crlf { "\r\n" } else { "\n" };
        // A file without any line ending has none that a new line could take: that is left out below.
        let (mut old, mut new) = (format!("start{ending}"), format!("start{ending}"));
        for (nth, change) in changes.iter().enumerate() {
            old.push_str(&format!("line {nth}{ending}"));
            if *change != 1 {
                new.push_str(&format!("{} {nth}{ending}", if *change == 2 { "LINE" } else { "line" }));
            }
            if *change == 3 {
                new.push_str(&format!("added {nth}{ending}"));
            }
        }
        if odd {
            for text in [&mut old, &mut new] {
                text.push_str(&format!("the end{ending}"));
            }
        }
        for (text, has_final_newline) in [&mut old, &mut new].into_iter().zip(ends) {
            if !has_final_newline {
                text.truncate(text.len() - ending.len());
            }
        }
        let has_no_ending = |text: &str| !text.contains('\n');
        if old == new || has_no_ending(&old) || has_no_ending(&new) {
            return Ok(());
        }
        let there = crate::diff::unified("f", Some(old.as_bytes()), Some(new.as_bytes()));
        let back = crate::diff::unified("f", Some(new.as_bytes()), Some(old.as_bytes()));
        prop_assert_eq!(&outcome(&old, &there), &new, "{}", there);
        prop_assert_eq!(&outcome(&new, &back), &old, "{}", back);
    }
}

#[test]
fn a_line_that_begins_with_a_backslash_is_a_remark_on_the_file_s_end_or_nothing() {
    for patch in [
        "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n\\n* Add File: b\n*** End Patch\n",
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n\\stray\n+2\n",
    ] {
        let error = Patch::parse(patch).unwrap_err().to_string();
        assert!(error.contains("a line that begins with"), "{error}");
    }
    let remark = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n\\ No newline at end of file\n";
    assert!(Patch::parse(remark).is_ok());
}
