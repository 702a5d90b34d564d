//! The cap over all pools.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use crate::registry::pool::{
    Cap, LeaseError,
    fake::{Bench, Fake, patient, session_key, settle, wait},
};

fn two_pools(max: usize) -> (Arc<Fake>, Bench, Bench) {
    let (cap, fake) = (Cap::new(max), Arc::<Fake>::default());
    let one = Bench::with(|_| (), Arc::clone(&fake), Some(&cap));
    let two = Bench::with(|_| (), Arc::clone(&fake), Some(&cap));
    (fake, one, two)
}

#[tokio::test(start_paused = true)]
async fn another_pools_unused_instance_makes_room() {
    let (fake, one, two) = two_pools(1);
    drop(one.lease("a").await.unwrap());
    drop(two.lease("a").await.unwrap());
    drop(one.lease("b").await.unwrap());
    assert_eq!(fake.most.load(Ordering::SeqCst), 1);
    assert_eq!(fake.started(), 3);
    two.pool.close().await;
    one.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_gets_free_in_another_pool_is_given_up() {
    let (fake, one, two) = two_pools(1);
    let held = one.lease("a").await.unwrap();
    let pool = Arc::clone(&two.pool);
    let waits = tokio::spawn(async move { pool.lease(&session_key("a"), patient()).await });
    settle().await;
    assert!(!waits.is_finished());
    drop(held);
    drop(waits.await.unwrap().unwrap());
    assert_eq!(fake.most.load(Ordering::SeqCst), 1);
    one.pool.close().await;
    two.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_names_the_cap_and_nobody_gives_up_for_who_went_away() {
    let (_, one, two) = two_pools(1);
    let held = one.lease("a").await.unwrap();
    let refused = two
        .pool
        .lease(&session_key("a"), wait(Duration::from_secs(1)))
        .await;
    let Err(LeaseError::Exhausted { holders, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        holders,
        ["all 1 instances that the hub may have (`pool.globalMax`)"]
    );
    settle().await;
    drop(held);
    settle().await;
    assert_eq!(one.pool.status().instances.len(), 1);
    two.pool.close().await;
    one.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_started_for_nobody_is_given_up_too() {
    let (fake, one, two) = two_pools(1);
    fake.lock().start_takes = Duration::from_secs(5);
    let pool = Arc::clone(&one.pool);
    let goes_away = tokio::spawn(async move { pool.lease(&session_key("a"), patient()).await });
    settle().await;
    let pool = Arc::clone(&two.pool);
    let waits = tokio::spawn(async move { pool.lease(&session_key("a"), patient()).await });
    settle().await;
    goes_away.abort();
    drop(waits.await.unwrap().unwrap());
    assert_eq!(fake.most.load(Ordering::SeqCst), 1);
    one.pool.close().await;
    two.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn the_cap_grows_at_once_and_shrinks_as_instances_end() {
    let (cap, fake) = (Cap::new(1), Arc::<Fake>::default());
    let bench = Bench::with(|server| server.max = 8, Arc::clone(&fake), Some(&cap));
    let a = bench.lease("a").await.unwrap();
    let pool = Arc::clone(&bench.pool);
    let waits = tokio::spawn(async move { pool.lease(&session_key("b"), patient()).await });
    settle().await;
    cap.resize(3);
    let b = waits.await.unwrap().unwrap();
    let c = bench.lease("c").await.unwrap();
    cap.resize(1);
    assert_eq!((cap.max(), fake.there()), (1, 3));
    let refused = |session: &'static str| {
        let pool = Arc::clone(&bench.pool);
        async move {
            let wait = wait(Duration::from_secs(1));
            pool.lease(&session_key(session), wait).await.is_err()
        }
    };
    assert!(refused("d").await);
    a.poison("done");
    b.poison("done");
    drop((a, b));
    assert!(refused("d").await);
    drop(c);
    drop(bench.lease("d").await.unwrap());
    assert_eq!(fake.there(), 1);
    cap.resize(2);
    let e = bench.lease("e").await.unwrap();
    assert_eq!(fake.there(), 2);
    drop(e);
    bench.ends_clean().await;
}
