//! Lists: pages, cursors, and elements that cannot be read.

use serde_json::json;
use testkit::mcp::{Behaviour, Chaos, Cursors};

use crate::setup::{connected, options};

fn ten() -> Chaos {
    (0..10).fold(Chaos::new(), |chaos, number| {
        chaos.tool(&format!("tool{number}"), Behaviour::Answer)
    })
}

async fn names(chaos: Chaos) -> (Vec<String>, Option<String>) {
    let server = chaos.stdio();
    let connection = connected(&server).await;
    let listed = connection.tools(&options()).await.unwrap();
    (
        listed
            .elements
            .iter()
            .map(|tool| tool.name.clone())
            .collect(),
        listed.cut,
    )
}

#[tokio::test]
async fn order_stable() {
    let expected: Vec<String> = (0..10).map(|number| format!("tool{number}")).collect();
    assert_eq!(names(ten()).await, (expected.clone(), None));
    assert_eq!(
        names(ten().pages(3, Cursors::Normal)).await,
        (expected, None)
    );
}

#[tokio::test]
async fn cursor_empty_string() {
    assert_eq!(names(ten().pages(3, Cursors::Empty)).await.0.len(), 10);
}

#[tokio::test]
async fn cursor_stuck() {
    let (names, cut) = names(ten().pages(3, Cursors::Stuck)).await;
    assert_eq!(names.len(), 3);
    assert!(cut.unwrap().contains("a second time"));
}

#[tokio::test]
async fn cursor_invalid_restarts() {
    let (names, cut) = names(ten().pages(3, Cursors::Rejected(1))).await;
    assert_eq!((names.len(), cut), (10, None));
}

#[tokio::test]
async fn a_list_without_end_is_cut_and_says_so() {
    let server = ten().pages(3, Cursors::Endless).stdio();
    let mut spec = crate::setup::spec(&server);
    spec.limits.pages = 20;
    let connection = mcp_client::connect(spec, None).await.unwrap();
    let listed = connection.tools(&options()).await.unwrap();
    assert_eq!(listed.cut.as_deref(), Some("more than 20 pages"));
    assert_eq!(listed.elements.len(), 20);
}

#[tokio::test]
async fn one_bad_tool() {
    let server = Chaos::new()
        .tool("good", Behaviour::Answer)
        .listed(json!({ "name": "bad", "inputSchema": true }))
        .listed(json!("nonsense"))
        .tool("fine", Behaviour::Answer)
        .stdio();
    let connection = connected(&server).await;
    let listed = connection.tools(&options()).await.unwrap();
    assert_eq!(
        listed
            .elements
            .iter()
            .map(|tool| tool.name.as_str())
            .collect::<Vec<_>>(),
        ["good", "fine"]
    );
    assert_eq!(listed.set_aside.len(), 2);
    assert_eq!(listed.set_aside[0].name.as_deref(), Some("bad"));
    assert!(
        listed.set_aside[0]
            .reason
            .contains("expected an object, got a boolean")
    );
}

#[tokio::test]
async fn late_server_visible() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let script = [
            Behaviour::Announce("notifications/tools/list_changed", json!({})),
            Behaviour::Answer,
        ];
        let server = chaos.tool("change", script).stdio();
        let connection = connected(&server).await;
        connection.listen_to_lists().await.unwrap();
        let mut events = connection.events();
        connection
            .call_tool("change", crate::setup::object("{}"), &options())
            .await
            .unwrap();
        assert!(matches!(
            events.recv().await.unwrap(),
            mcp_client::Event::ToolsChanged
        ));
    }
}

#[tokio::test]
async fn resources_prompts_and_their_contents_are_read() {
    for chaos in [Chaos::new().legacy(), Chaos::new().modern()] {
        let server = chaos
            .resource("test://a", "text of a")
            .prompt("greet", "Hello")
            .stdio();
        let connection = connected(&server).await;
        let resources = connection.resources(&options()).await.unwrap();
        assert_eq!(resources.elements[0].uri, "test://a");
        let read = connection
            .read_resource("test://a", &options())
            .await
            .unwrap();
        assert!(format!("{:?}", read.contents[0]).contains("text of a"));
        assert_eq!(
            connection.prompts(&options()).await.unwrap().elements[0].name,
            "greet"
        );
        let got = connection
            .get_prompt("greet", mcp_wire::Object::new(), &options())
            .await
            .unwrap();
        assert!(format!("{:?}", got.messages[0]).contains("Hello"));
        connection.ping(&options()).await.unwrap();
    }
}

#[tokio::test]
async fn a_notification_that_is_too_big_to_wait_for_a_listener_is_dropped_and_named() {
    let huge = json!({ "level": "info", "data": "x".repeat(1_000_000) });
    let script = [
        Behaviour::Announce("notifications/message", huge),
        Behaviour::Answer,
    ];
    let server = Chaos::new().legacy().tool("log", script).stdio();
    let connection = connected(&server).await;
    let mut events = connection.events();
    connection
        .call_tool("log", crate::setup::object("{}"), &options())
        .await
        .unwrap();
    let event = events.recv().await.unwrap();
    assert!(
        matches!(&event, mcp_client::Event::Noise { head } if head.contains("`notifications/message` of 1000")),
        "{event:?}"
    );
}
