//! The process table of Linux, as `/proc` shows it.
#![allow(
    unsafe_code,
    reason = "PR_SET_CHILD_SUBREAPER has no safe binding that takes a flag"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
};

use rustix::process::{Pid, WaitOptions, waitpid};

use super::MARK;

/// How much of a command line is read for a name, in bytes.
const NAME: u64 = 256;

/// What helps to tell whose an adopted orphan is.
pub(crate) struct Orphans {
    /// Whether the tree is the only one that runs now.
    pub(super) alone: bool,
    /// The leaders of all trees, and guardians: children of this process that are no orphans.
    pub(super) leaders: BTreeSet<i32>,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    state: u8,
    pub(crate) parent: i32,
    group: i32,
    pub(crate) session: i32,
    threads: u64,
    /// In the kernel's ticks since boot.
    pub(crate) started: u64,
}

impl Stat {
    /// Says whether the process still runs: one that nobody has waited for yet does not.
    pub(crate) fn runs(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }
}

/// Makes this process the reaper of its descendants.
pub(super) fn become_subreaper() -> bool {
    // SAFETY: the call takes a flag by value and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 }
}

/// Returns when a process started, in ticks since boot.
pub(crate) fn start_of(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.started)
}

/// Returns how many processes and threads the machine has now; none when it cannot be told.
pub(crate) fn load() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace()
        .nth(3)?
        .rsplit_once('/')?
        .1
        .parse()
        .ok()
}

/// Returns how many processes and threads descend from the leader or are in its session, the leader included. Cheaper
/// than [`members`]: orphans that this process adopted count without being asked whose they are.
pub(crate) fn weight(leader: i32, started: u64, orphans: Option<&Orphans>) -> u64 {
    let descent = descent(leader, started, orphans);
    descent.values().map(|stat| stat.threads.max(1)).sum()
}

/// Returns the process groups of what [`weight`] counts.
pub(crate) fn groups(leader: i32, started: u64, orphans: Option<&Orphans>) -> BTreeSet<i32> {
    let descent = descent(leader, started, orphans);
    let living = descent.values().filter(|stat| stat.runs());
    living
        .map(|stat| stat.group)
        .filter(|&group| group > 1)
        .collect()
}

fn descent(leader: i32, started: u64, orphans: Option<&Orphans>) -> BTreeMap<i32, Stat> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut table = table(started);
    let is_adopted = |pid: &i32, stat: &Stat| {
        orphans.is_some_and(|orphans| stat.parent == own && !orphans.leaders.contains(pid))
    };
    let mut members: BTreeSet<i32> = table
        .iter()
        .filter(|(pid, stat)| **pid == leader || stat.session == leader || is_adopted(pid, stat))
        .map(|(&pid, _)| pid)
        .collect();
    close_over_children(&table, &mut members);
    table.retain(|pid, _| members.contains(pid));
    table
}

/// Returns the leader and its descendants, `count` generations in all.
pub(super) fn first_generations(leader: i32, count: usize) -> BTreeSet<i32> {
    let table = table(0);
    let mut found = BTreeSet::new();
    let mut generation = BTreeSet::from([leader]);
    for _ in 0..count {
        found.extend(&generation);
        let children = table
            .iter()
            .filter(|(_, stat)| generation.contains(&stat.parent));
        generation = children.map(|(&pid, _)| pid).collect();
    }
    found
}

/// Returns the command line of a process, as it was started; its short name where it has none.
pub(crate) fn name(pid: i32) -> Option<String> {
    let mut line = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/cmdline")).ok()?;
    file.take(NAME).read_to_end(&mut line).ok()?;
    let words = line
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    let line: Vec<_> = words.map(String::from_utf8_lossy).collect();
    if line.is_empty() {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        return Some(name.trim_end().to_owned());
    }
    Some(line.join(" "))
}

/// Returns the living members of a tree.
pub(super) fn members(
    leader: i32,
    started: u64,
    mark: &str,
    orphans: Option<&Orphans>,
) -> BTreeSet<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let table = table(started);
    let mut members: BTreeSet<i32> = table
        .iter()
        .filter(|(pid, stat)| **pid == leader || stat.session == leader || stat.group == leader)
        .map(|(&pid, _)| pid)
        .collect();
    close_over_children(&table, &mut members);
    let needle = format!("{MARK}={mark}");
    for (&pid, stat) in table
        .iter()
        .filter(|(pid, _)| !members.contains(pid))
        .collect::<Vec<_>>()
    {
        let is_ours = match marks(pid) {
            Some(marks) if marks.contains(&needle) => true,
            Some(marks) if !marks.is_empty() => false,
            // Without any mark: only an orphan that we adopted, and only when no other tree can claim it.
            _ => orphans.is_some_and(|orphans| {
                orphans.alone && stat.parent == own && !orphans.leaders.contains(&pid)
            }),
        };
        if is_ours {
            members.insert(pid);
        }
    }
    close_over_children(&table, &mut members);
    if orphans.is_some() {
        reap(&table, &members, own, leader);
    }
    members.retain(|pid| table.get(pid).is_some_and(Stat::runs));
    members
}

/// Takes the status of adopted processes that have ended. The leader's belongs to whoever waits for it.
fn reap(table: &BTreeMap<i32, Stat>, members: &BTreeSet<i32>, own: i32, leader: i32) {
    for (&pid, stat) in table {
        let is_adopted = stat.parent == own && stat.state == b'Z' && pid != leader;
        if let Some(pid) = Pid::from_raw(pid).filter(|_| is_adopted && members.contains(&pid)) {
            let _status = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

fn close_over_children(table: &BTreeMap<i32, Stat>, members: &mut BTreeSet<i32>) {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (&pid, stat) in table {
        children.entry(stat.parent).or_default().push(pid);
    }
    let mut open: Vec<i32> = members.iter().copied().collect();
    while let Some(parent) = open.pop() {
        for &child in children.get(&parent).into_iter().flatten() {
            if members.insert(child) {
                open.push(child);
            }
        }
    }
}

/// Returns every process that started no earlier than `since`.
pub(crate) fn table(since: u64) -> BTreeMap<i32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .filter(|(_, stat)| stat.started >= since)
        .collect()
}

/// Returns the line of one process; none when there is none.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads one line of `/proc/PID/stat`. See: proc_pid_stat(5).
fn parse_stat(line: &[u8]) -> Option<Stat> {
    // The name stands in parentheses and may hold anything, parentheses too: the last one ends it.
    let end = line.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(line.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let threads = fields.nth(13)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    Some(Stat {
        state,
        parent,
        group,
        session,
        threads,
        started,
    })
}

/// Returns the mark variables in a process's environment; none when it may not be read.
fn marks(pid: i32) -> Option<Vec<String>> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let found = environ
        .split(|&byte| byte == 0)
        .filter(|variable| variable.starts_with(MARK.as_bytes()))
        .map(|variable| String::from_utf8_lossy(variable).into_owned())
        .collect();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::{Stat, parse_stat};

    fn check(line: &str, expect: Option<Stat>) {
        assert_eq!(parse_stat(line.as_bytes()), expect, "{line}");
    }

    #[test]
    fn a_stat_line_is_read_whatever_the_name_holds() {
        let rest = "S 1 2 3 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1";
        let stat = Stat {
            state: b'S',
            parent: 1,
            group: 2,
            session: 3,
            threads: 1,
            started: 777,
        };
        check(&format!("9 (sleep) {rest}"), Some(stat));
        check(&format!("9 (a) Z 7 (b) {rest}"), Some(stat));
        check("9 (sleep", None);
        check("9 (sleep) S 1 2", None);
        check("", None);
    }
}
