//! Starts or contacts a configured server.

mod environment;
pub mod eras;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use child_process::{Mark, Program, find_program};
use mcp_client::{
    Ask, Cause, Connection, Delivery, Failure, FailureKind, Label, Limits, Refuser, ServerSpec,
    Timeouts, Verdict, server::HttpReach, transport::Authorizer,
};
use mcp_wire::{Era, Implementation};
use mcpx_config::{Protocol, Reach, Server, Sharing, Transport};
use untrusted_text::redact::Redactor;
use untrusted_text::terminal::one_line;

use self::eras::EraMemory;
use super::{asking::Somebody, scope::Key};

/// A time that a person would call for ever, and that every clock can hold.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// A connection, and how it came about.
pub struct Reached {
    /// The connection.
    pub connection: Connection,
    /// From where it was known which era the server speaks.
    pub era_source: EraSource,
}

/// From where it was known which era a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraSource {
    /// Its entry says so.
    Configured,
    /// An earlier connection found it out.
    Remembered,
    /// It was found out with this connection.
    Probed,
}

impl EraSource {
    /// `configured`, `remembered` or `probed`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Remembered => "remembered",
            Self::Probed => "probed",
        }
    }
}

/// Starts or contacts a configured server.
#[async_trait]
pub trait Launch: Send + Sync {
    /// Connects. `id` is the instance's, `name#seq`.
    ///
    /// # Errors
    ///
    /// When there is no connection within the server's start time.
    async fn launch(&self, server: &Server, id: &str) -> Result<Reached, Failure>;

    /// Connects; a program that is not told where to run starts in `folder`, which its scope names.
    ///
    /// # Errors
    ///
    /// As [`Launch::launch`].
    async fn launch_in(
        &self,
        server: &Server,
        id: &str,
        folder: Option<&Path>,
    ) -> Result<Reached, Failure> {
        let _unused = folder;
        self.launch(server, id).await
    }

    /// Connects for whoever has this key.
    ///
    /// # Errors
    ///
    /// As [`Launch::launch`].
    async fn launch_for(&self, server: &Server, id: &str, key: &Key) -> Result<Reached, Failure> {
        self.launch_in(server, id, key.folder()).await
    }
}

/// Who brings credentials for a server that a person signs in to.
pub trait SignIn: Send + Sync {
    /// The credentials of this server; none when nobody signs in to it.
    fn authorizer(&self, server: &Server) -> Option<Arc<dyn Authorizer>>;
}

/// Launches real servers.
pub struct RealLaunch {
    /// Who the hub says it is.
    pub client: Implementation,
    /// The daemon's environment, of which a program gets what `environment` lists.
    pub env: BTreeMap<OsString, OsString>,
    /// Marks every program as this daemon's.
    pub mark: Option<Mark>,
    /// What clients can answer: that is declared to servers.
    pub somebody: Arc<Somebody>,
    /// What earlier connections found out.
    pub eras: Arc<dyn EraMemory>,
    /// Who brings credentials that a person signed in for.
    pub sign_in: Option<Arc<dyn SignIn>>,
    /// How long a server may be silent on the first, modern request. A program that is downloaded first says nothing for
    /// long, so half of its start time is kept for the other era whatever this says.
    pub probe: Duration,
    /// How long a person has for a question.
    pub question: Duration,
    /// How big messages and lists may be.
    pub limits: Limits,
}

#[async_trait]
impl Launch for RealLaunch {
    async fn launch(&self, server: &Server, id: &str) -> Result<Reached, Failure> {
        self.launch_in(server, id, None).await
    }

    async fn launch_in(
        &self,
        server: &Server,
        _id: &str,
        folder: Option<&Path>,
    ) -> Result<Reached, Failure> {
        self.reach(server, folder, None).await
    }

    async fn launch_for(&self, server: &Server, _id: &str, key: &Key) -> Result<Reached, Failure> {
        let ask = self.somebody.behind(key);
        self.reach(server, key.folder(), Some(ask)).await
    }
}

impl RealLaunch {
    async fn reach(
        &self,
        server: &Server,
        folder: Option<&Path>,
        ask: Option<Arc<dyn Ask>>,
    ) -> Result<Reached, Failure> {
        let identity = server.identity();
        let known = self.eras.recall(&identity);
        let spec = self
            .spec(server, folder, known)
            .map_err(|failure| *failure)?;
        let label = spec.label();
        let connected = mcp_client::connect(spec, ask).await;
        let connection = match connected {
            Ok(connection) => connection,
            Err(failure) => {
                // What was remembered may be what was wrong.
                if known.is_some() {
                    self.eras.forget(&identity);
                }
                return Err(failure);
            }
        };
        if let Err(why) = is_wanted(server.protocol, connection.era()) {
            let _survivors = connection.close().await;
            return Err(Failure {
                server: label,
                kind: FailureKind::Refused {
                    by: Refuser::Client,
                    why,
                },
                stderr: None,
            });
        }
        if let Some(verdict) = connection.verdict()
            && known != Some(verdict)
        {
            self.eras
                .learn(&identity, verdict, connection.agreed().revision);
        }
        // A server that does not announce its lists is no worse for that; nobody waits for it to say so.
        let listening = connection.clone();
        tokio::spawn(async move { listening.listen_to_lists().await });
        Ok(Reached {
            era_source: era_source(server, known, connection.verdict()),
            connection,
        })
    }

    /// The server as the client wants it.
    fn spec(
        &self,
        server: &Server,
        folder: Option<&Path>,
        known: Option<Verdict>,
    ) -> Result<ServerSpec, Box<Failure>> {
        let reach = match &server.reach {
            Reach::Stdio {
                command, args, cwd, ..
            } => {
                let cwd = cwd.as_deref().or(folder);
                mcp_client::Reach::Stdio(self.program(server, command, args, cwd)?)
            }
            Reach::Http { .. } => mcp_client::Reach::Http(self.http(server)?),
            Reach::Alias { of } => {
                let why = format!("it is another view of `{}`", one_line(of, 100));
                return Err(not_started(server, of, why));
            }
        };
        Ok(ServerSpec {
            name: server.name.clone(),
            reach,
            client: self.client.clone(),
            timeouts: self.timeouts(server),
            limits: self.limits,
            remembered: remembered(server, known),
            single_caller: server.sharing == Sharing::Exclusive || server.single_caller_questions,
            redactor: Redactor::with_values(server.secrets()),
        })
    }

    fn program(
        &self,
        server: &Server,
        command: &str,
        args: &[String],
        cwd: Option<&Path>,
    ) -> Result<Program, Box<Failure>> {
        let env = environment::of(server, &self.env);
        let typed = std::iter::once(command)
            .chain(args.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ");
        let program = if command.contains(std::path::MAIN_SEPARATOR) {
            server.origin.folder.join(command)
        } else {
            let dirs: Vec<PathBuf> = env
                .get("PATH")
                .map(|path| std::env::split_paths(path).collect())
                .unwrap_or_default();
            find_program(command, &dirs).ok_or_else(|| {
                let why = format!(
                    "there is no program `{}` on its PATH, which is `{}`",
                    one_line(command, 200),
                    one_line(
                        &env.get("PATH").unwrap_or_default().to_string_lossy(),
                        1_000
                    ),
                );
                not_started(server, &typed, why)
            })?
        };
        if let Some(cwd) = cwd.filter(|cwd| !cwd.is_dir()) {
            let why = format!(
                "its folder `{}` is not there",
                one_line(&cwd.to_string_lossy(), 300)
            );
            return Err(not_started(server, &typed, why));
        }
        let mut program = Program::new(program).args(args).env(env);
        if let Some(cwd) = cwd {
            program = program.cwd(cwd);
        }
        if let Some(mark) = &self.mark {
            program = program.mark(mark.clone());
        }
        Ok(program)
    }

    fn http(&self, server: &Server) -> Result<HttpReach, Box<Failure>> {
        let text = server.sent_url().unwrap_or_default();
        // The text itself may hold a secret.
        let url = text
            .parse()
            .map_err(|error| not_started(server, "", format!("its `url` is no URL: {error}")))?;
        let authorizer = self
            .sign_in
            .as_ref()
            .filter(|_| server.wants_sign_in())
            .and_then(|sign_in| sign_in.authorizer(server));
        Ok(HttpReach {
            url,
            unix_socket: None,
            headers: server.sent_headers(),
            authorizer,
        })
    }

    fn timeouts(&self, server: &Server) -> Timeouts {
        let start = server.start_timeout.min(FOREVER);
        let call = match server.call_timeout {
            Duration::ZERO => FOREVER,
            limit => limit.min(FOREVER),
        };
        Timeouts {
            start,
            probe: self.probe.min(start / 2),
            idle: call,
            max: call,
            question: self.question,
            ..Timeouts::default()
        }
    }
}

/// How it is spoken to, as far as that is known or decided.
fn remembered(server: &Server, known: Option<Verdict>) -> Option<Verdict> {
    let legacy = Verdict {
        era: Era::Legacy,
        old_sse: false,
    };
    if let Reach::Http {
        transport: Transport::Sse,
        ..
    } = server.reach
    {
        return Some(Verdict {
            old_sse: true,
            ..legacy
        });
    }
    match server.protocol {
        Protocol::ForceDiscover => None,
        // The caller's era is no matter here: the hub translates between the two.
        Protocol::PreferDiscover | Protocol::Follow => known,
        Protocol::PreferInitialize => known.or(Some(legacy)),
        Protocol::ForceInitialize => known
            .filter(|verdict| verdict.era == Era::Legacy)
            .or(Some(legacy)),
    }
}

/// From where the era was known: what was found out anew, whatever was remembered, was not known before.
fn era_source(server: &Server, known: Option<Verdict>, found: Option<Verdict>) -> EraSource {
    let is_configured = matches!(
        server.protocol,
        Protocol::ForceDiscover | Protocol::ForceInitialize
    ) || matches!(
        server.reach,
        Reach::Http {
            transport: Transport::Sse,
            ..
        }
    );
    if is_configured {
        EraSource::Configured
    } else if known.is_some() && known == found {
        EraSource::Remembered
    } else {
        EraSource::Probed
    }
}

/// Whether the era is one that the entry allows.
fn is_wanted(protocol: Protocol, era: Era) -> Result<(), String> {
    let wanted = match protocol {
        Protocol::ForceDiscover => Era::Modern,
        Protocol::ForceInitialize => Era::Legacy,
        Protocol::PreferDiscover | Protocol::PreferInitialize | Protocol::Follow => return Ok(()),
    };
    if era == wanted {
        return Ok(());
    }
    Err(format!(
        "it speaks the {} era, and its entry wants the {} one (`\"protocol\": \"{}\"`)",
        era.word(),
        wanted.word(),
        protocol.word()
    ))
}

fn not_started(server: &Server, resolved: &str, why: String) -> Box<Failure> {
    Box::new(Failure {
        server: Label {
            name: server.name.clone(),
            resolved: Redactor::with_values(server.secrets())
                .redact(resolved)
                .text
                .into_owned(),
        },
        kind: FailureKind::NoAnswer {
            delivery: Delivery::NotSent,
            cause: Cause::Start,
            why,
        },
        stderr: None,
    })
}

#[cfg(test)]
mod tests;
