//! Gives back what a guardian needed only to begin: it may wait for weeks, and is one process more for every daemon.
//!
//! What it has read of its binary and of the libraries is in the files still, and comes back by itself when it is used
//! again.
#![allow(
    unsafe_code,
    reason = "telling the kernel that pages are not needed has no safe binding"
)]

use std::fs;

/// Memory that holds nothing but what is in a file.
#[derive(Debug, PartialEq, Eq)]
struct Clean {
    start: usize,
    end: usize,
}

/// Lets go of the pages of files that this process only read.
pub(super) fn let_go() {
    let Ok(maps) = fs::read_to_string("/proc/self/smaps") else {
        return;
    };
    for Clean { start, end } in clean(&maps) {
        // SAFETY: the range is a mapping of this process, of a file, without write permission, and no page of it was ever
        // written, so each comes back from the file with the same content.
        unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_DONTNEED) };
    }
}

/// The mappings of files in which nothing was changed: what is relocated at the start of a program must stay.
fn clean(maps: &str) -> Vec<Clean> {
    let mut found = Vec::new();
    let mut candidate = None;
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        match first.strip_suffix(':') {
            // The head of a mapping: its range, its permissions, an offset, a device, an inode and a path.
            None => {
                let is_read_only = words.next().is_some_and(|mode| !mode.contains('w'));
                let is_of_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
                candidate = range(first).filter(|_| is_read_only && is_of_file);
            }
            // The last of the counts that matter here; 0 kB when nothing in it is this process's own.
            Some("Anonymous") => {
                let is_unchanged = words.next() == Some("0");
                found.extend(candidate.take().filter(|_| is_unchanged));
            }
            Some(_) => {}
        }
    }
    found
}

fn range(text: &str) -> Option<Clean> {
    let (start, end) = text.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    (start < end).then_some(Clean { start, end })
}

#[cfg(test)]
mod tests {
    use super::{Clean, clean};

    #[test]
    fn only_what_is_read_from_files_and_unchanged_is_let_go() {
        let mapping = |head: &str, own: &str| {
            format!("{head}\nSize:  8 kB\nRss:  8 kB\nAnonymous:  {own} kB\nVmFlags: rd mr\n")
        };
        let maps = [
            mapping("1000-2000 r-xp 00000000 fe:00 12 /usr/bin/a", "0"),
            mapping("2000-3000 r--p 00001000 fe:00 12 /usr/bin/a", "4"),
            mapping("3000-4000 rw-p 00002000 fe:00 12 /usr/bin/a", "0"),
            mapping("4000-5000 r--p 00000000 00:00 0", "0"),
            mapping("5000-6000 r-xp 00000000 00:00 0 [vdso]", "0"),
            mapping(
                "7f0000001000-7f0000003000 r--p 00000000 fe:00 9 /lib/c d (deleted)",
                "0",
            ),
            mapping("nonsense", "0"),
        ]
        .concat();
        let expected = [
            Clean {
                start: 0x1000,
                end: 0x2000,
            },
            Clean {
                start: 0x7f00_0000_1000,
                end: 0x7f00_0000_3000,
            },
        ];
        assert_eq!(clean(&maps), expected);
        assert_eq!(clean(""), []);
    }
}
