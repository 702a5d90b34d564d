use proptest::prelude::*;

use super::*;

fn object(text: &str) -> Object {
    Raw::parse(text).unwrap().object().unwrap()
}

fn sealed() -> Sealed {
    Sealed {
        state: vec![0, 1, 255],
        kinds: vec![("a".into(), "form".into())],
    }
}

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const HOUR: Duration = Duration::from_secs(3_600);

fn bound<'a>(params: &'a Object, principal: Option<&'a str>) -> Bound<'a> {
    Bound {
        method: "tools/call",
        params,
        principal,
    }
}

#[test]
fn a_state_opens_where_it_was_made_for_and_nowhere_else() {
    let sealer = Sealer::random().unwrap();
    let params = object(r#"{"name":"x","arguments":{"a":1,"b":[2]}}"#);
    let blob = sealer
        .seal(&sealed(), bound(&params, Some("ann")), NOW, HOUR)
        .unwrap();
    let again = object(
        r#"{"arguments":{"b":[2],"a":1},"name":"x","inputResponses":{},"requestState":"s","_meta":{"progressToken":9}}"#,
    );
    assert_eq!(
        sealer.open(&blob, bound(&again, Some("ann")), NOW),
        Ok(sealed())
    );
    assert_eq!(
        sealer.open(&blob, bound(&again, Some("bob")), NOW),
        Err(SealError::OtherPrincipal)
    );
    assert_eq!(
        sealer.open(&blob, bound(&again, None), NOW),
        Err(SealError::OtherPrincipal)
    );
    let changed = object(r#"{"name":"x","arguments":{"a":1,"b":[3]}}"#);
    assert_eq!(
        sealer.open(&blob, bound(&changed, Some("ann")), NOW),
        Err(SealError::OtherParams)
    );
    let method = Bound {
        method: "prompts/get",
        ..bound(&params, Some("ann"))
    };
    assert_eq!(
        sealer.open(&blob, method, NOW),
        Err(SealError::OtherMethod("tools/call".into()))
    );
    let late = NOW + jiff::SignedDuration::from_hours(1);
    assert_eq!(
        sealer.open(&blob, bound(&params, Some("ann")), late),
        Err(SealError::Expired)
    );
}

#[test]
fn older_keys_open_until_they_are_dropped() {
    let sealer = Sealer::with_keys(&[[7; 32]]).unwrap();
    let params = Object::new();
    let old = sealer
        .seal(&sealed(), bound(&params, None), NOW, HOUR)
        .unwrap();
    sealer.rotate().unwrap();
    let new = sealer
        .seal(&sealed(), bound(&params, None), NOW, HOUR)
        .unwrap();
    for blob in [&old, &new] {
        assert!(sealer.open(blob, bound(&params, None), NOW).is_ok());
    }
    sealer.keep_newest(1);
    assert_eq!(
        sealer.open(&old, bound(&params, None), NOW),
        Err(SealError::UnknownKey)
    );
    assert!(sealer.open(&new, bound(&params, None), NOW).is_ok());
    let restarted = Sealer::with_keys(&[[8; 32], [7; 32]]).unwrap();
    assert!(restarted.open(&old, bound(&params, None), NOW).is_ok());
    assert!(Sealer::with_keys(&[]).is_err());
}

#[test]
fn a_state_for_single_use_opens_once() {
    let sealer = Sealer::random().unwrap().single_use();
    let params = Object::new();
    let blob = sealer
        .seal(&sealed(), bound(&params, None), NOW, HOUR)
        .unwrap();
    assert!(sealer.open(&blob, bound(&params, None), NOW).is_ok());
    assert_eq!(
        sealer.open(&blob, bound(&params, None), NOW),
        Err(SealError::Used)
    );
}

#[test]
fn nothing_of_a_state_can_be_read() {
    let sealer = Sealer::random().unwrap();
    let state = Sealed {
        state: b"SENTINEL".to_vec(),
        kinds: Vec::new(),
    };
    let blob = sealer
        .seal(&state, bound(&Object::new(), None), NOW, HOUR)
        .unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(&blob).unwrap();
    let needles = [
        b"SENTINEL".to_vec(),
        STANDARD.encode(b"SENTINEL").into_bytes(),
    ];
    for needle in needles {
        assert!(!bytes.windows(needle.len()).any(|window| window == needle));
    }
}

proptest! {
    #[test]
    fn a_changed_or_invented_state_never_opens(at in any::<prop::sample::Index>(), with in 0_u8..64, noise in ".{0,200}") {
        let sealer = Sealer::with_keys(&[[1; 32]]).unwrap();
        let params = Object::new();
        let blob = sealer.seal(&sealed(), bound(&params, None), NOW, HOUR).unwrap();
        let mut changed = blob.clone().into_bytes();
        let at = at.index(changed.len());
        changed[at] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[with as usize];
        let changed = String::from_utf8(changed).unwrap();
        if changed != blob {
            prop_assert!(sealer.open(&changed, bound(&params, None), NOW).is_err());
        }
        prop_assert!(sealer.open(&noise, bound(&params, None), NOW).is_err());
        let appended = format!("{blob}{noise}");
        if !noise.is_empty() {
            prop_assert!(sealer.open(&appended, bound(&params, None), NOW).is_err());
        }
    }
}
