//! How instances end, and how they are kept.

use std::{sync::Arc, time::Duration};

use mcp_client::Event;
use mcpx_config::{Scope, Sharing};

use crate::registry::pool::{
    LeaseError,
    fake::{Bench, everybody, link, patient, server, session_key, settle},
};

#[tokio::test(start_paused = true)]
async fn what_died_is_dropped_at_once_and_never_given_out() {
    let bench = Bench::new(|server| server.max = 1);
    let lease = bench.lease("a").await.unwrap();
    link(&lease).say(Event::Closed {
        why: "its process ended (exit status: 1)".to_owned(),
    });
    settle().await;
    // It is gone while its call still holds the lease.
    assert!(bench.pool.status().instances.is_empty());
    let next = bench.lease("a").await.unwrap();
    assert_eq!(next.instance().id(), "notes#2");
    // What comes back from a dead instance touches no other one.
    drop(lease);
    assert_eq!(bench.pool.status().instances[0].holders, 1);
    drop(next);
    let told = bench.seen.told();
    assert!(
        told.contains(
            &"notes#1 ended: it ended by itself: its process ended (exit status: 1)".to_owned()
        ),
        "{told:?}"
    );
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn what_broke_in_silence_is_found_when_it_is_asked_for() {
    let bench = Bench::new(|_| ());
    let lease = bench.lease("a").await.unwrap();
    link(&lease).break_silently();
    drop(lease);
    let next = bench.lease("a").await.unwrap();
    assert_eq!(next.instance().id(), "notes#2");
    drop(next);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_that_drowned_in_what_an_instance_said_is_told() {
    let bench = Bench::new(|_| ());
    let lease = bench.lease("a").await.unwrap();
    link(&lease).say(Event::ToolsChanged);
    for _ in 0..100 {
        link(&lease).say(Event::Noise {
            head: "x".to_owned(),
        });
    }
    settle().await;
    let told = bench.seen.told();
    for change in ["ToolsChanged", "PromptsChanged", "ResourcesChanged"] {
        let said = format!("notes#1 said {change}");
        assert!(told.contains(&said), "{change}: {told:?}");
    }
    drop(lease);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_poisoned_instance_ends_with_its_last_lease_and_nobody_gets_it_before() {
    let bench = Bench::new(|server| server.max = 1);
    let first = bench.lease("a").await.unwrap();
    let second = bench.lease("a").await.unwrap();
    first.poison("it answered nonsense");
    drop(first);
    let pool = Arc::clone(&bench.pool);
    let waits = tokio::spawn(async move { pool.lease(&session_key("a"), patient()).await });
    settle().await;
    assert!(!waits.is_finished());
    drop(second);
    let fresh = waits.await.unwrap().unwrap();
    assert_eq!(fresh.instance().id(), "notes#2");
    drop(fresh);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn the_place_of_an_instance_that_ends_is_free_only_when_it_has_ended() {
    let bench = Bench::new(|server| server.max = 1);
    bench.fake.lock().end_takes = Duration::from_secs(2);
    drop(bench.lease("a").await.unwrap());
    let before = tokio::time::Instant::now();
    drop(bench.lease("b").await.unwrap());
    assert_eq!(before.elapsed().as_secs(), 2);
    assert_eq!(bench.fake.most.load(std::sync::atomic::Ordering::SeqCst), 1);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn an_unused_instance_ends_after_its_time_but_not_with_a_subscription() {
    let bench = Bench::new(|_| ());
    let lease = bench.lease("a").await.unwrap();
    let subscription = lease.instance().subscribe();
    tokio::time::advance(Duration::from_secs(400)).await;
    bench.pool.sweep().await;
    drop(lease);
    tokio::time::advance(Duration::from_secs(299)).await;
    bench.pool.sweep().await;
    assert_eq!(bench.pool.status().instances.len(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    bench.pool.sweep().await;
    assert_eq!(bench.pool.status().instances.len(), 1);
    drop(subscription);
    bench.pool.sweep().await;
    assert_eq!(bench.pool.status().instances.len(), 0);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_global_server_is_started_for_min_and_kept() {
    let bench = Bench::new(|server| {
        server.scope = Scope::Global;
        (server.max, server.min) = (1, 1);
    });
    bench.pool.sweep().await;
    settle().await;
    assert_eq!(bench.pool.status().instances[0].key, "global");
    tokio::time::advance(Duration::from_secs(10_000)).await;
    bench.pool.sweep().await;
    assert_eq!(bench.pool.status().instances.len(), 1);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn min_keeps_the_keys_that_were_used_last_and_starts_them_again() {
    let bench = Bench::new(|server| (server.max, server.min) = (3, 1));
    bench.pool.sweep().await;
    assert_eq!(bench.fake.started(), 0, "nobody knows a key yet");
    for session in ["a", "b"] {
        drop(bench.lease(session).await.unwrap());
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    tokio::time::advance(Duration::from_secs(1_000)).await;
    bench.pool.sweep().await;
    let keys = |bench: &Bench| -> Vec<String> {
        let instances = bench.pool.status().instances;
        instances.into_iter().map(|instance| instance.key).collect()
    };
    assert_eq!(keys(&bench), ["session:b"]);
    let lease = bench.lease("b").await.unwrap();
    link(&lease).say(Event::Closed {
        why: "it crashed".to_owned(),
    });
    drop(lease);
    settle().await;
    bench.pool.sweep().await;
    settle().await;
    assert_eq!(keys(&bench), ["session:b"]);
    // A session that was released is kept for nobody.
    let released = bench.pool.release(&[session_key("b").key]).await;
    assert_eq!((released, keys(&bench).len()), (1, 0));
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_release_ends_what_the_caller_alone_had_when_its_calls_are_done() {
    let bench = Bench::new(|_| ());
    let a = bench.lease("a").await.unwrap();
    drop(bench.lease("b").await.unwrap());
    let released = bench
        .pool
        .release(&[session_key("a").key, everybody().key])
        .await;
    assert_eq!(released, 1);
    assert_eq!(bench.pool.status().instances.len(), 2);
    drop(a);
    let left = bench.pool.status().instances;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].key, "session:b");
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn other_sizes_keep_what_runs() {
    let bench = Bench::new(|_| ());
    let a = bench.lease("a").await.unwrap();
    let b = bench.lease("b").await.unwrap();
    let pool = Arc::clone(&bench.pool);
    let c = tokio::spawn(async move { pool.lease(&session_key("c"), patient()).await });
    settle().await;
    bench
        .pool
        .reconfigure(Arc::new(server(|server| server.max = 3)));
    let c = c.await.unwrap().unwrap();
    assert_eq!(c.instance().id(), "notes#3");
    bench
        .pool
        .reconfigure(Arc::new(server(|server| server.max = 1)));
    assert_eq!(bench.pool.status().instances.len(), 3);
    drop((a, b, c));
    bench.pool.sweep().await;
    assert_eq!(bench.pool.status().instances.len(), 1);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_starts_the_same_keys_and_says_what_it_skipped() {
    let bench = Bench::new(|server| server.max = 4);
    let mut once = session_key("once");
    once.ends_with_caller = true;
    let held = bench.pool.lease(&once, patient()).await.unwrap();
    drop(bench.lease("a").await.unwrap());
    let restarted = bench.pool.restart(false).await;
    assert_eq!(restarted.stopped, 2);
    assert_eq!(restarted.started, ["notes#3"]);
    assert_eq!(
        restarted.skipped,
        [(
            "session:once".to_owned(),
            "it belongs to one call".to_owned()
        )]
    );
    drop(held);
    let lazy = bench.pool.restart(true).await;
    assert_eq!((lazy.stopped, lazy.started.len()), (1, 0));
    assert_eq!(bench.fake.there(), 0);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_a_global_server_forgets_failures_and_proves_that_it_works() {
    let bench = Bench::new(|server| {
        server.scope = Scope::Global;
        server.max = 1;
    });
    bench.fake.lock().fails = true;
    assert!(bench.pool.lease(&everybody(), patient()).await.is_err());
    let restarted = bench.pool.restart(false).await;
    assert_eq!(restarted.failed.len(), 1, "{restarted:?}");
    bench.fake.lock().fails = false;
    let restarted = bench.pool.restart(false).await;
    assert_eq!(restarted.started, ["notes#3"]);
    bench.ends_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_pool_refuses_ends_everything_and_starts_nothing() {
    let bench = Bench::new(|server| server.sharing = Sharing::Exclusive);
    let held = bench.lease("a").await.unwrap();
    bench.fake.lock().start_takes = Duration::from_secs(30);
    let waiting: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|session| {
            let pool = Arc::clone(&bench.pool);
            tokio::spawn(async move { pool.lease(&session_key(session), patient()).await })
        })
        .collect();
    settle().await;
    bench.pool.close().await;
    for caller in waiting {
        assert!(matches!(caller.await.unwrap(), Err(LeaseError::Closed)));
    }
    assert!(matches!(bench.lease("c").await, Err(LeaseError::Closed)));
    assert_eq!(bench.fake.there(), 0);
    bench.pool.sweep().await;
    drop(held);
    assert!(bench.pool.status().instances.is_empty());
    let told = bench.seen.told();
    assert!(
        !told.contains(&"notes failed to start".to_owned()),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_narrower_key_is_warned_of_once_a_reason() {
    let bench = Bench::new(|_| ());
    for _ in 0..3 {
        let scoped = crate::registry::scope::key_of(Scope::Session, &mcpx_api::Caller::default());
        drop(bench.pool.lease(&scoped, patient()).await.unwrap());
    }
    let told = bench.seen.told();
    let warned: Vec<&String> = told
        .iter()
        .filter(|told| told.starts_with("warned"))
        .collect();
    assert_eq!(warned.len(), 1, "{told:?}");
    assert!(warned[0].contains("MCPX_SESSION_ID"), "{warned:?}");
    bench.ends_clean().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn what_belongs_to_a_process_ends_when_that_has_ended() {
    let mut child = testkit::mcp::CommandLine::new("sleep", &["60"])
        .to_command()
        .spawn()
        .unwrap();
    let bench = Bench::new(|server| (server.scope, server.min) = (Scope::Pid, 2));
    let caller = mcpx_api::Caller {
        pid: i32::try_from(child.id()).ok(),
        ..mcpx_api::Caller::default()
    };
    let scoped = crate::registry::scope::key_of(Scope::Pid, &caller);
    drop(bench.pool.lease(&scoped, patient()).await.unwrap());
    bench.pool.sweep().await;
    assert_eq!(bench.pool.status().instances.len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    bench.pool.sweep().await;
    assert!(bench.pool.status().instances.is_empty());
    let told = bench.seen.told();
    assert!(
        told.contains(&"notes#1 ended: the process it belonged to ended".to_owned()),
        "{told:?}"
    );
    // `min` starts nothing for it again.
    bench.pool.sweep().await;
    assert_eq!(bench.fake.started(), 1);
    bench.ends_clean().await;
}
