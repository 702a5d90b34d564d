//! Tokens from a sign-in, or for the client itself.

use std::sync::Arc;

use url::Url;

use super::super::authorize::{self, Request};
use super::super::callback::Callback;
use super::super::client;
use super::super::discovery::Found;
use super::super::failure::{AuthError, said};
use super::super::kept::{self, Kept, Lock};
use super::super::record::{Client, Record, digest};
use super::super::secret::Secret;
use super::super::sign_in::{Opened, UrlToOpen};
use super::super::token::{self, Grant};
use super::Inner;
use super::renew::ended;

/// What a sign-in gave.
struct Code {
    code: Secret,
    verifier: Secret,
    redirect: String,
}

impl Inner {
    /// Gets tokens that are not a renewal. What there was stays until they are kept.
    pub(super) async fn authorize(
        self: &Arc<Self>,
        found: Found,
        mut kept: Kept,
        scopes: Vec<String>,
        lock: Lock,
    ) -> Result<(), AuthError> {
        let config = &self.config;
        let known = client::known(config, &found, kept.record.as_ref(), self.now())?;
        if config.is_for_client {
            let client = known.ok_or_else(|| self.nobody_to_ask())?;
            self.bind(&found, &mut kept, &client).await?;
            return self.finish(found, kept, client, None, scopes, lock).await;
        }
        if config.sign_in.is_none() {
            return Err(self.nobody_to_ask());
        }
        let registered = known.as_ref().and_then(|client| client.redirect.as_deref());
        let port = config.redirect_port.or(registered.and_then(port_of));
        let is_needed = config.redirect_port.is_some();
        let callback = Callback::listen(config.redirect_host, port, is_needed).await?;
        let client = match known {
            Some(client) => client,
            None => {
                let redirect = &callback.redirect;
                client::register(&self.fetch, config, &found, &scopes, redirect).await?
            }
        };
        self.bind(&found, &mut kept, &client).await?;
        let request = authorize::request(&found, &client, &scopes, &callback.redirect)?;
        let code = match self.ask_person(&found, &request, &callback, &scopes).await {
            Ok(query) => authorize::code(&query, &request, &found),
            Err(error) => Err(error),
        };
        let code = match code {
            Ok(code) => code,
            Err(error) => {
                self.doubt_registration(&error, kept).await?;
                return Err(error);
            }
        };
        let code = Code {
            code,
            verifier: request.verifier,
            redirect: request.redirect,
        };
        self.finish(found, kept, client, Some(code), scopes, lock)
            .await
    }

    fn nobody_to_ask(&self) -> AuthError {
        AuthError::SignInNeeded {
            server: self.config.name.clone(),
        }
    }

    /// Keeps who we are to which issuer before anything is shown to it, unless older tokens stand in its place.
    async fn bind(&self, found: &Found, kept: &mut Kept, client: &Client) -> Result<(), AuthError> {
        if kept.tokens().is_some() {
            return Ok(());
        }
        let record = self.record(found, client.clone());
        if kept.record.as_ref() == Some(&record) {
            return Ok(());
        }
        let swapped = kept::swap(&self.config, kept.version.clone(), Some(record.clone())).await?;
        if let Ok(version) = swapped {
            *kept = Kept {
                record: Some(record),
                version,
            };
        }
        Ok(())
    }

    fn record(&self, found: &Found, client: Client) -> Record {
        let server = &self.config.server;
        Record {
            origin: super::origin(server),
            server_digest: digest(server),
            issuer: found.server.issuer.clone(),
            resource: found.resource.clone(),
            client,
            tokens: None,
        }
    }

    /// Shows the address and waits for the answer, whichever way it comes.
    async fn ask_person(
        &self,
        found: &Found,
        request: &Request,
        callback: &Callback,
        scopes: &[String],
    ) -> Result<Secret, AuthError> {
        let Some(sign_in) = &self.config.sign_in else {
            return Err(self.nobody_to_ask());
        };
        let issuer = said(&found.server.issuer);
        let to_open = UrlToOpen {
            server: self.config.name.clone(),
            url: request.url.clone(),
            issuer: issuer.clone(),
            resource: said(&found.resource),
            scopes: scopes.iter().map(|scope| said(scope)).collect(),
        };
        let not_signed_in = |why: String| {
            Err(AuthError::NotSignedIn {
                issuer: issuer.clone(),
                why,
            })
        };
        let asking = async {
            let answer = callback.answer(&request.state);
            tokio::pin!(answer);
            let opened = tokio::select! {
                query = &mut answer => return query,
                opened = sign_in.open(&to_open) => opened,
            };
            match opened {
                Ok(Opened::Waiting) => answer.await,
                Ok(Opened::Redirected(text)) => authorize::pasted(&text),
                Ok(Opened::Declined) => not_signed_in("it was declined".to_owned()),
                Err(why) => not_signed_in(why),
            }
        };
        let limit = self.config.deadlines.sign_in;
        match tokio::time::timeout(limit, asking).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(AuthError::NoAnswer {
                issuer: issuer.clone(),
                waited: limit,
            }),
        }
    }

    /// A registration that its server does not know any more shows in the browser alone, and no answer comes; or the
    /// answer says so. Such a one is forgotten, so that the next sign-in registers anew.
    async fn doubt_registration(&self, error: &AuthError, kept: Kept) -> Result<(), AuthError> {
        let is_doubtful = matches!(error, AuthError::NoAnswer { .. })
            || error.is_denied("invalid_client")
            || error.is_denied("unauthorized_client");
        let is_ours = kept
            .record
            .as_ref()
            .is_some_and(|record| record.client.redirect.is_some());
        if is_doubtful && is_ours && kept.tokens().is_none() {
            let (Ok(_) | Err(())) = kept::swap(&self.config, kept.version, None).await?;
        }
        Ok(())
    }

    /// Redeems the code, or asks for the client itself, and keeps what comes. The work goes on when the caller goes away:
    /// a code is good once.
    async fn finish(
        self: &Arc<Self>,
        found: Found,
        kept: Kept,
        client: Client,
        code: Option<Code>,
        scopes: Vec<String>,
        lock: Lock,
    ) -> Result<(), AuthError> {
        let inner = Arc::clone(self);
        let work = async move {
            let grant = match &code {
                None => Grant::Client,
                Some(code) => Grant::Code {
                    code: &code.code,
                    verifier: &code.verifier,
                    redirect: &code.redirect,
                },
            };
            let asked = token::ask(
                &inner.fetch,
                &found,
                &client,
                grant,
                &scopes,
                kept.record.as_ref(),
                inner.now(),
            );
            let result = match asked.await {
                Ok(tokens) => {
                    let mut record = inner.record(&found, client);
                    record.tokens = Some(tokens);
                    inner.keep(kept, record).await.map(drop)
                }
                Err(error) => {
                    inner.doubt_registration(&error, kept).await?;
                    Err(error)
                }
            };
            drop(lock);
            result
        };
        tokio::spawn(work).await.map_err(|error| ended(&error))?
    }
}

fn port_of(redirect: &str) -> Option<u16> {
    Url::parse(redirect).ok()?.port()
}
