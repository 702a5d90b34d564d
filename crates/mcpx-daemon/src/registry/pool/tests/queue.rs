//! Who gets an instance, and in which order.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcpx_config::{Scope, Sharing};
use tokio_util::sync::CancellationToken;

use crate::registry::pool::{
    LeaseError, Wait,
    fake::{Bench, everybody, link, patient, session_key, settle, wait},
};

#[tokio::test(start_paused = true)]
async fn callers_with_one_key_share_an_instance_and_others_get_their_own() {
    let bench = Bench::new(|_| ());
    let first = bench.lease("a").await.unwrap();
    let second = bench.lease("a").await.unwrap();
    let other = bench.lease("b").await.unwrap();
    assert_eq!(first.instance().id(), "notes#1");
    assert_eq!(second.instance().id(), "notes#1");
    assert_eq!(other.instance().id(), "notes#2");
    assert_eq!(first.instance().calls(), 2);
    let status = bench.pool.status();
    let held: Vec<(&str, usize, &str)> = status
        .instances
        .iter()
        .map(|instance| (&*instance.id, instance.holders, &*instance.key))
        .collect();
    assert_eq!(
        held,
        [("notes#1", 2, "session:a"), ("notes#2", 1, "session:b")]
    );
    drop((first, second, other));
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_instance_serves_its_queue_in_order() {
    let bench = Bench::new(|server| server.sharing = Sharing::Exclusive);
    let held = bench.lease("a").await.unwrap();
    let order: Arc<Mutex<Vec<usize>>> = Arc::default();
    let mut callers = Vec::new();
    for number in 0..8 {
        let (pool, order) = (Arc::clone(&bench.pool), Arc::clone(&order));
        callers.push(tokio::spawn(async move {
            let lease = pool.lease(&session_key("a"), patient()).await.unwrap();
            let using = link(&lease).call("a");
            assert_eq!(using.users, 1, "two leases of an exclusive instance");
            order.lock().unwrap().push(number);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }));
        settle().await;
    }
    assert_eq!(bench.pool.status().waiting, 8);
    drop(held);
    for caller in callers {
        caller.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(bench.fake.started(), 1);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn the_instance_unused_for_the_longest_time_makes_room() {
    let bench = Bench::new(|_| ());
    for session in ["a", "b"] {
        drop(bench.lease(session).await.unwrap());
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    drop(bench.lease("a").await.unwrap());
    let third = bench.lease("c").await.unwrap();
    let told = bench.seen.told();
    assert!(
        told.contains(&"notes#2 ended: its room was needed for another caller".to_owned()),
        "{told:?}"
    );
    assert_eq!(third.instance().id(), "notes#3");
    drop(third);
    assert_eq!(bench.fake.most.load(std::sync::atomic::Ordering::SeqCst), 2);
    bench.ends_clean().await;
}

/// `pool_cap_queue`: who finds no room waits for it, and an error after the deadline says who had it.
#[tokio::test(start_paused = true)]
async fn pool_cap_queue() {
    let bench = Bench::new(|_| ());
    let (a, b) = (
        bench.lease("a").await.unwrap(),
        bench.lease("b").await.unwrap(),
    );
    tokio::time::advance(Duration::from_secs(2)).await;
    let refused = bench
        .pool
        .lease(&session_key("c"), wait(Duration::from_secs(5)))
        .await
        .unwrap_err();
    let LeaseError::Exhausted {
        waited,
        max,
        holders,
    } = &refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!((waited.as_secs(), *max), (5, 2));
    assert_eq!(
        *holders,
        [
            "notes#1 of session:a (1 call, since 7.0 s)",
            "notes#2 of session:b (1 call, since 7.0 s)"
        ]
    );
    assert!(
        refused.to_string().starts_with("pool exhausted: "),
        "{refused}"
    );
    assert_eq!(bench.pool.status().waiting, 0);
    // Another one that waits gets the room as soon as there is some.
    let pool = Arc::clone(&bench.pool);
    let later = tokio::spawn(async move { pool.lease(&session_key("c"), patient()).await });
    settle().await;
    drop(b);
    let c = later.await.unwrap().unwrap();
    assert_eq!(c.instance().id(), "notes#3");
    drop((a, c));
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn busy_keys_cannot_keep_a_new_one_out() {
    let bench = Bench::new(|_| ());
    let old_a = bench.lease("a").await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let old_b = bench.lease("b").await.unwrap();
    let pool = Arc::clone(&bench.pool);
    let c = tokio::spawn(async move { pool.lease(&session_key("c"), patient()).await });
    settle().await;
    // `a` had its last lease first: it is reserved, and the next callers of `a` come after `c`.
    let pool = Arc::clone(&bench.pool);
    let new_a = tokio::spawn(async move { pool.lease(&session_key("a"), patient()).await });
    settle().await;
    assert!(!new_a.is_finished());
    // `b` is not reserved.
    drop(bench.lease("b").await.unwrap());
    drop(old_a);
    let c = c.await.unwrap().unwrap();
    assert_eq!(c.instance().id(), "notes#3");
    drop(old_b);
    let new_a = new_a.await.unwrap().unwrap();
    assert_eq!(new_a.instance().id(), "notes#4");
    drop((c, new_a));
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_gives_up_leaves_no_trace_and_frees_what_was_reserved_for_it() {
    let bench = Bench::new(|_| ());
    let a = bench.lease("a").await.unwrap();
    let b = bench.lease("b").await.unwrap();
    let cancelled = CancellationToken::new();
    let c = {
        let (pool, cancelled) = (Arc::clone(&bench.pool), cancelled.clone());
        let queue = Duration::from_secs(60);
        tokio::spawn(async move {
            pool.lease(
                &session_key("c"),
                Wait {
                    queue,
                    start: None,
                    cancelled,
                },
            )
            .await
        })
    };
    settle().await;
    let pool = Arc::clone(&bench.pool);
    let again = tokio::spawn(async move { pool.lease(&session_key("a"), patient()).await });
    settle().await;
    assert_eq!(bench.pool.status().waiting, 2);
    cancelled.cancel();
    assert!(matches!(c.await.unwrap(), Err(LeaseError::Cancelled)));
    let again = again.await.unwrap().unwrap();
    assert_eq!(again.instance().id(), "notes#1");
    drop((a, b, again));
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_dropped_leaves_the_queue() {
    let bench = Bench::new(|server| server.sharing = Sharing::Exclusive);
    let held = bench.lease("a").await.unwrap();
    let pool = Arc::clone(&bench.pool);
    let waits = tokio::spawn(async move { pool.lease(&session_key("a"), patient()).await });
    settle().await;
    assert_eq!(bench.pool.status().waiting, 1);
    waits.abort();
    let _aborted = waits.await;
    assert_eq!(bench.pool.status().waiting, 0);
    drop(held);
    // What was granted to somebody who went away comes back.
    drop(bench.lease("a").await.unwrap());
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn lease_returned_on_panic() {
    let bench = Bench::new(|server| server.sharing = Sharing::Exclusive);
    let pool = Arc::clone(&bench.pool);
    let broken = tokio::spawn(async move {
        let _lease = pool.lease(&session_key("a"), patient()).await.unwrap();
        panic!("in the middle of a call");
    });
    assert!(broken.await.unwrap_err().is_panic());
    assert_eq!(bench.pool.status().instances[0].holders, 0);
    let next = bench.lease("a").await.unwrap();
    assert_eq!(next.instance().id(), "notes#1");
    drop(next);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_comes_back_from_a_thread_without_a_runtime() {
    let bench = Bench::new(|server| server.max = 1);
    let lease = bench.lease("a").await.unwrap();
    lease.poison("it answered nonsense");
    std::thread::spawn(move || drop(lease)).join().unwrap();
    let next = bench.lease("b").await.unwrap();
    assert_eq!(next.instance().id(), "notes#2");
    drop(next);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_one_call_ends_with_it() {
    let bench = Bench::new(|server| server.scope = Scope::Call);
    let mut scoped = crate::registry::scope::key_of(Scope::Call, &mcpx_api::Caller::default());
    let lease = bench.pool.lease(&scoped, patient()).await.unwrap();
    drop(lease);
    assert!(bench.pool.status().instances.is_empty());
    // Who is told of its changes keeps it.
    let lease = bench.pool.lease(&scoped, patient()).await.unwrap();
    let subscription = lease.instance().subscribe();
    drop(lease);
    assert_eq!(bench.pool.status().instances.len(), 1);
    drop(subscription);
    bench.pool.sweep().await;
    assert!(bench.pool.status().instances.is_empty());
    // A caller that stays keeps what an ephemeral one began.
    scoped = session_key("a");
    scoped.ends_with_caller = true;
    let ephemeral = bench.pool.lease(&scoped, patient()).await.unwrap();
    drop(bench.lease("a").await.unwrap());
    drop(ephemeral);
    assert_eq!(bench.pool.status().instances.len(), 1);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn one_question_that_is_nobodys_makes_the_leases_exclusive() {
    let bench = Bench::new(|server| server.scope = Scope::Global);
    let first = bench.pool.lease(&everybody(), patient()).await.unwrap();
    let second = bench.pool.lease(&everybody(), patient()).await.unwrap();
    link(&first).say(mcp_client::Event::Unattributed {
        method: "elicitation/create".to_owned(),
    });
    settle().await;
    assert!(bench.pool.is_exclusive());
    assert!(!bench.pool.learn_exclusive());
    drop(first);
    // The second one is still out.
    let refused = bench
        .pool
        .lease(&everybody(), wait(Duration::from_secs(1)))
        .await;
    assert!(matches!(refused, Err(LeaseError::Exhausted { .. })));
    drop(second);
    let alone = bench.pool.lease(&everybody(), patient()).await.unwrap();
    assert_eq!(alone.instance().id(), "notes#1");
    assert_eq!(
        bench
            .seen
            .told()
            .iter()
            .filter(|told| told.starts_with("warned"))
            .count(),
        1
    );
    drop(alone);
    bench.ends_clean().await;
}
