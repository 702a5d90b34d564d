//! What is left of a server's processes.

use std::time::Duration;

use mcp_client::Reach;
use testkit::mcp::{Behaviour, Chaos};
use testkit::wait_until;

use crate::setup::{connected, object, options};

fn runs(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_closed_connection_leaves_no_process_however_stubborn() {
    let stubborn = || {
        Chaos::new()
            .outlives_stdin()
            .ignores_sigterm()
            .with_grandchild()
    };
    for chaos in [Chaos::new(), Chaos::new().with_grandchild(), stubborn()] {
        let server = chaos.stdio();
        let connection = connected(&server).await;
        let mut processes = server.received().processes();
        processes.extend(server.received().grandchildren());
        assert!(processes.iter().all(|process| runs(*process)));
        let pid = connection.pid().and_then(|pid| u32::try_from(pid).ok());
        assert_eq!(pid, processes.first().copied());
        assert!(!connection.is_closed());
        assert_eq!(connection.close().await, Vec::<i32>::new());
        wait_until("they ended", Duration::from_secs(10), || {
            !processes.iter().any(|process| runs(*process))
        });
        let says_so = async {
            while !connection.is_closed() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), says_so)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_dropped_connection_leaves_no_process() {
    let server = Chaos::new().with_grandchild().stdio();
    let connection = connected(&server).await;
    let mut processes = server.received().processes();
    processes.extend(server.received().grandchildren());
    drop(connection);
    let ended = tokio::task::spawn_blocking(move || {
        wait_until("they ended", Duration::from_secs(10), || {
            !processes.iter().any(|process| runs(*process))
        });
    });
    ended.await.unwrap();
}

#[tokio::test]
async fn a_server_that_writes_much_to_stderr_is_not_stopped_by_it() {
    let script = [Behaviour::Stderr(20_000), Behaviour::Answer];
    let server = Chaos::new().chatter(20_000).tool("loud", script).stdio();
    let connection = connected(&server).await;
    assert!(
        connection
            .call_tool("loud", object("{}"), &options())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn npx_wrapper_tree() {
    let server = Chaos::new()
        .with_grandchild()
        .outlives_stdin()
        .tool("echo", Behaviour::Answer)
        .stdio();
    let command = server.command();
    // A wrapper that stays: what it starts is the server, two levels down.
    let line = std::iter::once(&command.program)
        .chain(&command.args)
        .map(|word| format!("'{word}'"));
    let line = format!("sh -c \"{}\"; true", line.collect::<Vec<_>>().join(" "));
    let spec = crate::setup::program_spec("sh", &["-c".to_owned(), line]);
    let connection = mcp_client::connect(spec, None).await.unwrap();
    assert!(
        connection
            .call_tool("echo", object("{}"), &options())
            .await
            .is_ok()
    );
    let mut processes = server.received().processes();
    processes.extend(server.received().grandchildren());
    assert_eq!(connection.close().await, Vec::<i32>::new());
    let ended = || !processes.iter().any(|process| runs(*process));
    wait_until("they ended", Duration::from_secs(10), ended);
}

#[tokio::test]
async fn every_process_of_a_marked_server_carries_the_mark_the_fresh_one_after_a_probe_too() {
    let server = Chaos::new()
        .legacy()
        .probe(Behaviour::Exit(1))
        .with_grandchild()
        .stdio();
    let nonce = format!("test-probe-{:010}", std::process::id());
    let mark = child_process::Mark::new(&nonce).unwrap();
    let mut spec = crate::setup::spec(&server);
    let Reach::Stdio(program) = spec.reach else {
        panic!("a program")
    };
    spec.reach = Reach::Stdio(program.mark(mark.clone()));
    let connection = mcp_client::connect(spec, None).await.unwrap();
    let processes = server.received().processes();
    assert_eq!(processes.len(), 2, "one for the probe, one after it");
    let found: Vec<u32> = mark
        .find()
        .unwrap()
        .iter()
        .map(|found| found.identity.pid.try_into().unwrap())
        .collect();
    let grandchildren = server.received().grandchildren();
    let living = processes
        .iter()
        .chain(&grandchildren)
        .filter(|pid| runs(**pid));
    let mut living: Vec<u32> = living.copied().collect();
    living.sort_unstable();
    assert_eq!((living.len(), found), (2, living));
    assert_eq!(connection.close().await, Vec::<i32>::new());
    assert_eq!(mark.find().unwrap(), []);
}
