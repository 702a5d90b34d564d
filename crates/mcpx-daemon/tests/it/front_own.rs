//! The hub's own tools, to clients of both eras.

use mcp_wire::content::Block;
use mcp_wire::{Object, Raw};
use serde_json::json;
use testkit::mcp::{Behaviour, Chaos};

use crate::front_setup::{Daemon, ERAS, object, stdio};

fn options() -> mcp_client::CallOptions {
    mcp_client::CallOptions::default()
}

#[tokio::test]
async fn a_client_of_either_era_finds_a_tool_reads_its_signature_and_calls_it() {
    let chaos = Chaos::new()
        .tool("echo", Behaviour::Answer)
        .tool(
            "picture",
            Behaviour::Result(json!({"content": [
                {"type": "image", "data": "AAAA", "mimeType": "image/png", "x-new": 1.50}
            ], "unknown": true})),
        )
        .tool("broken", Behaviour::Failed("it is out of order"))
        .stdio();
    let daemon = Daemon::of(json!({"wild": stdio(&chaos)})).await;
    for era in ERAS {
        let client = daemon.client("", era, None).await;
        let instructions = client.agreed().instructions.clone().unwrap();
        assert!(instructions.contains("mcpx_search") && instructions.contains("wild"));
        let names: Vec<String> = client
            .tools(&options())
            .await
            .unwrap()
            .elements
            .iter()
            .map(|tool| tool.name.clone())
            .collect();
        assert!(names.contains(&"mcpx_call".to_owned()), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("mcpx_")));

        let call = async |tool: &str, arguments: serde_json::Value| {
            client
                .call_tool(tool, object(&arguments), &options())
                .await
                .unwrap()
        };
        let types = call("mcpx_types", json!({"ns": ["wild"]})).await;
        assert!(
            types.joined_text().contains("echo"),
            "{era:?}: {}",
            types.joined_text()
        );
        let found = call("mcpx_search", json!({"q": "echo"})).await;
        assert!(
            found.joined_text().contains("wild.echo"),
            "{era:?}: {}",
            found.joined_text()
        );
        let spaces = call("mcpx_namespaces", json!({})).await;
        assert!(
            spaces.joined_text().contains("wild"),
            "{}",
            spaces.joined_text()
        );

        let echoed = call("mcpx_call", json!({"tool": "wild.echo", "args": {"a": 1}})).await;
        assert!(
            !echoed.is_error && echoed.joined_text().contains(r#""a": 1"#),
            "{}",
            echoed.joined_text()
        );
        let meta = echoed.raw().object("_meta").unwrap();
        let about = meta.object("dev.mcpx/call").unwrap();
        assert_eq!(about.string("tool").as_deref(), Some("echo"));

        let picture = call("mcpx_call", json!({"server": "wild", "tool": "picture"})).await;
        assert!(matches!(
            &picture.content[0].as_ref().unwrap().block,
            Block::Image { .. }
        ));
        let raw = Raw::from(picture.raw().clone()).value().unwrap();
        assert_eq!(
            (&raw["content"][0]["x-new"], &raw["unknown"]),
            (&json!(1.5), &json!(true))
        );

        let broken = call("mcpx_call", json!({"tool": "wild.broken"})).await;
        assert!(broken.is_error && broken.joined_text().starts_with("it is out of order"));
        let wrong = call("mcpx_call", json!({"tool": "wild.ecko"})).await;
        assert!(
            wrong.is_error && wrong.joined_text().contains("wild.echo"),
            "{}",
            wrong.joined_text()
        );
        let wrong = call("mcpx_call", json!({"tol": "wild.echo"})).await;
        assert!(
            wrong.is_error && wrong.joined_text().contains("`tol`"),
            "{}",
            wrong.joined_text()
        );
        let batch = call(
            "mcpx_batch",
            json!({"calls": [{"tool": "wild.echo"}, {"tool": "wild.broken"}]}),
        )
        .await;
        assert!(
            batch.joined_text().contains(r#""failed":1"#),
            "{}",
            batch.joined_text()
        );
        for (name, hint) in [
            ("mcpx_nothing", "the tools here are `mcpx_status`"),
            (
                "wild.echo",
                "`mcpx_call` calls it, with `tool`: `wild.echo`",
            ),
            (
                "wild__echo",
                "`mcpx_call` calls it, with `tool`: `wild.echo`",
            ),
            ("echo", "`mcpx_call` calls it, with `tool`: `wild.echo`"),
        ] {
            let unknown = client.call_tool(name, Object::new(), &options()).await;
            let unknown = unknown.unwrap_err();
            let said = unknown.answered().unwrap();
            assert_eq!(said.code, -32602, "{name}");
            assert!(
                said.message.starts_with("Unknown tool: "),
                "{}",
                said.message
            );
            assert!(said.message.contains(hint), "{}", said.message);
        }
    }
    // One process for both clients.
    assert_eq!(chaos.received().processes().len(), 1);
}

#[tokio::test]
async fn a_result_that_is_too_large_becomes_a_handle_that_is_read_in_pieces() {
    let chaos = Chaos::new().tool("big", Behaviour::Big(3_000_000)).stdio();
    let daemon = Daemon::of(json!({"wild": stdio(&chaos)})).await;
    let client = daemon.client("", mcp_wire::Era::Modern, None).await;
    let big = client
        .call_tool(
            "mcpx_call",
            object(&json!({"tool": "wild.big"})),
            &options(),
        )
        .await
        .unwrap();
    assert!(
        big.joined_text().len() < 10_000,
        "{}",
        big.joined_text().len()
    );
    let meta = big.raw().object("_meta").unwrap();
    let handle = meta
        .object("dev.mcpx/result")
        .unwrap()
        .string("handle")
        .unwrap();
    let piece = client
        .call_tool(
            "mcpx_read",
            object(&json!({"id": handle, "length": 1000})),
            &options(),
        )
        .await
        .unwrap();
    assert!(!piece.is_error, "{}", piece.joined_text());
    let piece = piece.structured.unwrap().object().unwrap();
    assert_eq!(piece.string("text").unwrap().len(), 1_000);
}
