use std::fs;

use super::*;

fn record(key: &str, nonce: &str) -> DaemonRecord {
    let pid = std::process::id();
    DaemonRecord {
        key: key.to_owned(),
        pid,
        process_started: process::started(pid),
        socket: "/run/hub.sock".into(),
        endpoint: Some("http://127.0.0.1:4000".to_owned()),
        token: Some("sentinel-token".to_owned()),
        files: vec!["/home/x/.mcp.json".into()],
        config_hash: "0123".to_owned(),
        version: "0.1.0".to_owned(),
        started_at: Timestamp::from_second(1_790_000_000).unwrap(),
        nonce: nonce.to_owned(),
    }
}

/// Of a process that cannot be: no number is that high.
fn gone(key: &str, nonce: &str) -> DaemonRecord {
    DaemonRecord {
        pid: 0x7fff_fff0,
        ..record(key, nonce)
    }
}

fn daemons() -> (testkit::TempHome, Daemons) {
    let home = testkit::TempHome::new();
    let state = StateDir::open(home.path().join("state")).unwrap();
    let daemons = Daemons::new(&state);
    (home, daemons)
}

#[test]
fn a_record_is_read_as_it_was_written_and_does_not_show_its_token() {
    let (_home, daemons) = daemons();
    let record = record("k1", "n1");
    assert_eq!(daemons.read("k1").unwrap(), None);
    daemons.write(&record).unwrap();
    assert_eq!(daemons.read("k1").unwrap(), Some(record.clone()));
    assert!(!format!("{record:?}").contains("sentinel-token"));
    assert_eq!(
        record.is_alive(),
        if cfg!(unix) { Some(true) } else { None }
    );
}

#[cfg(unix)]
#[test]
fn the_record_of_a_living_daemon_is_not_overwritten_but_by_its_successor() {
    let (_home, daemons) = daemons();
    daemons.write(&record("k1", "n1")).unwrap();
    // Itself may write again.
    daemons.write(&record("k1", "n1")).unwrap();
    let error = daemons.write(&gone("k1", "n2")).unwrap_err();
    assert!(matches!(error, StoreError::Occupied { .. }), "{error}");
    assert!(daemons.take_over(&gone("k1", "n2"), "n0").is_err());
    daemons.take_over(&gone("k1", "n2"), "n1").unwrap();
    // The one that was replaced removes nothing when it ends.
    assert!(!daemons.remove_if("k1", std::process::id(), "n1").unwrap());
    assert_eq!(daemons.read("k1").unwrap().unwrap().nonce, "n2");
    // That process does not run, so anybody may write.
    daemons.write(&record("k1", "n3")).unwrap();
    assert!(daemons.remove_if("k1", std::process::id(), "n3").unwrap());
    assert_eq!(daemons.read("k1").unwrap(), None);
}

#[test]
fn only_number_and_nonce_together_remove_a_record() {
    let (_home, daemons) = daemons();
    daemons.write(&record("k1", "n1")).unwrap();
    assert!(!daemons.remove_if("k1", 1, "n1").unwrap());
    assert!(!daemons.remove_if("k1", std::process::id(), "n2").unwrap());
    assert!(daemons.remove_if("k1", std::process::id(), "n1").unwrap());
    assert!(!daemons.remove_if("k1", std::process::id(), "n1").unwrap());
}

#[test]
fn a_list_passes_over_what_is_broken_and_tells_of_it() {
    let (home, daemons) = daemons();
    daemons.write(&record("k1", "n1")).unwrap();
    daemons.write(&record("k2", "n2")).unwrap();
    let put = |name: &str, text: &str| {
        fs::write(home.path().join("state").join(name), text).unwrap();
    };
    put("daemon-k3.json", "{\"key\":");
    put(
        "daemon-k4.json",
        &serde_json::to_string(&record("k5", "n")).unwrap(),
    );
    put("daemon-.json", "{}");
    put("other.json", "{}");
    let listing = daemons.list();
    let keys: Vec<_> = listing.records.iter().map(|record| &record.key).collect();
    assert_eq!(keys, ["k1", "k2"]);
    let broken: Vec<_> = listing.broken.iter().map(ToString::to_string).collect();
    assert_eq!(broken.len(), 3, "{broken:?}");
    assert!(
        broken.iter().any(|text| text.contains("another key, `k5`")),
        "{broken:?}"
    );
    // A broken record stands in nobody's way.
    daemons.write(&record("k3", "n3")).unwrap();
}

#[test]
fn a_key_is_only_a_name() {
    let (_home, daemons) = daemons();
    assert!(daemons.read("../x").is_err());
    assert!(daemons.write(&record("a/b", "n")).is_err());
}

#[test]
fn many_daemons_that_write_at_once_keep_their_own_records() {
    let (_home, daemons) = daemons();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let daemons = &daemons;
            scope.spawn(move || {
                let key = format!("k{n}");
                for _ in 0..5 {
                    daemons.write(&record(&key, &key)).unwrap();
                }
            });
        }
    });
    let listing = daemons.list();
    assert!(listing.broken.is_empty());
    assert!(
        listing
            .records
            .iter()
            .all(|record| record.key == record.nonce)
    );
    assert_eq!(listing.records.len(), 8);
}
