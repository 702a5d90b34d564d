//! Two lanes of one pool: each has its own instances and its own `max` of them.

use std::time::Duration;

use crate::registry::{
    pool::{
        LeaseError,
        fake::{Bench, everybody, patient, session_key, wait},
    },
    scope::{Lane, Scoped},
};

fn legacy(scoped: Scoped) -> Scoped {
    Scoped {
        key: scoped.key.in_lane(Lane::Legacy),
        ..scoped
    }
}

#[tokio::test(start_paused = true)]
async fn each_lane_has_its_own_instances_and_none_makes_room_for_the_other() {
    let bench = Bench::new(|server| server.max = 1);
    let newest = bench.lease("a").await.unwrap();
    let older = legacy(session_key("a"));
    let older = bench.pool.lease(&older, patient()).await.unwrap();
    assert_ne!(newest.instance().id(), older.instance().id());
    drop((newest, older));
    // Both are unused: who needs room takes it in its own lane.
    drop(bench.lease("b").await.unwrap());
    let left = bench.pool.status().instances;
    let keys: Vec<_> = left.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["session:a", "session:b"], "{left:#?}");
    let older = bench.pool.lease(&legacy(session_key("a")), patient()).await;
    assert_eq!(older.unwrap().instance().id(), "notes#2");
    assert_eq!(bench.fake.started(), 3);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_full_lane_says_what_is_in_it_and_nothing_else() {
    let bench = Bench::new(|server| server.max = 1);
    let newest = bench.lease("a").await.unwrap();
    let older = bench.pool.lease(&legacy(session_key("b")), patient()).await;
    let refused = bench
        .pool
        .lease(&legacy(session_key("c")), wait(Duration::from_secs(1)))
        .await;
    let Err(LeaseError::Exhausted {
        max: 1, holders, ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(holders.len(), 1, "{holders:?}");
    assert!(
        holders[0].starts_with("notes#2 of session:b"),
        "{holders:?}"
    );
    drop((newest, older));
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_belonged_to_a_session_is_released_in_both_lanes() {
    let bench = Bench::new(|_| ());
    drop(bench.lease("a").await.unwrap());
    drop(bench.pool.lease(&legacy(session_key("a")), patient()).await);
    assert_eq!(bench.pool.release(&[session_key("a").key]).await, 2);
    assert!(bench.pool.status().instances.is_empty());
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_stays_when_nobody_uses_it_is_counted_over_both_lanes() {
    let bench = Bench::new(|server| (server.min, server.max) = (1, 1));
    drop(bench.pool.lease(&everybody(), patient()).await.unwrap());
    drop(bench.pool.lease(&legacy(everybody()), patient()).await);
    bench.pool.sweep().await;
    assert_eq!(
        bench.pool.status().instances.len(),
        2,
        "each lane has its max"
    );
    tokio::time::sleep(Duration::from_secs(301)).await;
    bench.pool.sweep().await;
    assert_eq!(bench.pool.status().instances.len(), 1);
    bench.ends_clean().await;
}
