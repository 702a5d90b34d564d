//! Credentials in the conformance suite's scenarios about them: no browser, and no person.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use mcp_client::auth::{
    MemoryStore, OAuth, OAuthConfig, Opened, Registered, Secret, SignIn, UrlToOpen,
};
use mcp_client::transport::Authorizer;
use mcp_wire::Object;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;

/// Where the suite expects the client's metadata document to be.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Makes the authorizer of a scenario.
pub(crate) fn authorizer(
    url: &str,
    scenario: &str,
    context: &Object,
) -> Result<Arc<dyn Authorizer>, Box<dyn std::error::Error>> {
    let store = Arc::new(MemoryStore::default());
    let now = Arc::new(SystemTime::now);
    let mut config = OAuthConfig::new("conformance", url.parse()?, store, now);
    config.sign_in = Some(Arc::new(Nobody));
    config.client_document = Some(DOCUMENT.parse()?);
    config.is_for_client = scenario == "auth/client-credentials-basic";
    if let Some(id) = context.string("client_id") {
        config.registered = Some(Registered {
            issuer: context.string("issuer"),
            id,
            secret: context.string("client_secret").map(Secret::new),
            auth: None,
        });
    }
    Ok(Arc::new(OAuth::new(config)?))
}

/// Goes where it is sent, and pastes where it is sent on to.
struct Nobody;

#[async_trait]
impl SignIn for Nobody {
    async fn open(&self, url: &UrlToOpen) -> Result<Opened, String> {
        let answer = get(&url.url).await.map_err(|error| error.to_string())?;
        let location = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("location")
                .then(|| value.trim().to_owned())
        });
        match location {
            Some(location) => Ok(Opened::Redirected(location)),
            None => Err(format!("no redirect, but {answer}")),
        }
    }
}

async fn get(url: &Url) -> std::io::Result<String> {
    let host = url.host_str().unwrap_or_default();
    let address = (host, url.port_or_known_default().unwrap_or(80));
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let head = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
