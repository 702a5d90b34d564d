//! Any bytes in any file of the state directory: never a panic, and never in the way of what is written next.

use jiff::{SignedDuration, Timestamp};
use mcp_wire::Era;
use proptest::prelude::*;
use untrusted_text::redact::Redactor;

use crate::{
    StateDir,
    children::{self, Children},
    daemons::Daemons,
    eras::{EraVerdict, Eras},
    history::HistoryFile,
    schemas::SchemaCache,
    state_dir::private_dir,
    tasks::Tasks,
    trust::{Accepted, TrustFile},
};

/// Bytes that a file may hold: anything, whole files of ours with a piece missing or replaced, and files of others.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let ours = prop_oneof![
        Just(
            r#"{"version":1,"verdicts":{"a":{"era":"modern","oldSse":false,"at":"2026-11-30T00:00:00Z"}}}"#
        ),
        Just(
            r#"{"version":1,"accepted":{"a":{"file":"/x","at":"2026-11-30T00:00:00Z","name":"n"}}}"#
        ),
        Just(
            r#"{"version":1,"configHash":"k1","servers":{"a":{"tools":[{"name":"x"}],"prompts":[]}}}"#
        ),
        Just(r#"{"version":1,"servers":{"demo":{"read":"2026-09-20T10:00:00Z","tools":{}}}}"#),
        Just(
            r#"{"key":"k1","pid":1,"socket":"/s","startedAt":"2026-11-30T00:00:00Z","nonce":"n"}"#
        ),
        Just(
            r#"{"id":"t","server":"s","tool":"t","state":"working","created":"2026-11-30T00:00:00Z","updated":"2026-11-30T00:00:00Z"}"#
        ),
        Just(
            "{\"started\":{\"pid\":7,\"nonce\":\"n\",\"server\":\"s\",\"command\":\"c\",\"at\":\"2026-11-30T00:00:00Z\"}}\n{\"ended\":7}\n"
        ),
    ];
    prop_oneof![
        any::<Vec<u8>>(),
        (
            ours,
            any::<prop::sample::Index>(),
            any::<Vec<u8>>(),
            any::<bool>()
        )
            .prop_map(|(text, at, junk, is_cut)| {
                let at = at.index(text.len() + 1);
                let mut bytes = text.as_bytes()[..at].to_vec();
                bytes.extend(junk.into_iter().take(4));
                if !is_cut {
                    bytes.extend(&text.as_bytes()[at..]);
                }
                bytes
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_bytes_are_read_or_told(bytes in content()) {
        let home = testkit::TempHome::new();
        let state = StateDir::open(home.path().join("state")).unwrap();
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        for folder in ["children", "tasks/k1"] {
            private_dir(&state.path(folder)).unwrap();
        }
        for file in ["daemon-k1.json", "upstream-eras.json", "trusted.json", "catalog-history.json", "schemas-k1.json",
            "children/old.jsonl", "tasks/k1/t.json"] {
            std::fs::write(state.path(file), &bytes).unwrap();
        }

        let daemons = Daemons::new(&state);
        let listing = daemons.list();
        prop_assert_eq!(listing.records.len() + listing.broken.len(), 1);
        daemons.remove_if("k1", 1, "n").unwrap();

        let verdict = EraVerdict::new(Era::Legacy, None, false, now);
        let eras = Eras::new(&state);
        drop(eras.load());
        // Refused for a file of a newer program alone.
        if eras.put("b", verdict.clone()).is_ok() {
            let kept = eras.load().0.remove("b");
            prop_assert_eq!(kept, Some(verdict));
        }

        let trust = TrustFile::new(&state);
        prop_assert!(!trust.is_trusted("b"));
        let accepted = Accepted { file: "/y".into(), at: now, name: String::new() };
        if trust.trust("b", accepted).is_ok() {
            prop_assert!(trust.is_trusted("b"));
        }

        drop(HistoryFile::new(&state).load());
        let updated = HistoryFile::new(&state)
            .update(now, |history| history.observe("b", &[], &[], now))
            .unwrap();
        prop_assert!(updated.history.has_read("b"));

        drop(SchemaCache::load(&state, "k1"));
        SchemaCache::default().save(&state, "k1", now).unwrap();
        prop_assert_eq!(SchemaCache::load(&state, "k1").1, vec![]);

        for left in children::left(&state) {
            left.forget().unwrap();
        }
        prop_assert!(children::left(&state).is_empty());
        Children::open(&state, "new").unwrap().close().unwrap();

        let tasks = Tasks::open(&state, "k1", Redactor::default()).unwrap();
        let listing = tasks.list();
        prop_assert_eq!(listing.tasks.len() + listing.broken.len(), 1);
        tasks.recover(now).unwrap();
        tasks.sweep(now, SignedDuration::ZERO);
    }
}
