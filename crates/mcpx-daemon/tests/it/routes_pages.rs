//! Web pages: those that may ask can read what is answered, and no other can.

use serde_json::json;
use tokio::net::TcpStream;

use crate::front_setup::Daemon;
use crate::ops_answers::record;
use crate::routes_setup::{Came, exchange};

const PAGE: &str = "https://ok.example";

async fn sent(address: &str, request: &str) -> Came {
    let mut stream = TcpStream::connect(address).await.unwrap();
    exchange(&mut stream, request.replace("HOST", address)).await
}

#[tokio::test]
async fn a_page_that_may_ask_is_told_so_before_and_can_read_the_answer() {
    let settings = [("transport.allowedOrigins", PAGE)];
    let daemon = Daemon::with(json!({}), &settings).await;
    daemon.checked(mcpx_api::Op::Health, json!({})).await;
    let record = record(&daemon);
    let endpoint = record["endpoint"].as_str().unwrap();
    let address = endpoint.strip_prefix("http://").unwrap();
    let token = record["token"].as_str().unwrap();
    for path in ["/v1/call", "/mcp"] {
        // A browser sends no token with this.
        let asks = |page: &str| {
            format!(
                "OPTIONS {path} HTTP/1.1\r\nhost: HOST\r\norigin: {page}\r\naccess-control-request-method: POST\r\n\
                 access-control-request-headers: authorization,content-type,mcp-session-id\r\n\r\n"
            )
        };
        for page in [PAGE, "http://localhost:3000"] {
            let may = sent(address, &asks(page)).await;
            assert_eq!(may.status, 204, "{may:?}");
            assert_eq!(may.header("access-control-allow-origin"), Some(page));
            assert_eq!(may.header("vary"), Some("origin"));
            let methods = may.header("access-control-allow-methods").unwrap();
            assert!(methods.contains("POST") && methods.contains("DELETE"));
            assert_eq!(
                may.header("access-control-allow-headers"),
                Some("authorization,content-type,mcp-session-id")
            );
        }
        for page in ["https://evil.example", "null"] {
            let may_not = sent(address, &asks(page)).await;
            assert_eq!(may_not.status, 403);
            assert_eq!(may_not.header("access-control-allow-origin"), None);
        }
    }
    let get = |headers: &str| format!("GET /v1/health HTTP/1.1\r\nhost: HOST\r\n{headers}\r\n");
    let shown = sent(
        address,
        &get(&format!(
            "origin: {PAGE}\r\nauthorization: Bearer {token}\r\n"
        )),
    )
    .await;
    assert_eq!(shown.status, 200);
    assert_eq!(shown.header("access-control-allow-origin"), Some(PAGE));
    let expose = shown.header("access-control-expose-headers").unwrap();
    assert!(expose.contains("mcp-session-id"), "{expose}");
    // Also what is wrong can be read.
    let refused = sent(address, &get(&format!("origin: {PAGE}\r\n"))).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("access-control-allow-origin"), Some(PAGE));
    // Nobody else is told of pages.
    let plain = sent(address, &get(&format!("authorization: Bearer {token}\r\n"))).await;
    assert_eq!(plain.header("access-control-allow-origin"), None);
}
