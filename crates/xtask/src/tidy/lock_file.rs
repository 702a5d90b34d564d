//! The lock file has a budget: every crate we build on is compiled, audited and updated by everyone.

use super::{Finding, finding};
use crate::tree::Tree;

/// Most packages the lock file may list, ours and those of other systems included.
///
/// 280 when the workspace began with 261; 350 since a second shell parser stands beside ours as an oracle in tests, and a
/// grammar for each language that is outlined; 380 since the official Rust SDK of MCP stands on the other side in the tests of
/// `mcp-client`, with 21 packages of its own that no product links. Raising it is a decision: say in the commit why std does not do, how big the
/// new crate is and who keeps it.
const BUDGET: usize = 380;

/// Finds a lock file over its budget.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(lock) = tree.get("Cargo.lock") else {
        return Vec::new();
    };
    over(lock, BUDGET).into_iter().collect()
}

fn over(lock: &str, budget: usize) -> Option<Finding> {
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    (packages > budget).then(|| {
        finding(
            "Cargo.lock",
            1,
            format!("{packages} packages are locked, the budget is {budget}"),
            "do without the new crate or its default features, or raise the budget in xtask with a reason",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_over_its_budget_is_found() {
        let lock = "[[package]]\nname = \"a\"\n\n[[package]]\nname = \"b\"\n";
        assert!(over(lock, 2).is_none());
        assert!(over(lock, 1).is_some());
    }
}
