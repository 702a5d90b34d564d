use super::*;

#[test]
fn ranges_are_read_as_people_write_them() {
    for (text, expected) in [
        ("120-180", Some((120, 180))),
        (" 5 - 7 ", Some((5, 7))),
        ("7-5", Some((5, 7))),
        ("9", Some((9, 9))),
        ("9-", Some((9, u64::MAX))),
        ("L3:L4", Some((3, 4))),
        ("0-3", None),
        ("-3", None),
        ("", None),
        ("a-b", None),
        ("99999999999999999999-1", None),
    ] {
        assert_eq!(range(text), expected, "{text:?}");
    }
}

#[derive(Default)]
struct Taken(std::sync::Mutex<Vec<u8>>);

impl OutputSink for Taken {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }
}

#[test]
fn an_output_is_copied_whole_or_in_rows() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(cox_store::Home::new(folder.path().join("home")));
    let id = archive.put(b"one\ntwo\nthree\n").unwrap();
    let check = |lines, expected: &str, beyond| {
        let output = Arc::new(Taken::default());
        let mut sink = Sink {
            output: output.clone(),
            cancel: CancellationToken::new(),
        };
        assert_eq!(
            copy(&archive, Wanted { id, lines }, &mut sink).unwrap(),
            beyond
        );
        assert_eq!(
            String::from_utf8(output.0.lock().unwrap().clone()).unwrap(),
            expected
        );
    };
    check(None, "one\ntwo\nthree\n", None);
    check(Some((2, 3)), "2\ttwo\n3\tthree\n", None);
    check(Some((3, u64::MAX)), "3\tthree\n", None);
    check(Some((4, 9)), "", Some(3));
}

#[test]
fn a_cancelled_call_stops_reading() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(cox_store::Home::new(folder.path().join("home")));
    let id = archive.put(b"one\n").unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut sink = Sink {
        output: Arc::new(Taken::default()),
        cancel,
    };
    copy(&archive, Wanted { id, lines: None }, &mut sink).unwrap_err();
}

#[test]
fn bad_ids_say_what_an_id_looks_like() {
    let error = Expand::new()
        .read(&json!({ "id": "nope" }))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "bad arguments for `expand`: `id` is `nope`, expected the 26 letters and digits that an `expand` pointer names"
    );
    let id = ArchiveId::generate();
    let wanted = Expand::new().read(&json!({ "id": id.to_string().to_lowercase(), "lines": 4 }));
    assert_eq!(
        wanted.unwrap(),
        Wanted {
            id,
            lines: Some((4, 4))
        }
    );
    Expand::new()
        .read(&json!({ "id": id, "lines": "x" }))
        .unwrap_err();
}
