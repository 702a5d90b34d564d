//! A change of files that was cut off: told, finished, undone, and refused when somebody changed a file since.

mod killed;

use std::fs;

use serde_json::json;

use crate::harness::Cox;

const SET: &str = "01ARZ3NDEKTSV4RRFFQ69G5FA0";
const OLD_A: &str = "01ARZ3NDEKTSV4RRFFQ69G5FA1";
const OLD_B: &str = "01ARZ3NDEKTSV4RRFFQ69G5FA2";
const BESIDE_A: &str = ".cox-0000000000000000000000000000000a.tmp";
const BESIDE_B: &str = ".cox-0000000000000000000000000000000b.tmp";

/// Two files of a change that was killed between them: `a` is new with the old one beside it, `b` is old with the new
/// one beside it.
fn cut_off() -> Cox {
    let cox = Cox::new();
    cox.work.write("a", "new a\n");
    cox.work.write(BESIDE_A, "old a\n");
    cox.work.write("b", "old b\n");
    cox.work.write(BESIDE_B, "new b\n");
    cox.home.write(&format!(".cox/archive/{OLD_A}"), "old a\n");
    cox.home.write(&format!(".cox/archive/{OLD_B}"), "old b\n");
    let root = cox.work.path().canonicalize().unwrap();
    // The digests of `old a`, `new a`, `old b` and `new b`, each with a line break.
    let record = json!({"v": 1, "folders": [], "files": [
        {"root": root, "path": "a", "act": "change", "beside": BESIDE_A, "old": OLD_A, "new": null, "mode": 420,
         "before": "c8518d7e574626e44644fb5dd1348aec70ed95b22336992a981336f5a0c69be3",
         "after": "77981ea7ac834d42c8597b6879cf9e934679a54e817b2cd2ef461160026d7714"},
        {"root": root, "path": "b", "act": "change", "beside": BESIDE_B, "old": OLD_B, "new": null, "mode": 420,
         "before": "4a817ab691a5a179b5becbaa44b5f7046ab58a8d6e2daba2737392c767591d80",
         "after": "ab1a29c10ccb9ceec5a9e4453f1aaf261b81869eaadbf3426e378a99347b08af"},
    ]});
    cox.home
        .write(&format!(".cox/write-sets/{SET}.json"), record.to_string());
    cox
}

/// The files of the working folder that are not of git.
fn files(cox: &Cox) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(cox.work.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn strings(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn a_change_that_was_cut_off_is_told_and_finished_or_undone() {
    for (way, a, b, done) in [
        ("--finish-write-set", "new a\n", "new b\n", "finished"),
        ("--undo-write-set", "old a\n", "old b\n", "undone"),
        ("--forget-write-set", "new a\n", "old b\n", "forgotten"),
    ] {
        let cox = cut_off();
        let told = cox.run(&["doctor", "--json"]).json();
        let check = told["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["name"] == "unfinished changes")
            .unwrap()
            .clone();
        assert_eq!(check["state"], "warning");
        assert_eq!(
            check["detail"],
            format!(
                "{SET}: 1 of 2 file(s) were changed\n  new             [work]/a\n  old             [work]/b\n\
                 decide: `cox doctor --finish-write-set {SET}`, or `cox doctor --undo-write-set {SET}`, or `cox doctor --forget-write-set {SET}`"
            )
        );
        let sessions = cox.run(&["sessions"]);
        assert!(
            sessions.stderr.contains("a change of files was cut off"),
            "{sessions}"
        );
        let ran = cox.run(&["doctor", way, SET]);
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(
            ran.stdout,
            format!("{done}: the change {SET} of 2 file(s)\n")
        );
        assert_eq!(files(&cox), strings(&[("a", a), ("b", b)]), "{way}");
        let again = cox.run(&["doctor", way, SET]);
        assert_eq!(again.code, 1, "{again}");
        assert!(again.stderr.contains("no unfinished change"), "{again}");
    }
}

#[test]
fn a_file_that_was_changed_since_is_not_touched() {
    let cox = cut_off();
    cox.work.write("a", "mine\n");
    let ran = cox.run(&["doctor", "--undo-write-set", SET]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr,
        format!(
            "error: changed since by somebody else: `[work]/a`; nothing was done\n\
             hint: `cox expand {OLD_A}` prints what `[work]/a` held before the change\n\
             hint: `cox doctor --undo-write-set {SET} --skip-changed` does the other files and leaves these as they are\n\
             hint: `cox doctor --forget-write-set {SET}` leaves every file as it is\n"
        )
    );
    assert_eq!(
        files(&cox).iter().find(|(name, _)| name == "a").unwrap().1,
        "mine\n"
    );
    // Finishing needs nothing of that file any more.
    assert_eq!(cox.run(&["doctor", "--finish-write-set", SET]).code, 0);
    assert_eq!(files(&cox), strings(&[("a", "mine\n"), ("b", "new b\n")]));
}

#[test]
fn a_file_that_was_changed_since_is_skipped_when_that_is_asked_for() {
    let cox = cut_off();
    cox.work.write("b", "mine\n");
    assert_eq!(cox.run(&["doctor", "--finish-write-set", SET]).code, 1);
    let ran = cox.run(&["doctor", "--finish-write-set", SET, "--skip-changed"]);
    assert_eq!(ran.code, 0, "{ran}");
    let (told, after) = ran
        .stdout
        .trim_end()
        .rsplit_once("; after it: `cox expand ")
        .unwrap();
    assert_eq!(
        told,
        format!(
            "finished: the change {SET} of 2 file(s)\nleft as it is: `[work]/b`; before the change: `cox expand {OLD_B}`"
        )
    );
    assert_eq!(files(&cox), strings(&[("a", "new a\n"), ("b", "mine\n")]));
    let expanded = cox.run(&["expand", after.trim_end_matches('`')]);
    assert_eq!(expanded.stdout, "new b\n", "{expanded}");
}

#[test]
fn what_needs_no_decision_is_tidied_up() {
    let cox = cut_off();
    cox.work.write("a", "old a\n");
    cox.work.write(BESIDE_A, "new a\n");
    let sessions = cox.run(&["sessions"]);
    assert!(!sessions.stderr.contains("cut off"), "{sessions}");
    assert_eq!(files(&cox), strings(&[("a", "old a\n"), ("b", "old b\n")]));
    assert!(
        !cox.home
            .path()
            .join(format!(".cox/write-sets/{SET}.json"))
            .exists()
    );
}
