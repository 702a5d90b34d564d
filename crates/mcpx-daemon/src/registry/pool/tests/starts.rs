//! Starts: one for all who wait, none owned by a caller, and none too soon after a failure.

use std::{sync::Arc, time::Duration};

use mcpx_config::{Scope, Server};

use crate::registry::pool::{
    LeaseError,
    fake::{Bench, everybody, patient, session_key, settle, wait},
};

fn global(server: &mut Server) {
    server.scope = Scope::Global;
    server.max = 1;
}

#[tokio::test(start_paused = true)]
async fn however_many_wait_there_is_one_start_and_it_survives_who_asked_first() {
    let bench = Bench::new(global);
    bench.fake.lock().start_takes = Duration::from_secs(3);
    let mut callers: Vec<_> = (0..32)
        .map(|_| {
            let pool = Arc::clone(&bench.pool);
            tokio::spawn(async move { pool.lease(&everybody(), patient()).await })
        })
        .collect();
    settle().await;
    callers.remove(0).abort();
    for caller in callers {
        let lease = caller.await.unwrap().unwrap();
        assert_eq!(lease.instance().id(), "notes#1");
    }
    assert_eq!(bench.fake.started(), 1);
    assert_eq!(bench.fake.there(), 1);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_start_that_nobody_waits_for_any_more_still_gives_an_instance() {
    let bench = Bench::new(global);
    bench.fake.lock().start_takes = Duration::from_secs(3);
    let pool = Arc::clone(&bench.pool);
    let only = tokio::spawn(async move { pool.lease(&everybody(), patient()).await });
    settle().await;
    only.abort();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(bench.pool.status().instances.len(), 1);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn the_queues_deadline_does_not_cut_a_start() {
    let bench = Bench::new(global);
    bench.fake.lock().start_takes = Duration::from_secs(40);
    let lease = bench
        .pool
        .lease(&everybody(), wait(Duration::from_secs(1)))
        .await
        .unwrap();
    drop(lease);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_start_calls_fail_at_once_until_the_next_try() {
    let bench = Bench::new(global);
    bench.fake.lock().fails = true;
    let mut tries = Vec::new();
    for _ in 0..5 {
        match bench.pool.lease(&everybody(), patient()).await {
            Err(LeaseError::Start { retry_in: None, .. }) => {}
            other => panic!("{other:?}"),
        }
        let before = tokio::time::Instant::now();
        let Err(LeaseError::Start {
            retry_in: Some(retry_in),
            failure,
        }) = bench.pool.lease(&everybody(), patient()).await
        else {
            panic!("it was tried too soon");
        };
        assert_eq!(before.elapsed(), Duration::ZERO);
        assert!(failure.to_string().contains("no such program"), "{failure}");
        tries.push(retry_in.as_millis());
        tokio::time::advance(retry_in).await;
    }
    assert_eq!(tries, [250, 500, 1_000, 2_000, 4_000]);
    assert_eq!(bench.fake.started(), 5);
    assert!(bench.pool.status().last_error.is_some());
    bench.fake.lock().fails = false;
    drop(bench.pool.lease(&everybody(), patient()).await.unwrap());
    assert_eq!(bench.pool.status().last_error, None);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_start_tells_all_who_waited_for_it_and_gives_its_room_back() {
    let bench = Bench::new(|server| server.max = 1);
    {
        let mut script = bench.fake.lock();
        (script.fails, script.start_takes) = (true, Duration::from_secs(1));
    }
    let callers: Vec<_> = ["a", "a", "b"]
        .into_iter()
        .map(|session| {
            let pool = Arc::clone(&bench.pool);
            tokio::spawn(async move { pool.lease(&session_key(session), patient()).await })
        })
        .collect();
    for caller in callers {
        let refused = caller.await.unwrap();
        assert!(
            matches!(refused, Err(LeaseError::Start { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(bench.fake.there(), 0);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_failing_server_delays_no_running_instance_of_its_own() {
    let bench = Bench::new(|_| ());
    let a = bench.lease("a").await.unwrap();
    bench.fake.lock().fails = true;
    assert!(bench.lease("b").await.is_err());
    let again = bench.lease("a").await.unwrap();
    assert_eq!(again.instance().id(), "notes#1");
    drop((a, again));
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_breaks_or_hangs_is_a_failed_start() {
    let bench = Bench::new(global);
    bench.fake.lock().panics = true;
    let refused = bench.pool.lease(&everybody(), patient()).await.unwrap_err();
    assert!(refused.to_string().contains("its start broke"), "{refused}");
    tokio::time::advance(Duration::from_secs(1)).await;
    {
        let mut script = bench.fake.lock();
        (script.panics, script.start_takes) = (false, Duration::from_secs(100_000));
    }
    let refused = bench.pool.lease(&everybody(), patient()).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("it was not started within 65 s"),
        "{refused}"
    );
    assert_eq!(bench.fake.there(), 0);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_program_starts_in_the_folder_of_its_scope() {
    let home = testkit::TempHome::new();
    let folder = home.path().canonicalize().unwrap();
    let bench = Bench::new(|server| server.scope = Scope::Cwd);
    let caller = mcpx_api::Caller {
        cwd: Some(folder.clone()),
        ..mcpx_api::Caller::default()
    };
    let scoped = crate::registry::scope::key_of(Scope::Cwd, &caller);
    drop(bench.pool.lease(&scoped, patient()).await.unwrap());
    assert_eq!(
        *bench.fake.starts.lock().unwrap(),
        [("notes#1".to_owned(), Some(folder))]
    );
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_right_after_its_start_is_not_started_without_end() {
    let bench = Bench::new(global);
    bench.fake.lock().is_stillborn = true;
    let refused = bench.pool.lease(&everybody(), patient()).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("it ended right after its start"),
        "{refused}"
    );
    assert_eq!(bench.fake.started(), 1);
    let refused = bench.pool.lease(&everybody(), patient()).await;
    assert!(
        matches!(
            refused,
            Err(LeaseError::Start {
                retry_in: Some(_),
                ..
            })
        ),
        "{refused:?}"
    );
    settle().await;
    bench.ends_clean().await;
}
