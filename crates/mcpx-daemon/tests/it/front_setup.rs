//! A daemon in this process, in front of chaos servers, and clients of its MCP server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mcp_client::server::HttpReach;
use mcp_client::{Abilities, Ask, Asked, Connection, Reach, ServerSpec, Verdict, connect};
use mcp_wire::{Answer, Era, Implementation, Object, Raw};
use mcpx_config::{Choice, Surroundings};
use mcpx_daemon::lifecycle::start::{Ended, Start, StartError, run};
use serde_json::{Value, json};
use testkit::TempHome;
use testkit::mcp::{HttpChaos, StdioChaos};
use tokio::task::JoinHandle;

/// A daemon in this process. Ends with the test's runtime.
pub(crate) struct Daemon {
    pub(crate) socket: PathBuf,
    home: TempHome,
    running: JoinHandle<Result<Ended, StartError>>,
}

/// A chaos server as an entry of the configuration.
pub(crate) fn stdio(server: &StdioChaos) -> Value {
    let command = server.command();
    json!({"command": command.program, "args": command.args})
}

pub(crate) fn http(server: &HttpChaos) -> Value {
    json!({"type": "http", "url": server.url()})
}

impl Daemon {
    /// Serves these servers. Waits until it answers.
    pub(crate) async fn of(servers: Value) -> Self {
        Self::with(servers, &[]).await
    }

    /// The same, with settings.
    pub(crate) async fn with(servers: Value, settings: &[(&str, &str)]) -> Self {
        Self::begin(TempHome::new(), servers, settings).await
    }

    /// Ends it, and begins another one in its place.
    pub(crate) async fn again(self, servers: Value) -> Self {
        let client = mcpx_api::Client::unix(
            &self.socket,
            mcpx_api::Caller::default(),
            Duration::from_secs(10),
        );
        let shutdown = mcpx_api::operation(mcpx_api::Op::Shutdown);
        client.send(shutdown, &Object::new()).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(30), self.running).await;
        ended.unwrap().unwrap().unwrap();
        Self::begin(self.home, servers, &[]).await
    }

    async fn begin(home: TempHome, servers: Value, settings: &[(&str, &str)]) -> Self {
        let file = home.write("mcp.json", json!({"mcpServers": servers}).to_string());
        let socket = home.path().join("s");
        #[allow(clippy::disallowed_methods, reason = "a server has to be found")]
        let env: BTreeMap<String, String> = std::env::vars()
            .filter(|(name, _)| matches!(name.as_str(), "PATH" | "LANG"))
            .collect();
        let start = Start {
            surroundings: Surroundings {
                cwd: home.path().to_owned(),
                env,
                home: Some(home.path().to_owned()),
                exe: std::env::current_exe().unwrap(),
            },
            choice: Choice {
                config_file: Some(file),
                demo: false,
                flags: [("socketPath", socket.to_str().unwrap())]
                    .iter()
                    .chain(settings)
                    .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                    .collect(),
            },
            state: home.path().join("state"),
            temporary: home.path().to_owned(),
            version: "0.0.0".to_owned(),
            #[allow(clippy::disallowed_methods, reason = "a test has the real time")]
            clock: Arc::new(jiff::Timestamp::now),
        };
        let running = tokio::spawn(run(start));
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        while tokio::net::UnixStream::connect(&socket).await.is_err() {
            assert!(!running.is_finished(), "{:?}", running.await);
            assert!(tokio::time::Instant::now() < deadline, "no daemon");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Self {
            socket,
            home,
            running,
        }
    }

    /// A client over HTTP, in one era. `query` as in `?passthrough=a`.
    pub(crate) async fn client(
        &self,
        query: &str,
        era: Era,
        ask: Option<Arc<Person>>,
    ) -> Connection {
        let url = format!("http://localhost/mcp{query}").parse().unwrap();
        let reach = Reach::Http(HttpReach {
            url,
            unix_socket: Some(self.socket.clone()),
            headers: Vec::new(),
            authorizer: None,
        });
        let mut spec = ServerSpec::new("hub", reach, Implementation::new("test", "1"));
        spec.timeouts.start = Duration::from_secs(30);
        spec.remembered = Some(Verdict {
            era,
            old_sse: false,
        });
        let ask = ask.map(|person| person as Arc<dyn Ask>);
        let connection = connect(spec, ask).await.unwrap();
        assert_eq!(connection.era(), era);
        connection
    }

    /// Writes its configuration anew.
    pub(crate) fn rewrite(&self, servers: &Value) {
        let text = json!({"mcpServers": servers}).to_string();
        self.home.write("mcp.json", text);
    }

    /// The folder of its files; the configuration is `mcp.json` in it.
    pub(crate) fn home(&self) -> &std::path::Path {
        self.home.path()
    }
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

pub(crate) fn object(value: &Value) -> Object {
    Raw::from(value.clone()).object().unwrap()
}

/// Answers every question with the same answers in turn, and keeps what it was asked.
pub(crate) struct Person {
    pub(crate) abilities: Abilities,
    answers: Vec<Answer>,
    pub(crate) asked: Mutex<Vec<Asked>>,
}

impl Person {
    /// Can answer everything.
    pub(crate) fn who(answers: Vec<Answer>) -> Arc<Self> {
        let abilities = Abilities {
            forms: true,
            urls: true,
            sampling: true,
            roots: true,
        };
        Self::able(abilities, answers)
    }

    pub(crate) fn able(abilities: Abilities, answers: Vec<Answer>) -> Arc<Self> {
        Arc::new(Self {
            abilities,
            answers,
            asked: Mutex::default(),
        })
    }
}

#[async_trait]
impl Ask for Person {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        let at = {
            let mut all = self.asked.lock().unwrap();
            all.push(asked);
            all.len() - 1
        };
        self.answers[at.min(self.answers.len() - 1)].clone()
    }
}
