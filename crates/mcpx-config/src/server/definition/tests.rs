mod hosts;

use std::path::Path;

use serde_json::json;

use super::*;
use crate::{Auth, files};

fn read_with(entry: &serde_json::Value, env: &[(&str, &str)]) -> Result<Server, ConfigError> {
    let surroundings = Surroundings {
        cwd: "/p".into(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        home: Some("/home/u".into()),
        exe: "/bin/mcpx".into(),
    };
    let settings = Settings::defaults();
    let pool = PoolBlock::merged(&[]);
    let context = Context {
        surroundings: &surroundings,
        settings: &settings,
        pool: &pool,
    };
    let found = Found {
        path: "/p/f.json".into(),
        resolved: "/p/f.json".into(),
        folder: "/p".into(),
        kind: FileKind::User,
    };
    let text = json!({ "s": entry }).to_string();
    let root = files::parse(&text, Path::new("/p/f.json")).unwrap();
    super::read(&root.entries()[0], &found, &context, true)
}

fn read(entry: &serde_json::Value) -> Server {
    read_with(entry, &[]).unwrap()
}

fn error(entry: &serde_json::Value) -> String {
    let error = read_with(entry, &[]).unwrap_err();
    format!("{}; expected {}", error.found, error.expected)
}

fn unavailable(entry: &serde_json::Value) -> String {
    read(entry).reason().unwrap().to_string()
}

#[test]
fn exactly_one_way_to_reach_a_server_is_wanted() {
    assert_eq!(
        error(&json!({"args": []})),
        "nothing that says how it is reached in the server `s`; expected one of `command`, `url` and `aliasOf`"
    );
    assert_eq!(
        error(&json!({"command": "x", "url": "http://h"})),
        "`command` and `url` in the server `s`; expected one of `command`, `url` and `aliasOf`"
    );
}

#[test]
fn an_unknown_key_in_the_block_is_an_error_with_the_nearest_one() {
    let error = read_with(&json!({"command": "x", "mcpx": {"idleTimout": "1s"}}), &[]).unwrap_err();
    assert_eq!(error.found, "the key `idleTimout` in `mcpx`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `idleTimeout`?"));
}

#[test]
fn values_of_the_wrong_kind_are_errors() {
    for (block, found) in [
        (json!({"max": 0}), "the number `0` for `max`"),
        (json!({"max": -1}), "the number `-1` for `max`"),
        (json!({"scope": "galaxy"}), "the text `galaxy` for `scope`"),
        (
            json!({"callTimeout": "5"}),
            "the text `5` for `callTimeout`",
        ),
        (
            json!({"namespace": "class"}),
            "the text `class` for `namespace`",
        ),
        (
            json!({"namespace": "a-b"}),
            "the text `a-b` for `namespace`",
        ),
        (json!({"tools": "x"}), "the text `x` for `tools`"),
        (
            json!({"tools": ["/(/"]}),
            "`/(/` in `tools`: unclosed group",
        ),
        (
            json!({"logging": {"level": "loud"}}),
            "the text `loud` for `level`",
        ),
        (json!("x"), "the text `x` for `mcpx`"),
    ] {
        let message = error(&json!({"command": "x", "mcpx": block}));
        assert!(message.starts_with(found), "{message}");
    }
}

#[test]
fn a_name_becomes_a_namespace_that_leads_back_to_it() {
    let server = read(&json!({"command": "x"}));
    assert_eq!(server.namespace, "s");
    assert_eq!(server.max, 1);
    assert!(server.is_ready());
}

#[test]
fn a_secret_one_level_too_high_is_not_quoted() {
    for entry in [
        json!({"url": "http://h", "headers": "Authorization: Bearer hunter2"}),
        json!({"command": "x", "env": "API_KEY=hunter2"}),
        json!({"command": "x", "args": "--token hunter2"}),
        json!({"url": "http://h", "auth": "hunter2"}),
        json!({"url": ["http://h/?key=hunter2"]}),
        json!("https://h/hunter2"),
    ] {
        let error = read_with(&entry, &[]).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn a_path_to_a_program_begins_where_it_runs() {
    let command = |entry: serde_json::Value| match read_with(&entry, &[("A", "sub")]).unwrap().reach
    {
        Reach::Stdio { command, .. } => command,
        other => panic!("{other:?}"),
    };
    assert_eq!(command(json!({"command": "npx"})), "npx");
    assert_eq!(command(json!({"command": "/bin/x"})), "/bin/x");
    assert_eq!(command(json!({"command": "./run.sh"})), "/p/run.sh");
    assert_eq!(
        command(json!({"command": "./run.sh", "cwd": "${A}"})),
        "/p/sub/run.sh"
    );
    assert_eq!(
        command(json!({"command": "~/bin/x", "cwd": "/q"})),
        "/home/u/bin/x"
    );
}

#[test]
fn what_a_system_or_http_cannot_carry_makes_a_server_unavailable() {
    assert_eq!(
        unavailable(&json!({"url": "ftp://h"})),
        "`url`: the scheme `ftp`; expected `http` or `https`"
    );
    assert!(unavailable(&json!({"url": "no"})).starts_with("`url`: it is no URL"));
    assert!(unavailable(&json!({"command": " "})).contains("it is empty"));
    assert!(unavailable(&json!({"command": "x", "args": ["a\u{0}"]})).contains("zero byte"));
    assert!(
        unavailable(&json!({"url": "http://h", "headers": {"A": "x\r\nB: y"}}))
            .contains("control character")
    );
    assert!(
        unavailable(&json!({"url": "http://h", "headers": {"A b": "x"}}))
            .contains("no name of a header")
    );
    assert!(
        unavailable(&json!({"command": "x", "env": {"A=B": "x"}})).contains("cannot be a variable")
    );
}

#[test]
fn a_credential_is_sent_where_it_belongs() {
    let auth = json!({"type": "bearer", "token": "${T}"});
    let server = read_with(
        &json!({"url": "http://h", "headers": {"authorization": "old", "X": "y"}, "auth": auth}),
        &[("T", "t")],
    )
    .unwrap();
    assert_eq!(
        server.sent_headers(),
        [
            ("X".to_owned(), "y".to_owned()),
            ("Authorization".to_owned(), "Bearer t".to_owned())
        ]
    );
    assert_eq!(server.secrets(), ["t", "old"]);

    let server = read(
        &json!({"url": "http://h", "auth": {"type": "basic", "username": "u", "password": "p"}}),
    );
    assert_eq!(
        server.sent_headers(),
        [("Authorization".to_owned(), "Basic dTpw".to_owned())]
    );

    let server = read(
        &json!({"url": "http://h/?a=1&k=old", "auth": {"type": "query", "name": "k", "value": "v w"}}),
    );
    assert_eq!(server.sent_url().as_deref(), Some("http://h/?a=1&k=v+w"));

    let server = read(
        &json!({"command": "x", "env": {"A": "1"}, "auth": {"type": "env", "name": "K", "value": "v"}}),
    );
    assert_eq!(server.sent_env().len(), 2);

    let server = read(&json!({"url": "http://h", "auth": {"type": "oauth", "scopes": ["a"]}}));
    assert!(server.wants_sign_in() && server.is_ready());
    assert!(matches!(server.auth, Some(Auth::OAuth { .. })));
}

#[test]
fn a_credential_that_does_not_fit_is_an_error() {
    assert!(
        error(&json!({"command": "x", "auth": {"type": "bearer", "token": "t"}}))
            .contains("a server that has a `command`")
    );
    assert!(
        error(&json!({"url": "http://h", "auth": {"type": "env", "name": "K", "value": "v"}}))
            .contains("a server that has a `url`")
    );
    assert!(
        error(&json!({"url": "http://h", "auth": {"token": "t"}}))
            .contains("`auth` without `type`")
    );
    assert!(
        error(&json!({"url": "http://h", "auth": {"type": "bearer"}}))
            .contains("`auth` without `token`")
    );
    assert!(
        error(&json!({"url": "http://h", "auth": {"type": "magic"}}))
            .contains("`magic` for `auth.type`")
    );
}

#[test]
fn a_missing_variable_of_a_credential_is_named_with_its_key() {
    let reason =
        unavailable(&json!({"url": "http://h", "auth": {"type": "bearer", "token": "${T}"}}));
    assert!(
        reason.starts_with("the variable `T` of `auth.token` is not set"),
        "{reason}"
    );
    let reason = unavailable(&json!({"command": "x", "args": ["a", "${input:db}"]}));
    assert!(
        reason.contains("the input `db` of `args[1]`") && reason.contains("`MCPX_INPUT_DB`"),
        "{reason}"
    );
}

#[test]
fn identity_covers_the_launch_and_nothing_else() {
    let base =
        json!({"command": "x", "args": ["a"], "env": {"A": "1"}, "mcpx": {"scope": "session"}});
    let of = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut entry = base.clone();
        change(&mut entry);
        read(&entry).identity()
    };
    let same = of(&|_| {});
    assert_eq!(same.len(), 16);
    assert_eq!(of(&|entry| entry["mcpx"]["max"] = json!(9)), same);
    assert_eq!(
        of(&|entry| entry["mcpx"]["callTimeout"] = json!("1s")),
        same
    );
    assert_eq!(of(&|entry| entry["mcpx"]["description"] = json!("d")), same);
    assert_ne!(of(&|entry| entry["args"] = json!(["a", "b"])), same);
    assert_ne!(of(&|entry| entry["env"]["A"] = json!("2")), same);
    assert_ne!(of(&|entry| entry["cwd"] = json!("/x")), same);
    assert_ne!(of(&|entry| entry["mcpx"]["scope"] = json!("pid")), same);
    assert_ne!(
        of(&|entry| entry["mcpx"]["sharing"] = json!("exclusive")),
        same
    );
    assert_ne!(of(&|entry| entry["protocol"] = json!("legacy")), same);

    let http = |headers: serde_json::Value, token: &str| {
        read(&json!({"url": "http://h", "headers": headers, "auth": {"type": "bearer", "token": token}})).identity()
    };
    assert_eq!(
        http(json!({"A": "1", "B": "2"}), "t"),
        http(json!({"A": "1", "B": "2"}), "t")
    );
    assert_ne!(http(json!({"A": "1"}), "t"), http(json!({"A": "1"}), "u"));
    assert_ne!(
        http(json!({"A": "1", "B": "2"}), "t"),
        http(json!({"B": "2", "A": "1"}), "t")
    );
}

#[test]
fn numbers_and_switches_in_the_environment_are_their_text() {
    let server =
        read(&json!({"command": "x", "args": ["--port", 3000], "env": {"P": 1, "D": true}}));
    assert_eq!(server.sent_env()["P"], "1");
    assert_eq!(server.sent_env()["D"], "true");
    assert!(error(&json!({"command": "x", "env": {"P": null}})).starts_with("`null` for `env.P`"));
}

#[test]
fn a_relative_folder_is_that_of_the_file_and_a_tilde_is_home() {
    let cwd = |cwd: &str| match read(&json!({"command": "x", "cwd": cwd})).reach {
        Reach::Stdio { cwd, .. } => cwd.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(cwd("sub"), Path::new("/p/sub"));
    assert_eq!(cwd("~/x"), Path::new("/home/u/x"));
    assert_eq!(cwd("/abs"), Path::new("/abs"));
}

#[test]
fn preconditions_take_one_or_several() {
    let server = read(
        &json!({"command": "x", "mcpx": {"preconditions": {"put": {"requiresSecret": "K", "requiresServers": ["b"]}}}}),
    );
    assert_eq!(server.preconditions["put"].requires_secrets, ["K"]);
    assert_eq!(server.preconditions["put"].requires_servers, ["b"]);
}

#[test]
fn a_secret_is_known_by_the_name_of_the_variable_that_it_comes_from() {
    let entry = json!({
        "command": "x",
        "args": ["--as", "${MY_TOKEN}", "${PLACE}"],
        "env": {"A": "${NONE:-${env:B_SECRET}}", "C": "${input:answer}"},
        "mcpx": {"requiresSecrets": ["REQUIRED"]},
    });
    let env = [
        ("MY_TOKEN", "of-args"),
        ("PLACE", "no secret"),
        ("B_SECRET", "of-default"),
        ("MCPX_INPUT_ANSWER", "of-input"),
        ("REQUIRED", "of-program"),
    ];
    let mut secrets = read_with(&entry, &env).unwrap().secrets();
    secrets.sort();
    assert_eq!(secrets, ["of-args", "of-default", "of-input", "of-program"]);
}
