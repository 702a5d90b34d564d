//! The life of a guardian: from its first line to its end. Runs in a process of its own, without a runtime.

use std::{
    io::{self, BufRead, Write},
    thread,
    time::{Duration, Instant},
};

use super::{DISARM, GuardLimits, READY};
use crate::{Identity, Mark, mark::EndLimits};

/// What the first line begins with; the number is the version of its form.
const FORM: &str = "guard 1";

/// How often it is looked whether what was started has ended by itself.
const LOOK: Duration = Duration::from_millis(50);

/// Longest line that is read, in bytes.
const LINE: u64 = 1024;

/// Is a guardian: reads from its standard input whose, and what is left to do when that closes. Returns the exit code
/// for the process: 0 when nothing is left or it was sent home, 1 when something still runs, 2 when it was not told what
/// to do, 3 where it cannot tell. Called by a binary first of all, before a runtime or anything else takes memory.
pub fn run() -> u8 {
    #[cfg(unix)]
    super::detach::ignore_signals();
    let mut input = io::stdin().lock();
    let Some((mark, limits)) = line(&mut input).as_deref().and_then(read_first_line) else {
        return 2;
    };
    if Identity::own().is_none() {
        return 3;
    }
    let mut output = io::stdout().lock();
    // An owner that hears nothing any more has gone, and its pipe is closed too.
    let _unheard = output.write_all(READY).and_then(|()| output.flush());
    #[cfg(target_os = "linux")]
    super::lean::let_go();
    while let Some(line) = line(&mut input) {
        if line.trim_end() == DISARM {
            return 0;
        }
    }
    finish(&mark, limits)
}

/// Ends what the owner left.
fn finish(mark: &Mark, limits: GuardLimits) -> u8 {
    #[cfg(unix)]
    {
        let all = limits.settle + limits.end.deadline + Duration::from_secs(2);
        super::detach::end_after(u32::try_from(all.as_secs()).unwrap_or(u32::MAX));
    }
    let until = Instant::now() + limits.settle;
    while Instant::now() < until && mark.find().is_ok_and(|found| !found.is_empty()) {
        thread::sleep(LOOK);
    }
    match mark.end(limits.end) {
        Ok(ended) if ended.survivors.is_empty() => 0,
        Ok(_) => 1,
        Err(_) => 3,
    }
}

/// Reads one line; none at the end, or when it is no text.
fn line(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = io::Read::take(input, LINE).read_line(&mut line);
    matches!(read, Ok(read) if read > 0).then_some(line)
}

/// Writes what a guardian reads first.
pub(super) fn first_line(mark: &Mark, limits: GuardLimits) -> String {
    let GuardLimits { settle, end } = limits;
    let [settle, grace, deadline] =
        [settle, end.grace, end.deadline].map(|duration| duration.as_millis());
    format!("{FORM} {} {settle} {grace} {deadline}\n", mark.as_str())
}

fn read_first_line(line: &str) -> Option<(Mark, GuardLimits)> {
    let rest = line.strip_suffix('\n')?.strip_prefix(FORM)?;
    let mut words = rest.strip_prefix(' ')?.split(' ');
    let mark = Mark::new(words.next()?).ok()?;
    let mut duration = || {
        let milliseconds: u32 = words.next()?.parse().ok()?;
        Some(Duration::from_millis(milliseconds.into()))
    };
    let limits = GuardLimits {
        settle: duration()?,
        end: EndLimits {
            grace: duration()?,
            deadline: duration()?,
        },
    };
    words.next().is_none().then_some((mark, limits))
}

#[cfg(test)]
mod tests {
    use super::{GuardLimits, Mark, first_line, read_first_line};

    #[test]
    fn a_first_line_is_read_as_it_was_written() {
        let mark = Mark::new("0123456789abcdef").unwrap();
        let limits = GuardLimits::default();
        let line = first_line(&mark, limits);
        assert_eq!(line, "guard 1 0123456789abcdef 2000 3000 20000\n");
        assert_eq!(read_first_line(&line), Some((mark, limits)));
        for none in [
            "",
            "\n",
            "guard 1 0123456789abcdef 2000 3000 20000",
            "guard 2 0123456789abcdef 2000 3000 20000\n",
            "guard 1 short 2000 3000 20000\n",
            "guard 1 0123456789abcdef 2000 3000\n",
            "guard 1 0123456789abcdef 2000 3000 20000 1\n",
            "guard 1 0123456789abcdef 2000 3000 -1\n",
        ] {
            assert_eq!(read_first_line(none), None, "{none:?}");
        }
    }
}
