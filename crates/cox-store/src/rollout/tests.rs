use std::{process::Command, sync::Arc};

use cox_protocol::{Item, Level, StopReason};
use proptest::prelude::*;

use super::*;

fn clock() -> Clock {
    Arc::new(|| "2026-03-04T05:06:07.089Z".parse().unwrap())
}

fn home(folder: &tempfile::TempDir) -> Home {
    Home::new(folder.path().join("home"))
}

fn notice(text: &str) -> Event {
    Event::Notice {
        level: Level::Info,
        text: text.into(),
    }
}

fn started(session: SessionId, cwd: &str) -> Event {
    let event = serde_json::json!({
        "type": "session_started", "session": session, "version": "0.1.0", "cwd": cwd, "roots": [cwd],
        "provider": "local", "model": "small", "mode": "default", "policy": "on-request",
        "sandbox": "workspace-write", "resumed": false,
    });
    serde_json::from_value(event).unwrap()
}

fn events(replay: &Replay) -> Vec<Event> {
    replay
        .events
        .iter()
        .map(|stored| stored.event.clone())
        .collect()
}

/// Puts `text` where the rollout of a new session would be.
fn planted(home: &Home, text: &str) -> SessionId {
    let session = SessionId::generate();
    private_dir(&home.sessions_dir()).unwrap();
    fs::write(home.rollout_path(session), text).unwrap();
    session
}

#[test]
fn a_line_has_its_documented_shape() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let session = SessionId::generate();
    let mut rollout = Rollout::create(&home, session, clock()).unwrap();
    assert_eq!(rollout.append(&notice("a\u{2028}b\u{2029}\nc")).unwrap(), 1);
    assert_eq!(
        fs::read_to_string(home.rollout_path(session)).unwrap(),
        "{\"v\":1,\"seq\":1,\"ts\":\"2026-03-04T05:06:07.089Z\",\"event\":\
         {\"type\":\"notice\",\"level\":\"info\",\"text\":\"a\\u2028b\\u2029\\nc\"}}\n"
    );
    let replay = Rollout::read(&home, session).unwrap();
    assert_eq!(events(&replay), [notice("a\u{2028}b\u{2029}\nc")]);
    assert_eq!(replay.events[0].ts, clock()());
}

#[test]
fn a_resumed_session_goes_on_counting() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let session = SessionId::generate();
    let mut rollout = Rollout::create(&home, session, clock()).unwrap();
    rollout.append(&notice("one")).unwrap();
    rollout.sync().unwrap();
    drop(rollout);
    let (mut rollout, replay) = Rollout::resume(&home, session, clock()).unwrap();
    assert_eq!(events(&replay), [notice("one")]);
    assert_eq!(rollout.append(&notice("two")).unwrap(), 2);
    drop(rollout);
    assert_eq!(
        events(&Rollout::read(&home, session).unwrap()),
        [notice("one"), notice("two")]
    );
}

#[test]
fn a_second_writer_is_refused_while_the_first_lives() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let session = SessionId::generate();
    let first = Rollout::create(&home, session, clock()).unwrap();
    assert!(matches!(
        Rollout::resume(&home, session, clock()),
        Err(StoreError::Locked { session: named }) if named == session
    ));
    drop(first);
    Rollout::resume(&home, session, clock()).unwrap();
}

#[test]
fn a_session_that_exists_is_not_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let session = SessionId::generate();
    drop(Rollout::create(&home, session, clock()).unwrap());
    assert!(matches!(
        Rollout::create(&home, session, clock()),
        Err(StoreError::Io { .. })
    ));
}

#[test]
fn an_unknown_session_is_said_to_be_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let session = SessionId::generate();
    let unknown =
        |error| matches!(error, StoreError::NotFound(text) if text.contains(&session.to_string()));
    assert!(unknown(Rollout::read(&home(&folder), session).unwrap_err()));
    assert!(unknown(
        Rollout::resume(&home(&folder), session, clock()).unwrap_err()
    ));
    assert!(!home(&folder).root.exists());
}

#[test]
fn bad_lines_are_skipped_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let line = |v: u64, seq: u64, event: &str| {
        format!(
            "{{\"v\":{v},\"seq\":{seq},\"ts\":\"2026-03-04T05:06:07.089Z\",\"event\":{event}}}\n"
        )
    };
    let note =
        |text: &str| format!("{{\"type\":\"notice\",\"level\":\"info\",\"text\":\"{text}\"}}");
    let text = [
        line(1, 1, &note("one")),
        line(1, 1, &note("one")),
        "\n".to_owned(),
        "nonsense\n".to_owned(),
        line(1, 3, "{\"type\":\"from_the_future\",\"x\":1}"),
        line(2, 4, "[\"another shape\"]"),
        "{\"v\":9}\n".to_owned(),
        line(1, 7, &note("seven")),
        line(1, 6, &note("late")),
        line(1, 7, &note("other")),
        "\0\0\0\0\n".to_owned(),
        line(1, 8, &note("eight"))[..40].to_owned(),
    ]
    .concat();
    let session = planted(&home, &text);
    let (mut rollout, replay) = Rollout::resume(&home, session, clock()).unwrap();
    assert_eq!(events(&replay), [notice("one"), notice("seven")]);
    let skipped: Vec<_> = replay
        .skipped
        .iter()
        .map(|skipped| (skipped.line, skipped.why.split([':', ',']).next().unwrap()))
        .collect();
    assert_eq!(
        skipped,
        [
            (2, "doubled"),
            (4, "not a line of a rollout"),
            (5, "an event this version does not know"),
            (6, "written in version 2 of the format"),
            (7, "written in version 9 of the format"),
            (9, "out of order"),
            (10, "out of order"),
            (11, "not a line of a rollout"),
            (12, "torn"),
        ]
    );
    assert_eq!(rollout.append(&notice("eight")).unwrap(), 8);
    drop(rollout);
    let again = Rollout::read(&home, session).unwrap();
    assert_eq!(
        events(&again),
        [notice("one"), notice("seven"), notice("eight")]
    );
    assert_eq!(again.skipped.len(), 9);
}

#[test]
fn a_whole_line_without_its_break_is_an_event_before_and_after_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let line = to_line(1, clock()(), &notice("one"), false).unwrap();
    let session = planted(&home, line.trim_end());
    let (mut rollout, replay) = Rollout::resume(&home, session, clock()).unwrap();
    assert_eq!(events(&replay), [notice("one")]);
    rollout.append(&notice("two")).unwrap();
    drop(rollout);
    let again = Rollout::read(&home, session).unwrap();
    assert_eq!(events(&again), [notice("one"), notice("two")]);
    assert_eq!(again.skipped, []);
}

#[test]
fn the_latest_session_of_a_folder_is_the_one_last_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    assert_eq!(latest_for(&home, Path::new("/a")).unwrap(), None);
    let begin = |cwd: &str, ms| {
        let session = SessionId::from_parts(ms, 7);
        Rollout::create(&home, session, clock())
            .unwrap()
            .append(&started(session, cwd))
            .unwrap();
        let second = std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms);
        let file = File::options()
            .append(true)
            .open(home.rollout_path(session))
            .unwrap();
        file.set_modified(second).unwrap();
        session
    };
    let old = begin("/a", 1000);
    let new = begin("/a", 2000);
    let elsewhere = begin("/b", 3000);
    planted(&home, "{\"torn");
    assert_eq!(latest_for(&home, Path::new("/a")).unwrap(), Some(new));
    assert_eq!(latest_for(&home, Path::new("/b")).unwrap(), Some(elsewhere));
    assert_eq!(latest_for(&home, Path::new("/c")).unwrap(), None);
    let (mut rollout, _) = Rollout::resume(&home, old, clock()).unwrap();
    rollout.append(&notice("more")).unwrap();
    assert_eq!(latest_for(&home, Path::new("/a")).unwrap(), Some(old));
    assert_eq!(list_ids(&home).unwrap().len(), 4);
}

#[test]
fn a_damaged_number_does_not_make_the_rest_a_past() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let line = |v: u64, seq: u64, text: &str| {
        let event = format!("{{\"type\":\"notice\",\"level\":\"info\",\"text\":\"{text}\"}}");
        format!(
            "{{\"v\":{v},\"seq\":{seq},\"ts\":\"2026-03-04T05:06:07.089Z\",\"event\":{event}}}\n"
        )
    };
    let text = [
        line(1, 1, "one"),
        line(1, u64::MAX, "damaged"),
        line(2, u64::MAX, "damaged"),
        line(1, 4, "four"),
    ]
    .concat();
    let session = planted(&home, &text);
    let (mut rollout, replay) = Rollout::resume(&home, session, clock()).unwrap();
    assert_eq!(events(&replay), [notice("one"), notice("four")]);
    let skipped: Vec<_> = replay.skipped.iter().map(|skipped| skipped.line).collect();
    assert_eq!(skipped, [2, 3]);
    assert_eq!(rollout.append(&notice("five")).unwrap(), 5);
}

#[test]
fn a_session_whose_first_line_is_damaged_is_found_by_what_a_later_process_said() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let session = SessionId::generate();
    let mut rollout = Rollout::create(&home, session, clock()).unwrap();
    rollout.append(&started(session, "/a")).unwrap();
    rollout.append(&started(session, "/a")).unwrap();
    drop(rollout);
    let path = home.rollout_path(session);
    let damaged = fs::read_to_string(&path).unwrap().replacen('{', "", 1);
    fs::write(&path, damaged).unwrap();
    assert_eq!(latest_for(&home, Path::new("/a")).unwrap(), Some(session));
}

const FULL_DISK: &str = "COX_STORE_TEST_FULL_DISK";

/// Runs this very test again in a process whose files may not grow over a limit.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_half_line_and_says_so() {
    if std::env::var_os(FULL_DISK).is_none() {
        let me = std::env::current_exe().unwrap();
        let output = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
            .arg(me)
            .args([
                "--exact",
                "rollout::tests::a_full_disk_leaves_no_half_line_and_says_so",
            ])
            .env(FULL_DISK, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder);
    let session = SessionId::generate();
    let mut rollout = Rollout::create(&home, session, clock()).unwrap();
    let mut written = 0;
    let error = loop {
        match rollout.append(&notice(&"x".repeat(1000))) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(written > 0);
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    assert!(
        error.to_string().contains("\nhint: free some space"),
        "{error}"
    );
    let replay = Rollout::read(&home, session).unwrap();
    assert_eq!((replay.events.len(), replay.skipped.len()), (written, 0));
    rollout.append(&notice("short")).unwrap();
    drop(rollout);
    let replay = Rollout::read(&home, session).unwrap();
    assert_eq!(
        (replay.events.len(), replay.skipped.len()),
        (written + 1, 0)
    );

    let archive = crate::Archive::new(home.clone());
    archive.put(&vec![b'x'; 200_000]).unwrap_err();
    archive.put(&vec![b'x'; 20_000]).unwrap_err();
    assert_eq!(fs::read_dir(home.archive_dir()).unwrap().count(), 0);
    archive.put(b"small").unwrap();
}

fn any_event() -> impl Strategy<Value = Event> {
    let text = "[a-zé\u{2028}\"\\\\\n😀]{0,30}";
    prop_oneof![
        text.prop_map(|text| notice(&text)),
        text.prop_map(|text| Event::TextDelta { text: text.into() }),
        text.prop_map(|text| Event::ItemAdded {
            item: Item::User {
                context: vec![text.clone()],
                text,
                images: Vec::new()
            }
        }),
        (1..9u32).prop_map(|turn| Event::TurnDone {
            turn,
            stop: StopReason::EndTurn
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_prefix_of_a_rollout_reads_back_as_a_prefix_of_its_events(
        written in proptest::collection::vec(any_event(), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        for (at, event) in written.iter().enumerate() {
            bytes.extend(to_line(at as u64 + 1, clock()(), event, false).unwrap().into_bytes());
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let whole_lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        let replay = read_from(&bytes[..]).unwrap().replay;
        let read = events(&replay);
        prop_assert!(read.len() >= whole_lines);
        prop_assert_eq!(&read[..], &written[..read.len()]);
        prop_assert!(replay.skipped.len() <= 1);

        let folder = tempfile::tempdir().unwrap();
        let home = home(&folder);
        private_dir(&home.sessions_dir()).unwrap();
        let session = SessionId::generate();
        fs::write(home.rollout_path(session), &bytes).unwrap();
        let (mut rollout, _) = Rollout::resume(&home, session, clock()).unwrap();
        rollout.append(&notice("after")).unwrap();
        drop(rollout);
        let again = Rollout::read(&home, session).unwrap();
        prop_assert_eq!(events(&again), [&read[..], &[notice("after")]].concat());
    }
}
