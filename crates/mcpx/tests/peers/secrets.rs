//! Secrets of the configuration and of the environment, looked for everywhere they must not be.

use std::path::Path;

use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, Reply};

use crate::hub::{Hub, stateful};

/// Each is the value of one secret.
const SENTINELS: [&str; 5] = [
    "sentinel-header-4f1c9a27",
    "sentinel-bearer-77d0e3b1",
    "sentinel-env-c2a85510",
    "sentinel-told-91be64f3",
    "sentinel-variable-5d3307ce",
];

/// The files of a folder, all the way down, that hold one of them.
fn files_that_tell(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_that_tell(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            let told = SENTINELS.iter().filter(|secret| text.contains(**secret));
            found.extend(told.map(|secret| format!("{}: {secret}", path.display())));
        }
    }
    found
}

#[test]
fn secret_sentinel_nowhere() {
    let [header, bearer, env, told, variable] = SENTINELS;
    let refusing = Chaos::new()
        .on("initialize", Behaviour::Http(Reply::status(401)))
        .http();
    let working = Chaos::new().legacy().tool("work", Behaviour::Answer).http();
    let mut state = stateful(json!({ "requiresSecrets": ["TOLD_TOKEN"] }));
    state["env"] = json!({ "API_KEY": env, "OTHER": "${VARIABLE_TOKEN}" });
    let http = |url: &str| json!({ "url": url, "headers": { "X-Api-Key": header }, "auth": { "type": "bearer", "token": bearer } });
    let failing = json!({
        "command": "sh",
        "args": ["-c", "echo \"bad key $API_KEY, $OTHER, $TOLD_TOKEN\" >&2; exit 3", "sh", "${VARIABLE_TOKEN}"],
        "env": { "API_KEY": env, "OTHER": "${VARIABLE_TOKEN}" },
        "mcpx": { "requiresSecrets": ["TOLD_TOKEN"] },
    });
    let hub = Hub::new(&json!({
        "state": state,
        "failing": failing,
        "refusing": http(refusing.url()),
        "working": http(working.url()),
    }));
    hub.add_variables(&[("TOLD_TOKEN", told), ("VARIABLE_TOKEN", variable)]);
    let mut said = String::new();
    let commands: [&[&str]; 24] = [
        &["call", "state.who"],
        &["call", "working.work"],
        &["call", "working.work", "--task"],
        &["call", "failing.any"],
        &["call", "refusing.any"],
        &["call", "failing.any", "--task"],
        &["status"],
        &["health"],
        &["ls"],
        &["servers", "list"],
        &["config"],
        &["config", "--sources"],
        &["settings", "list"],
        &["daemons"],
        &["doctor"],
        &["log", "--level", "debug"],
        &["stats"],
        &["task", "list"],
        &["history"],
        &["protocol"],
        &["resolve"],
        &["schema"],
        &["refresh"],
        &["catalog"],
    ];
    for args in commands {
        for json in [&[][..], &["--json"]] {
            let ran = hub.run(&[json, args].concat());
            for secret in SENTINELS {
                let all = format!("{}{}", ran.out, ran.err);
                assert!(
                    !all.contains(secret),
                    "{args:?} {json:?} tells {secret}: {all}"
                );
            }
            said.push_str(&ran.out);
        }
    }
    assert!(said.contains("X-Api-Key"), "names are told");
    // What they were for has got them.
    let sent = working.received().of_method("tools/call")[0]
        .headers
        .clone();
    assert_eq!(sent["x-api-key"], header);
    assert_eq!(sent["authorization"], format!("Bearer {bearer}"));
    hub.ok(&["stop"]);
    assert_eq!(files_that_tell(&hub.state()), Vec::<String>::new());
}
