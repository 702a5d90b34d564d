//! New tokens for a refresh token: one at a time, on the disk before they are used.

use std::sync::Arc;
use std::time::Duration;

use super::super::challenge::Challenge;
use super::super::client;
use super::super::discovery::Found;
use super::super::failure::AuthError;
use super::super::kept::{self, Kept, Lock};
use super::super::record::{Record, Tokens};
use super::super::token::{self, Grant};
use super::{IN_A_ROW, Inner};

impl Inner {
    /// Renews tokens that are about to end. Returns those of whoever was faster; `None` when none are left.
    pub(super) async fn renew(self: &Arc<Self>, old: &Tokens) -> Result<Option<Tokens>, AuthError> {
        let _flight = self.enter(Duration::ZERO).await?;
        if let Some(others) = self.instead_of(old).await? {
            return Ok(others);
        }
        let lock = kept::lock(&self.config).await?;
        if let Some(others) = self.instead_of(old).await? {
            return Ok(others);
        }
        let kept = self.load().await?;
        let found = match self.with(|state| state.found.clone()) {
            Some(found) => found,
            None => self.discover(&Challenge::default(), &kept).await?,
        };
        if old.is_of_client {
            self.authorize(found, kept, old.scopes.clone(), lock)
                .await?;
            return Ok(self.with(|state| state.tokens.clone()));
        }
        if !self.can_refresh(&kept, &found) {
            // Whether the old one is still good is the server's to say.
            return Ok(Some(old.clone()));
        }
        let (_lock, renewed) = self.refresh(kept, found, lock).await?;
        Ok(renewed)
    }

    /// What is kept by now, when it is not `old` any more.
    async fn instead_of(&self, old: &Tokens) -> Result<Option<Option<Tokens>>, AuthError> {
        let kept = self.load().await?;
        let is_old = kept
            .tokens()
            .is_some_and(|tokens| tokens.access == old.access);
        Ok((!is_old).then(|| kept.tokens().cloned()))
    }

    /// Says whether the tokens come from a refresh of just now: another would give more of what the server refuses.
    pub(super) fn is_renewed(&self, kept: &Kept) -> bool {
        let now = self.now();
        let Some(tokens) = kept.tokens() else {
            return false;
        };
        self.with(|state| {
            state.renewed.as_ref().is_some_and(|(access, at)| {
                *access == tokens.access && now.saturating_sub(*at) < IN_A_ROW.as_secs()
            })
        })
    }

    /// Says whether the refresh token belongs to what was found: issuer, resource and client.
    pub(super) fn can_refresh(&self, kept: &Kept, found: &Found) -> bool {
        let Some(record) = &kept.record else {
            return false;
        };
        let known = client::known(&self.config, found, Some(record), self.now());
        record.issuer == found.server.issuer
            && record.resource == found.resource
            && kept.tokens().is_some_and(|tokens| tokens.refresh.is_some())
            && matches!(known, Ok(Some(client)) if client.id == record.client.id)
    }

    /// Redeems the refresh token. Returns the lock, and the tokens there are then; `None` when it was rejected.
    ///
    /// The work goes on when the caller goes away: the server has given the old token up by then, and the new one would
    /// be lost. It ends within the deadline of a request, and holds the lock until it has.
    pub(super) async fn refresh(
        self: &Arc<Self>,
        kept: Kept,
        found: Found,
        lock: Lock,
    ) -> Result<(Lock, Option<Tokens>), AuthError> {
        let inner = Arc::clone(self);
        let work = async move {
            let renewed = inner.redeem(kept, &found).await;
            renewed.map(|tokens| (lock, tokens))
        };
        tokio::spawn(work).await.map_err(|error| ended(&error))?
    }

    async fn redeem(&self, kept: Kept, found: &Found) -> Result<Option<Tokens>, AuthError> {
        let Some(record) = kept.record.clone() else {
            return Ok(None);
        };
        let Some(old) = record.tokens.clone() else {
            return Ok(None);
        };
        let Some(refresh) = &old.refresh else {
            return Ok(None);
        };
        let grant = Grant::Refresh(refresh);
        let asked = token::ask(
            &self.fetch,
            found,
            &record.client,
            grant,
            &old.scopes,
            Some(&record),
            self.now(),
        );
        match asked.await {
            Ok(tokens) => {
                let renewed = Some((tokens.access.clone(), self.now()));
                self.with(|state| state.renewed = renewed);
                let new = Record {
                    tokens: Some(tokens),
                    ..record
                };
                self.keep(kept, new).await
            }
            Err(error) if error.is_denied("invalid_grant") => {
                let without = kept.without_tokens();
                self.drop_exactly(kept, without).await
            }
            // The registration is gone, and with it the tokens.
            Err(error) if error.is_denied("invalid_client") && record.client.redirect.is_some() => {
                self.drop_exactly(kept, None).await
            }
            Err(error) => {
                self.with(|state| state.found = None);
                Err(error)
            }
        }
    }

    /// Makes a record durable, then uses it. Returns the tokens there are then.
    pub(super) async fn keep(
        &self,
        kept: Kept,
        record: Record,
    ) -> Result<Option<Tokens>, AuthError> {
        match kept::swap(&self.config, kept.version.clone(), Some(record.clone())).await {
            Ok(Ok(_version)) => {
                self.with(|state| state.tokens.clone_from(&record.tokens));
                Ok(record.tokens)
            }
            // Somebody signed out, or in, without the lock: theirs is the later word.
            Ok(Err(())) => Ok(self.load().await?.tokens().cloned()),
            Err(error) => {
                let unwritten = Kept {
                    record: Some(record),
                    version: kept.version,
                };
                self.with(|state| state.unwritten = Some(unwritten));
                Err(error)
            }
        }
    }

    /// Replaces what was rejected, if it is still what is kept. Returns the tokens there are then.
    async fn drop_exactly(
        &self,
        rejected: Kept,
        instead: Option<Record>,
    ) -> Result<Option<Tokens>, AuthError> {
        let (Ok(_) | Err(())) = kept::swap(&self.config, rejected.version, instead).await?;
        Ok(self.load().await?.tokens().cloned())
    }
}

/// A task of ours that did not come to its end.
pub(super) fn ended(error: &tokio::task::JoinError) -> AuthError {
    AuthError::Local(format!("getting tokens ended early: {error}"))
}
