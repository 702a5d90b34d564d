//! What is remembered of the eras that servers speak, by the identity of their launch.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use mcp_client::Verdict;
use mcp_wire::Revision;
use mcpx_store::eras::{EraVerdict, Eras};

use crate::Clock;

/// Remembers the eras that servers speak.
pub trait EraMemory: Send + Sync {
    /// What was found out about this launch.
    fn recall(&self, identity: &str) -> Option<Verdict>;
    /// Something was found out.
    fn learn(&self, identity: &str, verdict: Verdict, revision: Revision);
    /// What was remembered may be wrong.
    fn forget(&self, identity: &str);
}

/// Remembers in the state directory. What cannot be written is remembered by the daemon alone: the next one probes.
pub struct KeptEras {
    eras: Eras,
    clock: Clock,
    known: Mutex<BTreeMap<String, Verdict>>,
}

impl KeptEras {
    /// Reads what there is. A file that cannot be read has nothing.
    #[must_use]
    pub fn read(eras: Eras, clock: Clock) -> Self {
        let (verdicts, _begun_anew) = eras.load();
        let known = verdicts.into_iter().filter_map(|(identity, kept)| {
            let verdict = Verdict {
                era: kept.era()?,
                old_sse: kept.old_sse,
            };
            Some((identity, verdict))
        });
        Self {
            known: Mutex::new(known.collect()),
            eras,
            clock,
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Verdict>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EraMemory for KeptEras {
    fn recall(&self, identity: &str) -> Option<Verdict> {
        self.known().get(identity).copied()
    }

    fn learn(&self, identity: &str, verdict: Verdict, revision: Revision) {
        self.known().insert(identity.to_owned(), verdict);
        let kept = EraVerdict::new(verdict.era, Some(revision), verdict.old_sse, (self.clock)());
        let _only_saves_a_probe = self.eras.put(identity, kept);
    }

    fn forget(&self, identity: &str) {
        self.known().remove(identity);
        let _only_saves_a_probe = self.eras.forget(identity, (self.clock)());
    }
}

/// Remembers nothing: every connection finds out by itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMemory;

impl EraMemory for NoMemory {
    fn recall(&self, _identity: &str) -> Option<Verdict> {
        None
    }

    fn learn(&self, _identity: &str, _verdict: Verdict, _revision: Revision) {}

    fn forget(&self, _identity: &str) {}
}
