//! Who answers a server's questions, and what is declared to it for that.
//!
//! A modern server hears with each call what the client of that call can answer. A legacy one hears it once, at its start:
//! of an instance that is one caller's own, what that caller can; of one that several share, or that the hub starts for
//! itself, what any client of this hub was seen to be able to. A question that the client of the present call cannot answer
//! is refused at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mcp_client::{Abilities, Ask, Asked};
use mcp_wire::{Answer, Era, Question, Revision, RpcError, error};
use tokio::sync::Notify;

use super::Registry;
use super::call::CallError;
use super::instance::Instance;
use super::scope::Key;
use super::upstream::Upstream;

/// Nobody: nothing is declared, and what is asked anyway is refused.
pub struct Nobody;

#[async_trait]
impl Ask for Nobody {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        unanswered(&asked.question)
    }
}

/// Nobody is there to be asked.
fn unanswered(question: &Question) -> Answer {
    match question {
        Question::Form { .. } | Question::Url { .. } => Answer::Cancel,
        _ => Answer::Failed(RpcError::new(
            error::METHOD_NOT_FOUND,
            "it was asked outside of every call, where there is nobody to answer",
        )),
    }
}

/// What clients of the hub can answer.
#[derive(Default)]
pub struct Somebody {
    known: Mutex<Known>,
    grew: Notify,
}

#[derive(Default)]
struct Known {
    /// Of all clients that were seen.
    seen: Abilities,
    /// Of callers that wait for an instance.
    waiting: Vec<(u64, Key, Abilities)>,
    last: u64,
    /// What had been seen when a server's lists were read last, by what stands behind it.
    read_for: HashMap<String, Abilities>,
    /// Held while one is read again for more.
    reading: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
}

/// A caller waits for an instance, until this is dropped.
pub(super) struct Waits<'a> {
    somebody: &'a Somebody,
    number: u64,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut known = self.somebody.lock();
        known.waiting.retain(|(number, ..)| *number != self.number);
    }
}

impl Somebody {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client that can answer this was seen.
    pub fn saw(&self, able: Abilities) {
        let mut known = self.lock();
        if able.without(known.seen) == Abilities::default() {
            return;
        }
        known.seen = known.seen.or(able);
        drop(known);
        self.grew.notify_one();
    }

    /// Returns when a client was seen that can more than all before.
    pub async fn grew(&self) {
        self.grew.notified().await;
    }

    /// A server's lists are about to be read.
    pub(super) fn reads(&self, backing: &str) {
        let mut known = self.lock();
        let seen = known.seen;
        known.read_for.insert(backing.to_owned(), seen);
    }

    fn reading(&self, backing: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut known = self.lock();
        Arc::clone(known.reading.entry(backing.to_owned()).or_default())
    }

    /// Whether more was seen since a server's lists were read here. Some servers list what their client can use.
    fn has_grown_for(&self, backing: &str) -> bool {
        let known = self.lock();
        let read_for = known.read_for.get(backing);
        read_for.is_some_and(|read_for| known.seen != *read_for)
    }

    /// A caller waits for an instance of this key.
    pub(super) fn waits(&self, key: &Key, able: Abilities) -> Waits<'_> {
        self.saw(able);
        let mut known = self.lock();
        known.last += 1;
        let number = known.last;
        known.waiting.push((number, key.clone(), able));
        Waits {
            somebody: self,
            number,
        }
    }

    /// Who answers for an instance of this key what no call answers; what it can is declared at its start.
    #[must_use]
    pub fn behind(self: &Arc<Self>, key: &Key) -> Arc<dyn Ask> {
        Arc::new(Behind {
            somebody: Arc::clone(self),
            key: key.clone(),
            declared: Mutex::default(),
        })
    }
}

/// Behind one instance.
struct Behind {
    somebody: Arc<Somebody>,
    key: Key,
    /// What was declared already: a session that is begun anew, when nobody waits, declares the same.
    declared: Mutex<Option<Abilities>>,
}

#[async_trait]
impl Ask for Behind {
    fn abilities(&self) -> Abilities {
        let known = self.somebody.lock();
        let mut declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = known.waiting.iter().filter(|(_, key, _)| *key == self.key);
        let able = match (own.next(), *declared) {
            (Some((.., first)), before) if self.key.is_callers_own() => {
                let own = own.fold(*first, |all, (.., able)| all.or(*able));
                before.unwrap_or_default().or(own)
            }
            (None, Some(before)) if self.key.is_callers_own() => before,
            _ => known.seen,
        };
        *declared = Some(able);
        able
    }

    async fn ask(&self, asked: Asked, _deadline: Duration) -> Answer {
        unanswered(&asked.question)
    }
}

/// What a caller can answer, and a legacy instance was not told of.
#[must_use]
pub(super) fn undeclared(instance: &Instance, able: Abilities) -> Abilities {
    let Some(connection) = instance.live_connection() else {
        return Abilities::default();
    };
    if connection.era() == Era::Modern {
        return Abilities::default();
    }
    able.without(connection.agreed().declared)
}

/// Whether nothing is lost when it ends.
pub(super) fn is_untouched(instance: &Instance) -> bool {
    instance.users().is_nobody() && instance.subscriptions() == 0
}

impl Registry {
    /// Reads a legacy server again that was read before there was a client that can what one can now: what it lists may
    /// depend on it. What runs of it ends for that when it has done nothing yet, and else stays as it is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn read_for_more(&self, upstream: &Arc<Upstream>) -> Result<(), CallError> {
        let backing = self.usable(upstream)?;
        let revision = backing.known().and_then(|known| known.revision.clone());
        let is_legacy = revision
            .and_then(|revision| Revision::parse(&revision))
            .is_some_and(|revision| revision.era() == Era::Legacy);
        if !is_legacy {
            return Ok(());
        }
        // Who comes meanwhile wants what this one reads.
        let reading = self.somebody.reading(&backing.name);
        let _alone = reading.lock().await;
        if !self.somebody.has_grown_for(&backing.name) {
            return Ok(());
        }
        // Once for each growth, also when it fails.
        self.somebody.reads(&backing.name);
        let running = backing.pool.running();
        if running.iter().any(|instance| !is_untouched(instance)) {
            return Ok(());
        }
        for instance in running {
            let why = "it was started before there was a client that can answer its questions";
            backing.pool.retire(instance.seq(), why.to_owned());
        }
        self.read(upstream, &backing, true).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use mcpx_api::Caller;
    use mcpx_config::Scope;

    use super::*;
    use crate::registry::scope::key_of;

    #[test]
    fn an_instance_of_one_caller_declares_what_that_one_can_and_a_shared_one_what_anybody_can() {
        let forms = Abilities {
            forms: true,
            ..Abilities::default()
        };
        let roots = Abilities {
            roots: true,
            ..Abilities::default()
        };
        let somebody: Arc<Somebody> = Arc::default();
        let own = |session: &str| {
            let caller = Caller {
                session: Some(session.to_owned()),
                ..Caller::default()
            };
            key_of(Scope::Session, &caller).key
        };
        let of = |key: &Key| somebody.behind(key).abilities();
        let (mine, yours) = (own("a"), own("b"));
        assert_eq!(of(&Key::global()), Abilities::default());
        let behind = {
            let _waits = somebody.waits(&mine, forms);
            let behind = somebody.behind(&mine);
            assert_eq!(behind.abilities(), forms);
            let _cannot = somebody.waits(&yours, Abilities::default());
            assert_eq!(of(&yours), Abilities::default());
            behind
        };
        somebody.saw(roots);
        // A session that is begun anew declares the same.
        assert_eq!(behind.abilities(), forms);
        // What nobody waits for is started by the hub itself.
        for key in [&yours, &Key::global()] {
            assert_eq!(of(key), forms.or(roots));
        }
    }
}
