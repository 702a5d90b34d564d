//! The process table, as the warden needs it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
};

use rustix::process::getpid;

/// How much of a command line is read for a name, in bytes.
const NAME: u64 = 256;

/// Returns the living processes that descend from this one.
pub(super) fn descendants() -> BTreeSet<i32> {
    let own = getpid().as_raw_nonzero().get();
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, parent) in living() {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = BTreeSet::new();
    let mut open = vec![own];
    while let Some(parent) = open.pop() {
        for &child in children.get(&parent).into_iter().flatten() {
            if found.insert(child) {
                open.push(child);
            }
        }
    }
    found
}

/// Returns the living processes but the first and this one.
pub(super) fn others() -> BTreeSet<i32> {
    let own = getpid().as_raw_nonzero().get();
    let pids = living().into_iter().map(|(pid, _)| pid);
    pids.filter(|&pid| pid != 1 && pid != own).collect()
}

/// Returns the command line of a process, as it gives it; its short name where it has none.
pub(super) fn name(pid: i32) -> Option<String> {
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

/// Returns each living process with its parent.
fn living() -> Vec<(i32, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            // The name may hold anything, parentheses too: the last one ends it.
            let end = stat.iter().rposition(|&byte| byte == b')')?;
            let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
            let mut fields = rest.split_ascii_whitespace();
            let is_dead = matches!(fields.next()?, "Z" | "X");
            let parent = fields.next()?.parse().ok()?;
            (!is_dead).then_some((pid, parent))
        })
        .collect()
}
