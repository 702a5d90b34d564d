//! `cox mcp probe`, against servers that behave and servers that do not.

use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, StdioChaos};

use crate::harness::{Cox, Ran};

/// Probes a server that cox starts itself.
fn probe(cox: &Cox, server: &StdioChaos, flags: &[&str]) -> Ran {
    let command = server.command();
    let mut args = vec!["mcp", "probe"];
    args.extend(flags);
    args.extend(["--", command.program.as_str()]);
    args.extend(command.args.iter().map(String::as_str));
    cox.run(&args)
}

fn eras() -> [(&'static str, &'static str, Chaos); 2] {
    [
        ("legacy", "2025-11-25", Chaos::new().legacy()),
        ("modern", "2026-07-28", Chaos::new().modern()),
    ]
}

#[test]
fn a_server_is_shown_and_one_of_its_tools_called_in_either_era() {
    for (era, revision, chaos) in eras() {
        let tool = json!({ "name": "look", "description": "Looks.\nAt things.", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true } });
        let server = chaos
            .tool_with(
                tool,
                Behaviour::Result(json!({ "content": [{ "type": "text", "text": "seen" }] })),
            )
            .listed(json!({ "name": "bad", "inputSchema": 7 }))
            .resource("test://a", "a")
            .stdio();
        let ran = probe(
            &Cox::new(),
            &server,
            &["--call", "look", "--input", r#"{"at":"x"}"#],
        );
        assert_eq!(ran.code, 0, "{ran}");
        for line in [
            "chaos 1",
            &format!("  era           {era} ({revision};"),
            "  resources     1",
            "tools (1)",
            "  look  [read-only]",
            "    Looks.",
            "  set aside: bad: `inputSchema`: expected an object, got a number",
            "look answered",
            "seen",
        ] {
            assert!(
                ran.stdout.lines().any(|there| there.starts_with(line)),
                "{line}\n{ran}"
            );
        }
        let received = server.received();
        assert_eq!(
            received.of_method("tools/call")[0].message["params"]["arguments"],
            json!({ "at": "x" })
        );
    }
}

#[test]
fn stdout_is_json_in_every_failure() {
    for (era, revision, chaos) in eras() {
        let server = chaos
            .tool("echo", Behaviour::Answer)
            .tool("fail", Behaviour::Failed("sorry"))
            .stdio();
        let document = probe(&Cox::new(), &server, &["--json", "--call", "echo"]).json();
        assert_eq!(document["connected"], true);
        assert_eq!(
            (document["era"].as_str(), document["revision"].as_str()),
            (Some(era), Some(revision))
        );
        assert_eq!(document["server"]["name"], "chaos");
        assert_eq!(document["tools"][0]["name"], "echo");
        assert_eq!(document["call"]["tool"], "echo");
        assert_eq!(document["exit_code"], 0);

        let ran = probe(&Cox::new(), &server, &["--json", "--call", "fail"]);
        assert_eq!((ran.code, &ran.json()["exit_code"]), (1, &json!(1)));
        assert_eq!(ran.json()["call"]["result"]["isError"], true);

        let ran = probe(&Cox::new(), &server, &["--json", "--call", "missing"]);
        assert_eq!(ran.code, 1);
        assert_eq!(ran.json()["call"]["error"]["kind"], "answered");
    }
    let ran = Cox::new().run(&["mcp", "probe", "--json", "--", "/nonexistent/server"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json()["connected"], false);
    assert_eq!(ran.json()["error"]["delivery"], "not_sent");
}

#[test]
fn a_server_that_ends_is_told_with_its_command_and_its_last_words() {
    let script = [Behaviour::Stderr(2), Behaviour::Exit(3)];
    let server = Chaos::new().legacy().tool("die", script).stdio();
    let ran = probe(&Cox::new(), &server, &["--call", "die"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .contains("its process ended (exit status: 3); its outcome is unknown"),
        "{ran}"
    );
    assert!(ran.stderr.contains("reached as: python3"), "{ran}");
    assert!(ran.stderr.contains("last lines of its stderr:"), "{ran}");
}

#[test]
fn a_silent_server_ends_at_the_deadline() {
    let server = Chaos::new()
        .probe(Behaviour::Never)
        .on("initialize", Behaviour::Never)
        .banner("Listening on 3000")
        .stdio();
    let ran = probe(&Cox::new(), &server, &["--timeout", "4"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .contains("its handshake was not finished within 4 s"),
        "{ran}"
    );
    assert!(ran.stderr.contains("Listening on 3000"), "{ran}");
}

#[test]
fn a_server_behind_a_url_is_shown_in_either_era() {
    for (era, _, chaos) in eras() {
        let server = chaos.tool("echo", Behaviour::Answer).http();
        let ran = Cox::new().run(&["mcp", "probe", "--json", "--call", "echo", server.url()]);
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(ran.json()["era"], era);
        assert_eq!(ran.json()["reached"], server.url());
    }
}

#[test]
fn the_scheme_of_a_url_may_be_in_capitals() {
    let server = Chaos::new().http();
    let url = server.url().replace("http://", "HTTP://");
    let ran = Cox::new().run(&["mcp", "probe", &url]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn a_header_goes_to_the_server_and_its_value_nowhere_else() {
    let server = Chaos::new().modern().tool("echo", Behaviour::Answer).http();
    let cox = Cox::new().variable("TOKEN", "SENTINEL-9");
    let ran = cox.run(&[
        "mcp",
        "probe",
        "--header",
        "Authorization: $TOKEN",
        "--call",
        "echo",
        server.url(),
    ]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.to_string().contains("SENTINEL"), "{ran}");
    assert!(format!("{:?}", server.received()).contains("SENTINEL-9"));
    let ran = cox.run(&["mcp", "probe", "--header", "SENTINEL-9", server.url()]);
    assert_eq!(ran.code, 5);
    assert!(!ran.to_string().contains("SENTINEL"), "{ran}");
}

#[test]
fn a_wrong_command_line_says_what_was_expected() {
    let cox = Cox::new();
    for (args, words) in [
        (
            &["mcp", "probe", "http://a.example/mcp", "more"][..],
            "a URL stands alone",
        ),
        (
            &["mcp", "probe", "--header", "A: b", "--", "cat"],
            "are for a URL",
        ),
        (
            &["mcp", "probe", "--env", "A=b", "http://a.example/"],
            "`--env` is for a program",
        ),
        (
            &["mcp", "probe", "--env", "NOT_THERE", "--", "cat"],
            "there is no such variable",
        ),
        (
            &["mcp", "probe", "--call", "x", "--input", "[1]", "--", "cat"],
            "expected an object, got an array",
        ),
        (
            &["mcp", "probe", "--call", "x", "--input", "{", "--", "cat"],
            "a JSON object",
        ),
        (&["mcp", "probe"], "TARGET"),
    ] {
        let ran = cox.run(args);
        assert_eq!(ran.code, 5, "{args:?}\n{ran}");
        assert!(ran.stderr.contains(words), "{args:?}\n{ran}");
    }
}

#[test]
fn what_a_server_says_does_not_reach_the_terminal_as_it_is() {
    let nasty = "\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}evil";
    let tool =
        json!({ "name": "a\u{1b}[2J", "description": nasty, "inputSchema": { "type": "object" } });
    let result = json!({ "content": [{ "type": "text", "text": nasty }] });
    let server = Chaos::new()
        .instructions(nasty)
        .tool_with(tool, Behaviour::Result(result))
        .stdio();
    let ran = probe(&Cox::new(), &server, &["--call", "a\u{1b}[2J"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{202e}'),
        "{ran}"
    );
}
