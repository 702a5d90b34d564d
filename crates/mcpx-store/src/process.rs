//! Which process a number means: a number is used again, the time when its process started is not.

/// Returns when a process started, in clock ticks since the system did; nothing when there is no such process or the
/// system does not say (everywhere but on Linux).
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        parse_started(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pid;
        None
    }
}

/// Says whether the process that was started then still runs; nothing when that cannot be told. Without a time, whether
/// any process has the number. One that ended and that nobody has waited for does not run: in a container that may stay so.
#[must_use]
pub fn is_alive(pid: u32, started_at: Option<u64>) -> Option<bool> {
    #[cfg(unix)]
    {
        let number = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
        match rustix::process::test_kill_process(number) {
            Err(rustix::io::Errno::SRCH) => return Some(false),
            Ok(()) | Err(rustix::io::Errno::PERM) => {}
            Err(_) => return None,
        }
        if has_ended(pid) {
            return Some(false);
        }
        Some(match (started_at, started(pid)) {
            (Some(then), Some(now)) => then == now,
            _ => true,
        })
    }
    #[cfg(not(unix))]
    {
        let _ = (pid, started_at);
        None
    }
}

/// Says whether a process has ended, although it still has its number.
#[cfg(target_os = "linux")]
fn has_ended(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let end = line.iter().rposition(|&byte| byte == b')');
    let state = end.and_then(|end| line.get(end + 2));
    matches!(state, Some(b'Z' | b'X'))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn has_ended(_: u32) -> bool {
    false
}

/// Reads field 22 of `/proc/PID/stat`. See: proc_pid_stat(5).
#[cfg(target_os = "linux")]
fn parse_started(line: &[u8]) -> Option<u64> {
    // The name stands in parentheses and may hold anything, parentheses too: the last one ends it.
    let end = line.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(line.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
