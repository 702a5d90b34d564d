//! Real servers over HTTP, on the loopback.

use mcp_client::ServerSpec;
use mcp_wire::Era::{self, Legacy, Modern};
use testkit::peers::mcp::Server;
use tokio::task::JoinSet;

use crate::setup::{asks, call, cancels, connected, legacy, look, sdk_calls, url};

async fn see(spec: ServerSpec, era: Era, can_ask: bool) {
    let (connection, person) = connected(spec).await;
    let slow = call("slow", r#"{"steps":3}"#, "done");
    look(&connection, era, &sdk_calls(), Some(slow)).await;
    if can_ask {
        asks(&connection, &person).await;
    }
    cancels(&connection).await;
    assert_eq!(connection.close().await, Vec::<i32>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_on_the_sdks_answer_ask_and_report_over_http() {
    let servers = [
        (Server::TypeScriptV1, Legacy, true),
        (Server::TypeScriptV2, Modern, true),
        (Server::Python, Modern, true),
        (Server::FastMcp, Modern, false),
    ];
    let mut seeing = JoinSet::new();
    for (server, era, can_ask) in servers {
        seeing.spawn(async move {
            let peer = tokio::task::spawn_blocking(move || server.http())
                .await
                .unwrap();
            // The TypeScript SDK 1.x asks on the GET stream, which says nothing of the call.
            let mut spec = url(peer.url());
            spec.single_caller = matches!(server, Server::TypeScriptV1);
            see(spec, era, can_ask).await;
            if era == Modern {
                // Over HTTP the TypeScript SDK 2.x cannot ask a legacy client.
                let can_ask = !matches!(server, Server::TypeScriptV2);
                see(legacy(url(peer.url())), Legacy, can_ask).await;
            }
            tokio::task::spawn_blocking(move || drop(peer))
                .await
                .unwrap();
        });
    }
    while let Some(seen) = seeing.join_next().await {
        seen.unwrap();
    }
}
