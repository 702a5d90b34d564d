//! What several entries of one identity make of the instances that they share.

use std::{collections::BTreeMap, time::Duration};

use super::{Reach, Server};

/// Entries that share their instances: several names of one program or address.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// The names, sorted; views (`aliasOf`) are among them.
    pub names: Vec<String>,
    /// Whether entries that are no views share: each has sizes of its own.
    pub is_of_equals: bool,
    /// The first that is no view, with the sizes that hold for all.
    pub server: Server,
}

/// The servers that can be used, by identity. Where entries differ, the widest holds for what they share: the most instances, the most that
/// stay, the longest life and the longest start. How long a call may take, and how long a caller waits for a start, each
/// entry says for itself.
#[must_use]
pub fn shared(servers: &BTreeMap<String, Server>) -> BTreeMap<String, Shared> {
    let mut all: BTreeMap<String, Shared> = BTreeMap::new();
    let is_view = |server: &Server| matches!(server.reach, Reach::Alias { .. });
    let usable = servers.values().filter(|server| server.is_ready());
    let (views, equals): (Vec<&Server>, Vec<&Server>) = usable.partition(|server| is_view(server));
    for server in equals {
        all.entry(server.identity())
            .and_modify(|shared| {
                shared.names.push(server.name.clone());
                shared.is_of_equals = true;
                widen(&mut shared.server, server);
            })
            .or_insert_with(|| Shared {
                names: vec![server.name.clone()],
                is_of_equals: false,
                server: server.clone(),
            });
    }
    for view in views {
        if let Some(shared) = all.get_mut(&view.identity()) {
            shared.names.push(view.name.clone());
            shared.names.sort();
        }
    }
    all
}

fn widen(wide: &mut Server, other: &Server) {
    wide.max = wide.max.max(other.max);
    wide.min = wide.min.max(other.min);
    wide.idle_timeout = longest(wide.idle_timeout, other.idle_timeout);
    wide.start_timeout = wide.start_timeout.max(other.start_timeout);
    wide.single_caller_questions |= other.single_caller_questions;
}

impl Server {
    /// Whether its entry says so itself, in the block `mcpx`.
    #[must_use]
    pub fn says(&self, key: &str) -> bool {
        let block = self.written.0.get("mcpx");
        block
            .and_then(|block| block.get(key))
            .is_some_and(|value| !value.is_null())
    }
}

/// Zero is for ever.
fn longest(one: Duration, other: Duration) -> Duration {
    if one.is_zero() || other.is_zero() {
        Duration::ZERO
    } else {
        one.max(other)
    }
}

#[cfg(test)]
mod tests;
