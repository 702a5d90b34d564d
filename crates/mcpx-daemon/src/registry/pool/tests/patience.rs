//! Callers of one pool that wait for a start each as long as their own entry says.

use std::{sync::Arc, time::Duration};

use mcp_client::{Delivery, FailureKind};

use crate::registry::pool::{
    Lease, LeaseError, Wait,
    fake::{Bench, patient, session_key, settle},
};

fn for_a_start_of(seconds: u64, queue: u64) -> Wait {
    Wait {
        start: Some(Duration::from_secs(seconds)),
        queue: Duration::from_secs(queue),
        ..patient()
    }
}

fn why(refused: Result<Lease, LeaseError>) -> String {
    match refused {
        Err(LeaseError::Start { failure, .. }) => match failure.kind {
            FailureKind::NoAnswer {
                delivery: Delivery::NotSent,
                why,
                ..
            } => why,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_less_time_for_a_start_gives_up_and_the_start_goes_on_for_the_other() {
    for queue in [1, 600] {
        let bench = Bench::new(|server| server.start_timeout = Duration::from_secs(60));
        bench.fake.lock().start_takes = Duration::from_secs(40);
        let pool = Arc::clone(&bench.pool);
        let slow = tokio::spawn(async move {
            let wait = for_a_start_of(60, queue);
            pool.lease(&session_key("a"), wait).await
        });
        settle().await;
        let began = tokio::time::Instant::now();
        let wait = for_a_start_of(5, queue);
        let refused = bench.pool.lease(&session_key("a"), wait).await;
        assert_eq!(began.elapsed().as_secs(), 5, "queue of {queue} s");
        let why = why(refused);
        assert!(
            why.starts_with("it is not ready after 5 s; its start goes on"),
            "{why}"
        );
        drop(slow.await.unwrap().unwrap());
        assert_eq!(bench.fake.started(), 1);
        bench.ends_clean().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_start_counts_from_its_beginning_and_not_from_the_queue() {
    let bench = Bench::new(|server| {
        server.max = 1;
        server.start_timeout = Duration::from_secs(60);
    });
    let held = bench.lease("a").await.unwrap();
    bench.fake.lock().start_takes = Duration::from_secs(4);
    let pool = Arc::clone(&bench.pool);
    let waits = tokio::spawn(async move {
        let wait = for_a_start_of(5, 600);
        pool.lease(&session_key("b"), wait).await
    });
    tokio::time::sleep(Duration::from_secs(12)).await;
    drop(held);
    drop(waits.await.unwrap().unwrap());
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_at_its_deadline_is_told_as_a_start_and_not_as_a_full_pool() {
    let bench = Bench::new(|server| server.start_timeout = Duration::from_secs(60));
    // As a connection that ends by itself a moment later than its time.
    bench.fake.lock().start_takes = Duration::from_secs(61);
    bench.fake.lock().fails = true;
    let wait = for_a_start_of(60, 30);
    let refused = bench.pool.lease(&session_key("a"), wait).await;
    assert_eq!(why(refused), "no such program");
    bench.ends_clean().await;
}
