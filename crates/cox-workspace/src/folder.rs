//! A folder held open, so that what is done in it cannot be led elsewhere by a link that appears meanwhile.
//!
//! A folder is reached from its root without following any link (`openat2` where the system has it, step by step
//! elsewhere), and every act names one entry in it. Systems without this use plain paths.

#[cfg(unix)]
#[path = "folder/held.rs"]
mod system;

#[cfg(not(unix))]
#[path = "folder/plain.rs"]
mod system;

#[cfg(all(test, unix))]
mod plain;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::io;

pub(crate) use system::{Folder, stamp_of, take_after};

/// What kind of entry there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A FIFO, a socket or a device, with its name.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are none"))]
    Special(&'static str),
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) kind: Kind,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i128,
    /// Permission bits, where there are any.
    pub(crate) mode: u32,
    pub(crate) links: u64,
    pub(crate) owner: u32,
    pub(crate) group: u32,
}

impl Stamp {
    /// Says whether the content is most likely the same: same file, size and time of change.
    pub(crate) fn same_content(&self, other: &Self) -> bool {
        (self.device, self.inode, self.size, self.modified)
            == (other.device, other.inode, other.size, other.modified)
    }
}

/// Says whether the system cannot do this kind of rename, rather than failed at it.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput
    )
}
