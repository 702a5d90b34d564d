use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::prelude::*;

use super::*;

struct Bench {
    _home: testkit::TempHome,
    state: StateDir,
    results: Results,
    second: Arc<AtomicI64>,
}

fn bench(max_bytes: u64) -> Bench {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    let second = Arc::new(AtomicI64::new(0));
    let clock_second = Arc::clone(&second);
    let clock: Clock = Arc::new(move || {
        Timestamp::from_second(1_790_000_000 + clock_second.load(Ordering::Relaxed)).unwrap()
    });
    let limits = ResultLimits {
        max_bytes,
        max_age: SignedDuration::from_secs(100),
    };
    Bench {
        results: Results::open(&state, limits, clock).unwrap(),
        _home: home,
        state,
        second,
    }
}

#[test]
fn a_result_is_read_in_pieces_that_make_the_whole() {
    let bench = bench(1 << 20);
    let text = "aé漢🦀".repeat(50);
    let handle = bench
        .results
        .keep(text.as_bytes(), Kind::Text, "demo.big")
        .unwrap();
    assert_eq!((handle.total, handle.kind), (text.len() as u64, Kind::Text));
    assert_eq!(handle.id.len(), 4 + 32);
    assert_eq!(bench.results.handle(&handle.id).unwrap(), handle);
    for length in [0, 1, 2, 3, 4, 5, 7, 100, 10_000] {
        let (mut all, mut next) = (String::new(), Some(0));
        while let Some(offset) = next {
            let piece = bench.results.read(&handle.id, offset, length).unwrap();
            assert_eq!((piece.offset, piece.total), (offset, handle.total));
            assert!(piece.text.as_ref().unwrap().len() <= length.max(4));
            all += &piece.text.unwrap();
            next = piece.next;
        }
        assert_eq!(all, text, "{length}");
    }
}

#[test]
fn a_piece_that_begins_within_a_character_begins_with_the_whole_one() {
    let bench = bench(1 << 20);
    let handle = bench
        .results
        .keep("a🦀b".as_bytes(), Kind::Text, "x")
        .unwrap();
    for offset in 1..5 {
        let piece = bench.results.read(&handle.id, offset, 1).unwrap();
        assert_eq!(
            (piece.text.as_deref(), piece.offset, piece.next),
            (Some("🦀"), 1, Some(5))
        );
    }
    let end = bench.results.read(&handle.id, 6, 10).unwrap();
    assert_eq!((end.text.as_deref(), end.next), (Some(""), None));
    let error = bench.results.read(&handle.id, 7, 10).unwrap_err();
    assert_eq!(
        error.to_string(),
        "offset 7 is behind the end, there are 6 bytes"
    );
}

#[test]
fn bytes_that_are_no_text_come_as_base64_whatever_they_were_said_to_be() {
    let bench = bench(1 << 20);
    let bytes: Vec<u8> = (0..=255).collect();
    let handle = bench.results.keep(&bytes, Kind::Text, "x").unwrap();
    assert_eq!(handle.kind, Kind::Binary);
    let first = bench.results.read(&handle.id, 0, 200).unwrap();
    let second = bench
        .results
        .read(&handle.id, first.next.unwrap(), 200)
        .unwrap();
    assert_eq!((first.text, second.next), (None, None));
    let mut all = STANDARD.decode(first.base64.unwrap()).unwrap();
    all.extend(STANDARD.decode(second.base64.unwrap()).unwrap());
    assert_eq!(all, bytes);
}

#[test]
fn a_pointer_selects_a_value_as_it_is_spelled() {
    let bench = bench(1 << 20);
    let json = r#"{"content":[{"type":"text","text":"h\u00e9llo"},{"n":1.0}],"a/b":{"~":2},"":3,"x":1,"x":[ 1 ]}"#;
    let handle = bench
        .results
        .keep(json.as_bytes(), Kind::Json, "x")
        .unwrap();
    let select = |pointer: &str| bench.results.select(&handle.id, pointer, 0, 1_000);
    for (pointer, expected) in [
        ("", json),
        ("/content/0/text", "héllo"),
        ("/content/1", r#"{"n":1.0}"#),
        ("/a~1b/~0", "2"),
        ("/", "3"),
        ("/x/0", "1"),
    ] {
        assert_eq!(
            select(pointer).unwrap().text.as_deref(),
            Some(expected),
            "{pointer}"
        );
    }
    for (pointer, expected) in [
        (
            "/nope",
            "`` has no member `nope`: it has `content`, `a/b`, ``, `x`, `x`",
        ),
        (
            "/content/2",
            "`/content` has no element `2`: it has 2, counted from 0",
        ),
        ("/content/01", "`/content` has no element `01`"),
        ("/content/-", "`/content` has no element `-`"),
        (
            "/content/0/text/1",
            "`/content/0/text` is a string, which has no parts",
        ),
        ("content", "`content` is no JSON pointer"),
        ("/~2", "`/~2` is no JSON pointer"),
    ] {
        let error = select(pointer).unwrap_err().to_string();
        assert!(error.contains(expected), "{pointer}: {error}");
    }
    let piece = bench
        .results
        .select(&handle.id, "/content/0/text", 1, 2)
        .unwrap();
    assert_eq!(
        (piece.text.as_deref(), piece.next, piece.total),
        (Some("é"), Some(3), 6)
    );
    let text = bench.results.keep(b"plain", Kind::Text, "x").unwrap();
    let error = bench
        .results
        .select(&text.id, "/a", 0, 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("is not JSON"), "{error}");
}

#[test]
fn old_ones_go_and_then_the_oldest_and_the_sizes_are_told() {
    let bench = bench(3_000);
    let keep = |second, size: usize| {
        bench.second.store(second, Ordering::Relaxed);
        bench
            .results
            .keep(&vec![b'x'; size], Kind::Text, "x")
            .unwrap()
            .id
    };
    let (old, middle, young) = (keep(0, 500), keep(50, 500), keep(60, 500));
    bench.second.store(101, Ordering::Relaxed);
    let swept = bench.results.sweep();
    assert_eq!((swept.removed, swept.kept), (1, 2));
    assert!(swept.bytes_removed > 500 && swept.bytes_kept > 1_000);
    assert!(matches!(
        bench.results.read(&old, 0, 1),
        Err(ResultsError::NotFound { .. })
    ));
    // There is no room for all three: the oldest one goes.
    let large = keep(102, 2_000);
    assert!(bench.results.handle(&middle).is_err());
    assert!(bench.results.handle(&young).is_ok() && bench.results.handle(&large).is_ok());
    let error = bench
        .results
        .keep(&[0; 3_001], Kind::Binary, "x")
        .unwrap_err();
    assert!(matches!(
        error,
        ResultsError::TooLarge {
            bytes: 3_001,
            max: 3_000
        }
    ));
}

#[test]
fn an_id_leads_nowhere_else() {
    let bench = bench(1 << 20);
    let handle = bench.results.keep(b"secret", Kind::Text, "x").unwrap();
    for id in [
        "",
        "res-",
        "../res-0",
        &handle.id[..35],
        &format!("{}/", handle.id),
        &handle.id.to_uppercase(),
    ] {
        assert!(
            matches!(
                bench.results.read(id, 0, 1),
                Err(ResultsError::NotFound { .. })
            ),
            "{id}"
        );
        assert!(!bench.results.remove(id).unwrap());
    }
    assert!(bench.results.remove(&handle.id).unwrap());
}

#[cfg(unix)]
#[test]
fn a_kept_result_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = bench(1 << 20);
    let handle = bench.results.keep(b"secret", Kind::Text, "x").unwrap();
    let path = bench.state.path("results").join(&handle.id);
    assert_eq!(
        fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_in_a_results_file_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        with_head in any::<bool>(),
        (offset, length) in (0_u64..300, 0_usize..300),
        pointer in "[/a0~1]{0,6}",
    ) {
        let bench = bench(1 << 20);
        let handle = bench.results.keep(b"{\"a\":[1]}", Kind::Json, "x").unwrap();
        let path = bench.state.path("results").join(&handle.id);
        let mut all = if with_head {
            let old = fs::read(&path).unwrap();
            old[..=old.iter().position(|byte| *byte == b'\n').unwrap()].to_vec()
        } else {
            Vec::new()
        };
        all.extend(&bytes);
        fs::write(&path, all).unwrap();
        if let Ok(piece) = bench.results.read(&handle.id, offset, length) {
            prop_assert!(piece.next.is_none_or(|next| next > piece.offset));
        }
        drop(bench.results.select(&handle.id, &pointer, offset, length));
        bench.results.sweep();
    }

    #[test]
    fn the_pieces_of_any_text_make_the_whole(text in ".{0,60}", length in 0_usize..9) {
        let bench = bench(1 << 20);
        let handle = bench.results.keep(text.as_bytes(), Kind::Text, "x").unwrap();
        let (mut all, mut next) = (String::new(), Some(0));
        while let Some(offset) = next {
            let piece = bench.results.read(&handle.id, offset, length).unwrap();
            all += &piece.text.unwrap();
            next = piece.next;
        }
        prop_assert_eq!(all, text);
    }
}

#[test]
fn limits_that_change_hold_for_what_comes_and_for_what_is_there() {
    let bench = bench(1_000);
    let first = bench.results.keep(b"first", Kind::Text, "x").unwrap();
    let seconds = SignedDuration::from_secs;
    bench.results.set_limits(ResultLimits {
        max_bytes: 4,
        max_age: seconds(100),
    });
    let refused = bench.results.keep(b"second", Kind::Text, "x").unwrap_err();
    assert!(matches!(refused, ResultsError::TooLarge { max: 4, .. }));
    assert_eq!(bench.results.sweep().removed, 1);
    assert!(bench.results.handle(&first.id).is_err());
    bench.results.set_limits(ResultLimits {
        max_bytes: 1_000,
        max_age: seconds(1),
    });
    let third = bench.results.keep(b"third", Kind::Text, "x").unwrap();
    bench.second.store(2, Ordering::Relaxed);
    assert_eq!(bench.results.sweep().removed, 1);
    assert!(bench.results.handle(&third.id).is_err());
}
