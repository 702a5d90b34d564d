//! What is left of a server behind a real wrapper when its daemon is killed.

use std::{fs, path::Path, process::Command, time::Duration};

use child_process::{Identity, Mark};
use testkit::wait_until;

const PATIENCE: Duration = Duration::from_secs(60);

/// `npx` as people configure it: it starts a shell, and that starts the server. The input is one that never ends, so
/// that the server is not told that its daemon has gone.
fn line(modules: &Path) -> String {
    format!(
        "cd {} && sleep 1000 | npx --offline mcp-server-everything stdio",
        modules.display()
    )
}

#[test]
fn a_killed_daemon_leaves_no_server_behind_npx() {
    let dir = tempfile::tempdir().unwrap();
    let nonce = mcpx_store::daemons::nonce().unwrap();
    let mark = Mark::new(&nonce).unwrap();
    let said = dir.path().join("said");
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("examples/child_owner");
    let mut daemon = Command::new(program)
        .arg(dir.path().join("state"))
        .args([&nonce, said.to_str().unwrap()])
        .arg(line(&testkit::peers::dir().join("mcp")))
        .spawn()
        .unwrap();
    let servers = || {
        let found = mark.find().unwrap();
        let is_server = |command: &str| command.starts_with("node ") && !command.contains("npx");
        let servers = found.into_iter().filter(|one| is_server(&one.command));
        servers.map(|one| one.identity).collect::<Vec<Identity>>()
    };
    wait_until("the server runs", PATIENCE, || servers().len() == 1);
    let server = servers();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    wait_until("nothing is left", PATIENCE, || {
        mark.find().unwrap().is_empty()
    });
    // Whoever inherits it collects it when they come to it.
    wait_until("the server is collected", PATIENCE, || {
        server[0].lives() == Some(false)
    });
    let guardian: i32 = fs::read_to_string(&said).unwrap().parse().unwrap();
    wait_until("the guardian is gone", PATIENCE, || {
        Identity::of(guardian).is_none_or(|one| one.lives() == Some(false))
    });
}
