//! Many callers at once, on several threads, with every kind of end.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_client::Event;
use mcpx_config::Sharing;
use tokio_util::sync::CancellationToken;

use crate::registry::pool::{
    Cap, LeaseError, Wait,
    fake::{Bench, Fake, link, session_key, until},
};

const CALLERS: usize = 64;
const ROUNDS: usize = 24;

/// What came of all the tries.
#[derive(Default)]
struct Counts {
    served: AtomicUsize,
    gave_up: AtomicUsize,
    refused: AtomicUsize,
}

/// 64 callers with keys of their own and shared ones; some give up, some are dropped, some panic, some poison, and
/// instances die in the middle.
///
/// Patient callers wait for as long as it takes: a lost wake-up is a test that does not end.
async fn storm(bench: &Arc<Bench>, keys: usize, exclusive: bool, patient: bool) -> Counts {
    let counts: Arc<Counts> = Arc::default();
    let owners: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    let mut callers = Vec::new();
    for number in 0..CALLERS {
        let (bench, counts, owners) = (Arc::clone(bench), Arc::clone(&counts), Arc::clone(&owners));
        callers.push(tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(number as u64);
            for _ in 0..ROUNDS {
                let session = format!("s{}", random.usize(..keys));
                let cancelled = CancellationToken::new();
                let wait = Wait {
                    start: None,
                    queue: if patient {
                        Duration::from_secs(3_600)
                    } else {
                        Duration::from_millis(random.u64(1..200))
                    },
                    cancelled: cancelled.clone(),
                };
                let (ends_with_caller, way, pause) =
                    (random.u8(..8) == 0, random.u8(..20), random.u64(..300));
                let (bench, counts, owners) =
                    (Arc::clone(&bench), Arc::clone(&counts), Arc::clone(&owners));
                let call = tokio::spawn(async move {
                    let mut scoped = session_key(&session);
                    scoped.ends_with_caller = ends_with_caller;
                    let lease = match bench.pool.lease(&scoped, wait).await {
                        Ok(lease) => lease,
                        Err(LeaseError::Cancelled | LeaseError::Exhausted { .. }) => {
                            counts.gave_up.fetch_add(1, Ordering::Relaxed);
                            return;
                        }
                        Err(other) => {
                            counts.refused.fetch_add(1, Ordering::Relaxed);
                            panic!("{other}");
                        }
                    };
                    let using = link(&lease).call(&session);
                    assert!(!exclusive || using.users == 1, "two on an exclusive one");
                    let id = lease.instance().id().to_owned();
                    let owner = owners
                        .lock()
                        .unwrap()
                        .entry(id)
                        .or_insert_with(|| session.clone())
                        .clone();
                    assert_eq!(owner, session, "an instance changed its key");
                    tokio::time::sleep(Duration::from_micros(pause)).await;
                    counts.served.fetch_add(1, Ordering::Relaxed);
                    drop(using);
                    match way {
                        0 => lease.poison("nonsense"),
                        1 => link(&lease).say(Event::Closed {
                            why: "it crashed".to_owned(),
                        }),
                        2 => std::panic::resume_unwind(Box::new("as planned")),
                        _ => {}
                    }
                });
                match random.u8(..10) {
                    0 => cancelled.cancel(),
                    1 => call.abort(),
                    _ => {}
                }
                if let Err(error) = call.await
                    && error.is_panic()
                {
                    let what = error.into_panic();
                    assert_eq!(what.downcast_ref::<&str>(), Some(&"as planned"));
                }
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    Arc::into_inner(counts).unwrap()
}

async fn check(max: usize, keys: usize, sharing: Sharing, patient: bool) {
    let bench = Arc::new(Bench::new(|server| {
        (server.max, server.sharing) = (max, sharing);
    }));
    {
        let mut script = bench.fake.lock();
        script.start_takes = Duration::from_micros(200);
        script.end_takes = Duration::from_micros(200);
    }
    let counts = tokio::time::timeout(
        Duration::from_secs(120),
        storm(&bench, keys, sharing == Sharing::Exclusive, patient),
    )
    .await
    .expect("everybody to be served or to give up");
    assert!(bench.fake.most.load(Ordering::SeqCst) <= max);
    assert_eq!(counts.refused.load(Ordering::Relaxed), 0);
    assert!(counts.served.load(Ordering::Relaxed) > CALLERS * ROUNDS / 10);
    bench.ends_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn exclusive_instances_under_64_callers_are_never_shared_and_never_too_many() {
    check(4, 12, Sharing::Exclusive, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_exclusive_place_for_many_keys_serves_them_all() {
    check(1, 5, Sharing::Exclusive, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shared_instances_under_64_callers_keep_their_keys_apart() {
    check(3, 12, Sharing::Shared, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn patient_callers_of_exclusive_and_shared_instances_are_all_served() {
    check(4, 12, Sharing::Exclusive, true).await;
    check(3, 12, Sharing::Shared, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pools_under_one_cap_never_have_more_together() {
    let (cap, fake) = (Cap::new(3), Arc::<Fake>::default());
    {
        let mut script = fake.lock();
        script.start_takes = Duration::from_micros(200);
        script.end_takes = Duration::from_micros(200);
    }
    let pools: Vec<Arc<Bench>> = (0..3)
        .map(|_| Arc::new(Bench::with(|_| (), Arc::clone(&fake), Some(&cap))))
        .collect();
    let storms = pools.iter().map(|bench| storm(bench, 4, false, true));
    let all = futures::future::join_all(storms);
    let all = tokio::time::timeout(Duration::from_secs(120), all)
        .await
        .expect("everybody to be served or to give up");
    for counts in all {
        assert!(counts.served.load(Ordering::Relaxed) > 0);
    }
    assert!(fake.most.load(Ordering::SeqCst) <= 3);
    for bench in &pools {
        assert_eq!(bench.pool.status().waiting, 0);
        bench.pool.close().await;
    }
    until("everything to end", || fake.there() == 0).await;
}
