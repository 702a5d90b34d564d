//! The authorizer: what is sent with a request, and what is done when a server refuses one.

mod grant;
mod renew;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;

use super::address::{is_this_machine, origin};
use super::challenge::Challenge;
use super::config::OAuthConfig;
use super::discovery::{Found, discover};
use super::failure::AuthError;
use super::fetch::Fetch;
use super::kept::{self, Kept};
use super::record::Tokens;
use super::scope;
use super::secret::Secret;
use crate::transport::Authorizer;

/// How many times in a row tokens are got because the server refuses, within [`IN_A_ROW`].
const TRIES: usize = 3;

/// How far apart two refusals are when the second has nothing to do with the first.
const IN_A_ROW: Duration = Duration::from_secs(60);

/// The tokens for one server. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct OAuth {
    inner: Arc<Inner>,
}

struct Inner {
    config: OAuthConfig,
    fetch: Fetch,
    state: Mutex<State>,
    /// Held by whoever gets tokens; in an `Arc` so that it can go along with work that outlives its caller.
    flight: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    /// The tokens that are durable, as they were read or written last.
    tokens: Option<Tokens>,
    /// What the last discovery found.
    found: Option<Found>,
    /// A record that could not be written: it is not used before it is.
    unwritten: Option<Kept>,
    /// The access token that the last refresh gave, and when, in seconds since 1970.
    renewed: Option<(Secret, u64)>,
    /// When tokens were got because the server refused, in seconds since 1970, oldest first.
    refusals: Vec<u64>,
}

impl OAuth {
    /// Makes an authorizer. Nothing is asked or read yet.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be used: the server is neither `https` nor on this machine, or the client id metadata
    /// document is no `https` address with a path.
    pub fn new(config: OAuthConfig) -> Result<Self, AuthError> {
        let server = &config.server;
        if server.scheme() != "https" && !is_this_machine(server) {
            return Err(AuthError::Refused(format!(
                "`{}` is at `{}`, and tokens are sent over `https` only",
                config.name,
                origin(server)
            )));
        }
        if let Some(document) = &config.client_document
            && (document.scheme() != "https" || document.path() == "/")
        {
            return Err(AuthError::Refused(format!(
                "the client id metadata document `{document}` is no `https` address with a path"
            )));
        }
        if config.is_for_client && config.registered.is_none() {
            return Err(AuthError::Refused(format!(
                "`{}` is to be used by the client itself, but no client id is configured",
                config.name
            )));
        }
        let fetch = Fetch::new(server.clone(), config.deadlines.request);
        let inner = Inner {
            config,
            fetch,
            state: Mutex::default(),
            flight: Arc::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Has a person sign in now, whatever there is. What there was stays until the new tokens are kept.
    ///
    /// # Errors
    ///
    /// [`AuthError`]; another try helps where [`AuthError::may_pass`] says so.
    pub async fn sign_in(&self) -> Result<(), AuthError> {
        let inner = &self.inner;
        let _flight = inner.enter(inner.config.deadlines.sign_in).await?;
        let lock = kept::lock(&inner.config).await?;
        let kept = inner.load().await?;
        let found = inner.discover(&Challenge::default(), &kept).await?;
        let config = &inner.config;
        let scopes = scope::choose(
            None,
            config.scopes.as_deref(),
            &found,
            &[],
            config.is_for_client,
        );
        inner.authorize(found, kept, scopes, lock).await
    }

    /// Forgets the tokens and the registration.
    ///
    /// # Errors
    ///
    /// [`AuthError::Store`] or [`AuthError::Busy`].
    pub async fn sign_out(&self) -> Result<(), AuthError> {
        let inner = &self.inner;
        let _flight = inner.enter(inner.config.deadlines.sign_in).await?;
        let _lock = kept::lock(&inner.config).await?;
        inner.with(|state| *state = State::default());
        let kept = kept::load(&inner.config).await?;
        match kept::swap(&inner.config, kept.version, None).await? {
            Ok(_none) => Ok(()),
            Err(()) => Err(kept::busy(&inner.config, Duration::ZERO)),
        }
    }

    /// Says whether there are tokens.
    ///
    /// # Errors
    ///
    /// [`AuthError::Store`].
    pub async fn is_signed_in(&self) -> Result<bool, AuthError> {
        Ok(kept::load(&self.inner.config).await?.tokens().is_some())
    }

    async fn value(&self) -> Result<Option<String>, AuthError> {
        let inner = &self.inner;
        let tokens = match inner.with(|state| state.tokens.clone()) {
            Some(tokens) => Some(tokens),
            None => inner.load().await?.tokens().cloned(),
        };
        let Some(tokens) = tokens else {
            return Ok(None);
        };
        let now = inner.now();
        let is_due = tokens.renew_from.is_some_and(|from| now >= from);
        if !is_due || (tokens.refresh.is_none() && !tokens.is_of_client) {
            return Ok(Some(tokens.header()));
        }
        match inner.renew(&tokens).await {
            Ok(renewed) => Ok(renewed.map(|tokens| tokens.header())),
            // It is good for a little yet; the next request tries again.
            Err(_passing) if tokens.ends.is_some_and(|ends| now < ends) => {
                Ok(Some(tokens.header()))
            }
            Err(error) => Err(error),
        }
    }

    async fn refused(
        &self,
        status: u16,
        challenges: &[String],
        sent: Option<&str>,
    ) -> Result<bool, AuthError> {
        let challenge = Challenge::parse(challenges);
        let is_step_up = status == 403 && challenge.error.as_deref() == Some("insufficient_scope");
        if status != 401 && !is_step_up {
            return Ok(false);
        }
        let inner = &self.inner;
        let _flight = inner.enter(inner.config.deadlines.sign_in).await?;
        if inner.has_other_than(sent).await? {
            return Ok(true);
        }
        inner.count_refusal()?;
        let lock = kept::lock(&inner.config).await?;
        if inner.has_other_than(sent).await? {
            return Ok(true);
        }
        let kept = inner.load().await?;
        let found = inner.discover(&challenge, &kept).await?;
        if !is_step_up && inner.can_refresh(&kept, &found) && !inner.is_renewed(&kept) {
            let (lock, renewed) = inner.refresh(kept, found.clone(), lock).await?;
            if renewed.is_some() {
                return Ok(true);
            }
            let kept = inner.load().await?;
            return inner.widen(&challenge, is_step_up, found, kept, lock).await;
        }
        inner.widen(&challenge, is_step_up, found, kept, lock).await
    }
}

impl Inner {
    /// Gets tokens anew, for what the challenge names and, on a step-up, what there was.
    async fn widen(
        self: &Arc<Self>,
        challenge: &Challenge,
        is_step_up: bool,
        found: Found,
        kept: Kept,
        lock: kept::Lock,
    ) -> Result<bool, AuthError> {
        let config = &self.config;
        let asked = match kept.tokens() {
            Some(tokens) if is_step_up => tokens.scopes.clone(),
            _ => Vec::new(),
        };
        let scopes = scope::choose(
            challenge.scopes.as_deref(),
            config.scopes.as_deref(),
            &found,
            &asked,
            config.is_for_client,
        );
        let adds_nothing = scopes.iter().all(|scope| asked.contains(scope));
        if is_step_up && kept.tokens().is_some() && adds_nothing {
            return Err(AuthError::Refused(format!(
                "`{}` wants more scopes, but those it names were asked for already: `{}`",
                config.name,
                super::failure::said(&asked.join(" "))
            )));
        }
        self.authorize(found, kept, scopes, lock).await?;
        Ok(true)
    }

    /// Waits until nobody else in this process gets tokens: a refresh, as long as one waits for a lock; what may end in a
    /// sign-in, as long as a person may take as well.
    async fn enter(&self, more: Duration) -> Result<tokio::sync::OwnedMutexGuard<()>, AuthError> {
        let limit = self.config.deadlines.lock + more;
        let flight = Arc::clone(&self.flight).lock_owned();
        tokio::time::timeout(limit, flight)
            .await
            .map_err(|_elapsed| kept::busy(&self.config, limit))
    }

    /// Says whether there are tokens by now that were not sent.
    async fn has_other_than(&self, sent: Option<&str>) -> Result<bool, AuthError> {
        let kept = self.load().await?;
        Ok(kept
            .tokens()
            .is_some_and(|tokens| Some(tokens.header().as_str()) != sent))
    }

    /// Reads what is kept; before that, writes what could not be written.
    async fn load(&self) -> Result<Kept, AuthError> {
        if let Some(unwritten) = self.with(|state| state.unwritten.clone()) {
            let written = kept::swap(&self.config, unwritten.version, unwritten.record).await?;
            // Whether it is written, or others have written since: it is done with.
            let (Ok(_) | Err(())) = written;
            self.with(|state| state.unwritten = None);
        }
        let kept = kept::load(&self.config).await?;
        self.with(|state| state.tokens = kept.tokens().cloned());
        Ok(kept)
    }

    async fn discover(&self, challenge: &Challenge, kept: &Kept) -> Result<Found, AuthError> {
        let known = kept.record.as_ref().map(|record| record.issuer.as_str());
        let found = discover(&self.fetch, challenge.resource_metadata.as_deref(), known).await?;
        self.with(|state| state.found = Some(found.clone()));
        Ok(found)
    }

    /// Counts that tokens are got because the server refuses.
    fn count_refusal(&self) -> Result<(), AuthError> {
        let now = self.now();
        self.with(|state| {
            state
                .refusals
                .retain(|at| now.saturating_sub(*at) < IN_A_ROW.as_secs());
            if state.refusals.len() >= TRIES {
                return Err(AuthError::Refused(format!(
                    "`{}` refuses what its authorization server gives: {TRIES} times within {} s",
                    self.config.name,
                    IN_A_ROW.as_secs()
                )));
            }
            state.refusals.push(now);
            Ok(())
        })
    }

    /// Seconds since 1970.
    fn now(&self) -> u64 {
        let now = (self.config.now)();
        now.duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Authorizer for OAuth {
    async fn header(&self) -> Result<Option<String>, String> {
        self.value().await.map_err(|error| error.to_string())
    }

    async fn challenged(
        &self,
        status: u16,
        challenges: &[String],
        sent: Option<&str>,
    ) -> Result<bool, String> {
        let refused = self.refused(status, challenges, sent).await;
        refused.map_err(|error| error.to_string())
    }
}
