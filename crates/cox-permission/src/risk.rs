//! How much harm a call can do, in four ascending classes; and that of a command, from tables of programs.
//!
//! A command is read-only only if its program is listed and every option of it is known to read: an unknown option makes
//! it code execution. Build and test commands run code.

use serde::{Deserialize, Serialize};

use crate::{Segment, Segments, rule::known};

mod destructive;
mod readers;
mod reading;
mod writers;

pub use readers::read_paths;
pub(crate) use readers::{is_reader, reads_trees, word_has_pattern};
pub(crate) use writers::written;

/// How much harm a call can do. Ordered: a later class is riskier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Looks and changes nothing.
    ReadOnly,
    /// Changes files of the workspace in a way that can be undone from the archive.
    Write,
    /// Runs code.
    Exec,
    /// May destroy what cannot be brought back.
    Destructive,
}

/// Returns the risk of a shell line: that of its riskiest command. A line that cannot be told runs code at least.
pub fn command_risk(segments: &Segments) -> Risk {
    let Some(segments) = known(segments) else {
        return Risk::Exec;
    };
    let risks = segments.iter().map(|segment| {
        let writes = segment.redirects.iter().any(|redirect| redirect.writes);
        let own = if writes { Risk::Write } else { Risk::ReadOnly };
        segment_risk(segments, segment).max(own)
    });
    risks.max().unwrap_or(Risk::Exec)
}

/// Returns the risk of one command of a line.
pub(crate) fn segment_risk(line: &[Segment], segment: &Segment) -> Risk {
    let words = &segment.words;
    if destructive::is_destructive(words)
        || destructive::may_be_destructive(segment)
        || destructive::is_fed_from_network(line, words)
    {
        return Risk::Destructive;
    }
    // Whose settings git reads depends on the folder, and settings run programs.
    let changes_folder = || {
        line.iter()
            .any(|other| matches!(other.words[0].as_str(), "cd" | "pushd" | "popd"))
    };
    match reading::is_read_only(segment) && !runs_more(line, segment) {
        true if words[0] == "git" && changes_folder() => Risk::Exec,
        true => Risk::ReadOnly,
        false => Risk::Exec,
    }
}

/// Says whether a command runs another one that does more than read.
fn runs_more(line: &[Segment], segment: &Segment) -> bool {
    if segment.runs == 0 {
        return false;
    }
    let at = line.iter().position(|other| std::ptr::eq(other, segment));
    match at.and_then(|at| line.get(at + 1..=at + segment.runs)) {
        Some(run) => run
            .iter()
            .any(|inner| segment_risk(line, inner) > Risk::ReadOnly),
        None => true,
    }
}

/// Returns the risk of a line that cannot be told, from what may be commands in it.
pub(crate) fn loose_risk(commands: &[Vec<String>]) -> Risk {
    match commands
        .iter()
        .any(|words| destructive::is_destructive(words))
    {
        true => Risk::Destructive,
        false => Risk::Exec,
    }
}

#[cfg(test)]
mod tests;
