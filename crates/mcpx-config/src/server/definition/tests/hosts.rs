//! Entries as other hosts write them.

use super::*;
use crate::Transport;

#[test]
fn what_is_null_is_not_there() {
    let server = read(
        &json!({"command": "x", "url": null, "env": null, "cwd": null, "headers": null, "type": null, "mcpx": null, "auth": null}),
    );
    assert!(server.is_ready() && server.unknown_keys.is_empty());
}

#[test]
fn a_key_that_does_nothing_for_this_kind_of_server_is_named() {
    let named = |entry: serde_json::Value| read(&entry).unknown_keys;
    assert_eq!(
        named(
            json!({"url": "http://h", "type": "http", "env": {"A": "1"}, "args": [], "cwd": "/", "alwaysAllow": []})
        ),
        ["alwaysAllow", "args", "cwd", "env"]
    );
    assert_eq!(
        named(json!({"command": "x", "headers": {"A": "1"}, "type": "http", "timeout": 5})),
        ["headers", "timeout", "type"]
    );
    assert_eq!(
        named(
            json!({"command": "x", "type": "stdio", "transport": "stdio", "disabled": false, "enabled": true})
        ),
        Vec::<String>::new()
    );
    assert_eq!(
        named(json!({"aliasOf": "x", "protocol": "legacy", "args": []})),
        ["args", "protocol"]
    );
}

#[test]
fn a_switch_that_is_no_switch_is_an_error() {
    for key in ["disabled", "enabled"] {
        let entry = json!({"command": "x", key: "true"});
        assert!(
            error(&entry).contains("expected `true` or `false`"),
            "{key}"
        );
    }
}

#[test]
fn a_url_under_another_hosts_key_is_told_how_it_is_called_here() {
    let error = read_with(&json!({"serverUrl": "http://h"}), &[]).unwrap_err();
    assert_eq!(
        error.hint.as_deref(),
        Some("`serverUrl` of other hosts is `url` here")
    );
}

#[test]
fn what_only_looks_like_a_reference_is_kept_with_its_key() {
    let server =
        read(&json!({"command": "x", "args": ["${config:a}", "$${b}"], "env": {"E": "${F:?no}"}}));
    assert_eq!(
        server.unread,
        [
            ("args[0]".to_owned(), "${config:a}".to_owned()),
            ("env.E".to_owned(), "${F:?no}".to_owned())
        ]
    );
}

#[test]
fn the_transport_of_other_hosts_is_understood() {
    let transport = |entry: serde_json::Value| match read(&entry).reach {
        Reach::Http { transport, .. } => transport,
        other => panic!("{other:?}"),
    };
    assert_eq!(transport(json!({"url": "http://h"})), Transport::Http);
    assert_eq!(
        transport(json!({"url": "http://h", "type": "sse"})),
        Transport::Sse
    );
    assert_eq!(
        transport(json!({"url": "http://h", "transport": "http", "type": "sse"})),
        Transport::Http
    );
    assert_eq!(
        transport(json!({"url": "http://h", "type": "streamable_http"})),
        Transport::Http
    );
    // What another host calls a kind makes this one server unavailable; our own key is to be right.
    assert_eq!(
        unavailable(&json!({"url": "http://h", "type": "carrier-pigeon"})),
        "`type`: it is `carrier-pigeon`; expected `http` or `sse`"
    );
    assert!(
        error(&json!({"url": "http://h", "transport": "carrier-pigeon"}))
            .contains("`http` or `sse`")
    );
}
