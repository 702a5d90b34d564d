//! Control groups that count processes: made for one tree each, by root, where the system lets it.

use std::{
    collections::BTreeSet,
    fs, io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::tree::{orphans_of, table};

/// What the names of our groups begin with; the process id and a number follow.
const PREFIX: &str = "child-process.";

/// How often the thread that looks on does so.
const LOOK: Duration = Duration::from_millis(10);

/// How long a tree that met its limit is killed again and again.
const KILL: Duration = Duration::from_secs(10);

/// The numbers of the groups that this process uses now, and the last one given.
static USED: Mutex<(u64, BTreeSet<u64>)> = Mutex::new((0, BTreeSet::new()));

fn used() -> MutexGuard<'static, (u64, BTreeSet<u64>)> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A group for one tree. Removed when dropped, which needs every process of it to have ended; else the next one made
/// removes it.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    path: PathBuf,
    number: u64,
    door: OwnedFd,
}

impl ControlGroup {
    /// Makes a group that holds `max` processes and threads; none where that cannot be.
    pub(crate) fn make(max: u64) -> Option<Self> {
        let memberships = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        places(&memberships, &mounts)
            .iter()
            .find_map(|parent| Self::within(parent, max).ok())
    }

    fn within(parent: &Path, max: u64) -> io::Result<Self> {
        remove_unused(parent);
        let number = {
            let mut used = used();
            used.0 += 1;
            let number = used.0;
            used.1.insert(number);
            number
        };
        let path = parent.join(format!("{PREFIX}{}.{number}", std::process::id()));
        let made = fs::create_dir(&path).and_then(|()| {
            fs::write(path.join("pids.max"), max.to_string())?;
            let door = fs::File::options()
                .write(true)
                .open(path.join("cgroup.procs"))?;
            Ok(OwnedFd::from(door))
        });
        match made {
            Ok(door) => Ok(Self { path, number, door }),
            Err(error) => {
                let _never_made = fs::remove_dir(&path);
                used().1.remove(&number);
                Err(error)
            }
        }
    }

    /// Returns where a process writes a zero to come in.
    pub(crate) fn door(&self) -> RawFd {
        self.door.as_raw_fd()
    }

    /// Says whether the kernel has refused a process because of the limit.
    pub(crate) fn was_full(&self) -> bool {
        let events = fs::read_to_string(self.path.join("pids.events")).unwrap_or_default();
        let refused = events.lines().find_map(|line| line.strip_prefix("max "));
        refused.is_some_and(|count| count.trim() != "0")
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _still_used = fs::remove_dir(&self.path);
        used().1.remove(&self.number);
    }
}

/// Removes the groups of ours that nobody uses any more: a killed program leaves them.
fn remove_unused(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    let own = std::process::id();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some((pid, number)) = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('.'))
            .and_then(|(pid, number)| Some((pid.parse::<u32>().ok()?, number.parse().ok()?)))
        else {
            continue;
        };
        let is_used = if pid == own {
            used().1.contains(&number)
        } else {
            Path::new(&format!("/proc/{pid}")).exists()
        };
        if !is_used {
            let _still_full = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the folders in which a group that counts processes may be made, the nearest first. See: cgroups(7).
fn places(memberships: &str, mounts: &str) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for mount in mounts.lines() {
        // `36 35 98:0 ROOT MOUNT_POINT OPTIONS … - TYPE SOURCE SUPER_OPTIONS`
        let Some((left, right)) = mount.split_once(" - ") else {
            continue;
        };
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(root), Some(at), Some(kind)) = (left.get(3), left.get(4), right.first()) else {
            continue;
        };
        let counts = |list: &str| list.split([',', ' ', '\n']).any(|word| word == "pids");
        let is_first = *kind == "cgroup" && right.get(2).is_some_and(|options| counts(options));
        let is_second = *kind == "cgroup2";
        if !is_first && !is_second {
            continue;
        }
        // `8:pids:/path` or `0::/path`
        let own = memberships.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_it = if is_first {
                counts(controllers)
            } else {
                controllers.is_empty()
            };
            is_it.then_some(path)
        });
        let Some(own) = own else { continue };
        let Ok(below) = Path::new(own).strip_prefix(root) else {
            continue;
        };
        let folder = Path::new(at).join(below);
        for folder in folder
            .ancestors()
            .take_while(|folder| folder.starts_with(at))
        {
            let lends = || fs::read_to_string(folder.join("cgroup.subtree_control"));
            if is_first || lends().is_ok_and(|controllers| counts(&controllers)) {
                places.push(folder.to_owned());
            }
        }
    }
    places
}

/// Completes when a tree has met its limit, and kills it. For root where no group can be made: a thread of its
/// own, which the kernel prefers to all that the tree may start.
pub(crate) async fn watched(leader: i32, started: u64, max: u64, at_start: Option<u64>) {
    let (done, told) = tokio::sync::oneshot::channel::<()>();
    let look = move || {
        prefer_this_thread();
        let mut fewest = at_start.unwrap_or(u64::MAX);
        while !done.is_closed() {
            std::thread::sleep(LOOK);
            let now = table::load().unwrap_or(0);
            fewest = fewest.min(now);
            let more = now.saturating_sub(fewest);
            if more > max / 2 && table::weight(leader, started, orphans_of(leader).as_ref()) > max {
                // Told first: the end of the program must not be heard before its reason.
                let _gone = done.send(());
                kill(leader, started);
                return;
            }
        }
    };
    let looks = std::thread::Builder::new()
        .name("process-cap".to_owned())
        .spawn(look);
    if looks.is_err() || told.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Kills group by group, each at once, until nothing is left that descends from the leader.
fn kill(leader: i32, started: u64) {
    let until = Instant::now() + KILL;
    while Instant::now() < until {
        let groups = table::groups(leader, started, orphans_of(leader).as_ref());
        if groups.is_empty() {
            return;
        }
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Puts this thread before all ordinary ones; as far before them as possible where that is refused.
#[expect(unsafe_code, reason = "scheduling has no safe binding")]
fn prefer_this_thread() {
    let first = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameters live through the call; zero is this thread.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const first) } != 0 {
        // SAFETY: numbers alone.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_control_groups_are_found() {
        let mounts = "30 1 0:26 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n\
                      31 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      32 1 0:28 / / rw - ext4 /dev/vda rw";
        assert_eq!(
            places("8:pids:/a/b\n3:cpu:/c\n0::/", mounts),
            ["a/b", "a", ""].map(|path| Path::new("/sys/fs/cgroup/pids").join(path))
        );
        // Mounted from below: only what is below can be reached.
        let mounts = "30 1 0:26 /a /x rw - cgroup cgroup rw,pids";
        assert_eq!(
            places("8:pids:/a/b", mounts),
            [Path::new("/x/b"), Path::new("/x")]
        );
        assert_eq!(places("8:pids:/other", mounts), [] as [&Path; 0]);
        let mounts = "30 1 0:26 / /nonexistent rw - cgroup2 cgroup2 rw";
        assert_eq!(places("0::/a", mounts), [] as [&Path; 0]);
        assert_eq!(places("", "x\n - \n"), [] as [&Path; 0]);
    }
}
