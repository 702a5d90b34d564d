//! What a project may do before and after the person accepted it.

use super::*;

#[test]
fn a_project_chooses_no_program_before_it_is_trusted() {
    let place = Place::new().file(
        "work/.mcp.json",
        &server(r#"{"command": "${EVIL}", "env": {"K": "literal"}}"#),
    );
    let config = place.load();
    assert_eq!(
        config.servers["a"].availability,
        Availability::Unavailable {
            reason: Reason::Untrusted {
                file: place.path("work/.mcp.json"),
                line: 1
            }
        }
    );
    assert_eq!(
        config.untrusted[0].asked,
        Asked::Server {
            name: "a".to_owned(),
            launch: "${EVIL}, with the environment {\"K\":\"literal\"}".to_owned()
        }
    );
    assert!(place.trusting().env("EVIL", "x").load().servers["a"].is_ready());
}

#[test]
fn a_changed_launch_asks_again_and_a_changed_description_does_not() {
    let mut place = Place::new()
        .file(
            "work/.mcp.json",
            &server(r#"{"command": "x", "mcpx": {"description": "old"}}"#),
        )
        .trusting();
    place = place.file(
        "work/.mcp.json",
        &server(r#"{"command": "x", "mcpx": {"description": "new", "excludeTools": ["y"]}}"#),
    );
    assert!(place.load().servers["a"].is_ready());
    place = place.file(
        "work/.mcp.json",
        &server(r#"{"command": "x", "args": ["--evil"]}"#),
    );
    assert!(!place.load().servers["a"].is_ready());
}

#[test]
fn whatever_decides_a_launch_asks_again() {
    let program = r#""command": "x", "args": ["a"], "env": {"A": "1"}, "cwd": "/", "protocol": "legacy", "mcpx": {"scope": "cwd", "sharing": "shared"}"#;
    let network = r#""url": "http://h", "type": "http", "headers": {"A": "1"}, "auth": {"type": "bearer", "token": "${T}"}"#;
    let view = r#""aliasOf": "b", "mcpx": {"tools": ["a"], "excludeTools": ["b"]}"#;
    for (entry, from, to) in [
        (program, r#""x""#, r#""y""#),
        (program, r#"["a"]"#, r#"["a", "b"]"#),
        (program, r#""A": "1""#, r#""A": "2""#),
        (program, r#""A": "1""#, r#""PATH": ".", "A": "1""#),
        (program, r#""cwd": "/""#, r#""cwd": "/tmp""#),
        (program, "legacy", "modern"),
        (program, r#""cwd", "sharing""#, r#""call", "sharing""#),
        (program, "shared", "exclusive"),
        (network, "http://h", "http://evil"),
        (network, r#""type": "http""#, r#""type": "sse""#),
        (
            network,
            r#""type": "http""#,
            r#""type": "http", "transport": "sse""#,
        ),
        (network, r#""A": "1""#, r#""A": "${SECRET}""#),
        (network, "${T}", "${OTHER}"),
        (view, r#""b", "mcpx""#, r#""c", "mcpx""#),
        (view, r#"["a"]"#, r#"["a", "b"]"#),
        (view, r#"["b"]"#, "[]"),
    ] {
        let written = |entry: &str| server(&format!("{{{entry}}}"));
        let place = Place::new()
            .file("work/.mcp.json", &written(entry))
            .trusting();
        assert!(place.load().untrusted.is_empty(), "{entry}");
        let changed = entry.replacen(from, to, 1);
        assert_ne!(changed, entry, "{from}");
        let place = place.file("work/.mcp.json", &written(&changed));
        assert_eq!(place.load().untrusted.len(), 1, "{changed}");
    }
}

#[test]
fn an_untrusted_entry_does_not_displace_the_persons_own() {
    let place = Place::new()
        .file(USER, &server(r#"{"command": "mine"}"#))
        .file("work/.mcp.json", &server(r#"{"command": "theirs"}"#));
    let config = place.load();
    assert_eq!(command(&config, "a"), "mine");
    assert!(config.servers["a"].is_ready());
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    assert_eq!(command(&place.trusting().load(), "a"), "theirs");
}

#[test]
fn a_project_may_drop_a_server_and_tighten_a_setting_unasked() {
    let place = Place::new()
        .file(USER, &server(r#"{"command": "mine"}"#))
        .file(
            "work/.mcpx.json",
            r#"{"mcpServers": {"a": {"mcpx": {"disabled": true}}},
               "proto": {"serveMCP": false},
               "pool": {"idleTimeout": "1m", "excludeTools": ["*_delete"]}}"#,
        );
    let config = place.load();
    assert!(config.servers.is_empty());
    assert!(!config.settings.bool(settings::key::PROTO_SERVE_MCP));
    assert_eq!(
        config
            .settings
            .duration(settings::key::POOL_IDLE_TIMEOUT)
            .as_secs(),
        60
    );
    assert!(config.untrusted.is_empty());
}

#[test]
fn a_project_takes_no_requirement_away() {
    let place = Place::new()
        .file(
            USER,
            r#"{"mcpServers": {"a": {"command": "x"}}, "pool": {"requiresSecrets": ["MINE"]}}"#,
        )
        .file("work/.mcpx.json", r#"{"pool": {"requiresSecrets": []}}"#);
    assert_eq!(place.load().servers["a"].requires_secrets, ["MINE"]);
}

#[test]
fn a_project_widens_no_setting_before_it_is_trusted() {
    let text = r#"{"daemon": {"address": "0.0.0.0"}, "transport": {"allowedOrigins": ["https://evil"]},
        "socketPath": "/tmp/s", "autostart": {"bin": "/tmp/evil"}, "presets": {"x": ["--address=0.0.0.0"]},
        "preset": ["x"], "proto": {"serveMCP": true}, "pool": {"tools": ["*"], "default": true}}"#;
    let place = Place::new().file("work/.mcpx.json", text);
    let config = place.load();
    assert!(
        config
            .settings
            .all()
            .all(|(_, resolved)| resolved.source == Source::Default)
    );
    let mut asked: Vec<String> = config
        .untrusted
        .iter()
        .map(|one| match &one.asked {
            Asked::Setting { path, .. } => path.clone(),
            Asked::Server { name, .. } => name.clone(),
        })
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        [
            "autostart.bin",
            "daemon.address",
            "pool.default",
            "pool.tools",
            "preset",
            "presets",
            "proto.serveMCP",
            "socketPath",
            "transport.allowedOrigins"
        ]
    );
    let config = place.trusting().load();
    assert_eq!(
        config.settings.text(settings::key::DAEMON_ADDRESS),
        "0.0.0.0"
    );
}

#[test]
fn what_the_person_named_is_the_persons() {
    let mut place = Place::new()
        .file("work/other.json", &server(r#"{"command": "x"}"#))
        .file(
            "work/.mcp.json",
            r#"{"mcpServers": {"b": {"command": "y"}}}"#,
        );
    place.choice.config_file = Some(PathBuf::from("../other.json"));
    let config = place.load();
    assert!(config.servers["a"].is_ready());
    assert_eq!(config.servers.len(), 1);

    place.choice.config_file = None;
    let by_variable = place.env("MCPX_CONFIG", "../other.json");
    assert_eq!(by_variable.load().key, config.key);
}

#[cfg(unix)]
#[test]
fn a_file_behind_two_paths_counts_once_and_stays_the_persons() {
    let place = Place::new().file(USER, &server(r#"{"command": "x"}"#));
    let alone = place.load();
    std::os::unix::fs::symlink(place.path(USER), place.path("work/.mcp.json")).unwrap();
    let config = place.load();
    assert_eq!(config.files.len(), 1);
    assert_eq!(config.key, alone.key);
    assert!(config.servers["a"].is_ready());
}

#[cfg(unix)]
#[test]
fn trust_in_one_project_is_none_in_another_that_links_to_its_file() {
    let place = Place::new()
        .file("work/.mcp.json", &server(r#"{"command": "./run.sh"}"#))
        .trusting();
    assert!(place.load().servers["a"].is_ready());
    fs::create_dir_all(place.path("work/deep")).unwrap();
    std::os::unix::fs::symlink(
        place.path("work/.mcp.json"),
        place.path("work/deep/.mcp.json"),
    )
    .unwrap();
    assert!(!place.load().servers["a"].is_ready());
}

#[cfg(unix)]
#[test]
fn a_link_to_the_persons_file_does_not_move_its_servers_into_the_project() {
    let place = Place::new().file(USER, &server(r#"{"command": "x", "cwd": "sub"}"#));
    std::os::unix::fs::symlink(place.path(USER), place.path("work/.mcp.json")).unwrap();
    let Reach::Stdio { cwd, .. } = &place.load().servers["a"].reach else {
        panic!("a program");
    };
    assert_eq!(
        cwd.as_deref(),
        Some(place.path(".config/mcpx/sub").as_path())
    );
}

#[test]
fn a_projects_server_takes_no_namespace_away() {
    let place = Place::new()
        .file(USER, &server(r#"{"command": "mine"}"#))
        .file(
            "work/.mcp.json",
            r#"{"mcpServers": {"0": {"command": "theirs", "mcpx": {"namespace": "a"}}}}"#,
        );
    let config = place.load();
    assert_eq!(config.by_namespace("a").unwrap().name, "a");
    assert_eq!(config.servers.len(), 1);
    assert_eq!(config.warnings.len(), 1);
    assert!(place.trusting().try_load().is_err());
}
