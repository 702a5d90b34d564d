//! Which commands share an instance, and what is told of that.

use serde_json::{Value, json};

use crate::harness::{Mcpx, PROGRAM, demo};

fn with_scope(scope: &str) -> Mcpx {
    let mut entry = demo();
    entry["mcpx"] = json!({"scope": scope});
    Mcpx::with(&json!({"mcpServers": {"own": entry}}))
}

/// The instances that the commands of a script got, in their order.
fn instances_of(mcpx: &Mcpx, script: &str) -> Vec<String> {
    let mut command = mcpx.command(&[]);
    let mut shell = std::process::Command::new("/bin/sh");
    shell
        .args(["-c", script])
        .current_dir(mcpx.work.path())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("M", PROGRAM);
    command.stdin(std::process::Stdio::null());
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let documents = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    documents
        .map(|document| document.unwrap()["instance"].as_str().unwrap().to_owned())
        .collect()
}

const CALL: &str = r#""$M" --json call own.echo message=hi"#;

#[test]
fn the_commands_of_a_script_share_an_instance_of_their_process() {
    let mcpx = with_scope("pid");
    let script = format!("{CALL}; {CALL}; true");
    let one = instances_of(&mcpx, &script);
    let other = instances_of(&mcpx, &script);
    assert_eq!((one.len(), &one[0]), (2, &one[1]));
    assert_eq!((other.len(), &other[0]), (2, &other[1]));
    assert_ne!(one[0], other[0], "each script has its own");
    // In a script that runs its commands through other programs.
    let script = format!("export MCPX_PID=$$; sh -c '{CALL}; true'; {CALL}; true");
    let through = instances_of(&mcpx, &script);
    assert_eq!((through.len(), &through[0]), (2, &through[1]));
}

#[test]
fn the_commands_of_a_session_share_its_instance() {
    let mcpx = with_scope("session").variable("MCPX_SESSION", "s");
    let instance = || mcpx.json(&["call", "own.echo", "message=hi"]).1["instance"].clone();
    assert_eq!(instance(), instance());
}

#[test]
fn an_instance_of_one_call_ends_with_its_command() {
    let mcpx = with_scope("call");
    let instance = || mcpx.json(&["call", "own.echo", "message=hi"]).1["instance"].clone();
    assert_ne!(instance(), instance());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let (_, status) = mcpx.json(&["status"]);
        if status["servers"][0]["instances"] == json!([]) {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{status:#}");
    }
}

#[test]
fn the_status_tells_who_shares_and_from_where_sizes_and_times_are() {
    let mut twin = demo();
    twin["mcpx"] = json!({"callTimeout": "1500ms", "idleTimeout": "9m"});
    let mcpx = Mcpx::with(&json!({
        "pool": {"startTimeout": "90s"},
        "mcpServers": {"own": demo(), "twin": twin},
    }));
    mcpx.ok(&["call", "own.echo", "message=hi"]);
    let ran = mcpx.ok(&["status"]);
    ran.says(&[
        "own: shares its instances with twin",
        "twin: shares its instances with own",
    ]);
    assert!(!ran.stdout.contains("pool.callTimeout"), "{ran}");
    let ran = mcpx.run(&["doctor"]);
    let both = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        both.contains("own, twin are launched in the same way"),
        "{ran}"
    );
    assert!(both.contains("idle after 540 s"), "{ran}");
    let ran = mcpx.ok(&["status", "-v"]);
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split_ascii_whitespace().collect())
        .collect();
    for expected in [
        "own start 90s `pool.startTimeout`: [home]/.config/mcpx/config.json:1",
        "own call 120s `pool.callTimeout`: default",
        "twin call 1500ms [home]/.config/mcpx/config.json:1",
        "own idle 540s `twin`, which shares its instances: [home]/.config/mcpx/config.json:1",
        "own max 1 the scope `global`",
    ] {
        let words: Vec<&str> = expected.split(' ').collect();
        assert!(lines.contains(&words), "{expected}\n{ran}");
    }
}

#[test]
fn two_projects_may_give_different_servers_one_name_and_no_change_is_seen() {
    let mcpx = Mcpx::new();
    let project = |name: &str, more: &[&str]| {
        let mut entry = demo();
        entry["args"] = json!([&["demo-server"], more].concat());
        let file = mcpx.work.path().join(name);
        let list = json!({"mcpServers": {"db": entry}});
        mcpx.work.write(name, list.to_string());
        file.display().to_string()
    };
    let (first, second) = (project("a.json", &[]), project("b.json", &["--changed"]));
    for file in [&first, &second, &first, &second] {
        mcpx.ok(&["--config", file, "refresh"]);
    }
    for file in [&first, &second] {
        let (code, history) = mcpx.json(&["--config", file, "history"]);
        assert_eq!((code, &history["changes"]), (0, &json!({})), "{history}");
        assert!(
            history["tools"]
                .as_array()
                .is_some_and(|tools| tools.contains(&json!("db.echo"))),
            "{history}"
        );
        let other = mcpx.ok(&["--config", file, "stop"]);
        drop(other);
    }
}
