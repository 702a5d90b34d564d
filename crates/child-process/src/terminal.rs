//! A pseudo-terminal for one program: the program's end, and the end that is read.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{OFlags, fcntl_setfl},
    io::fcntl_dupfd_cloexec,
    pty::{OpenptFlags, grantpt, openpt, unlockpt},
    termios::{
        LocalModes, OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
    },
};

/// The character that ends input at the start of a line.
pub(crate) const END_OF_INPUT: u8 = 4;

/// How large every terminal is: wide enough for most lines, and the same each time.
const SIZE: Winsize = Winsize {
    ws_row: 40,
    ws_col: 120,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// Gives what the program prints. Does not block.
    pub(crate) reader: OwnedFd,
    /// Takes what is typed. Does not block.
    pub(crate) keyboard: OwnedFd,
    /// The program's end.
    pub(crate) program: OwnedFd,
}

impl Terminal {
    /// Opens a terminal that nobody has yet.
    pub(crate) fn open() -> io::Result<Self> {
        let reader = own_end()?;
        grantpt(&reader)?;
        unlockpt(&reader)?;
        let program = other_end(&reader)?;
        let mut modes = tcgetattr(&program)?;
        // What is typed is the end of input and nothing else: it is not shown. Line ends are not changed.
        modes.local_modes -=
            LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ECHOK | LocalModes::ECHONL;
        modes.output_modes -= OutputModes::OPOST;
        tcsetattr(&program, OptionalActions::Now, &modes)?;
        tcsetwinsize(&program, SIZE)?;
        fcntl_setfl(&reader, OFlags::RDWR | OFlags::NONBLOCK)?;
        let keyboard = fcntl_dupfd_cloexec(&reader, 3)?;
        Ok(Self {
            reader,
            keyboard,
            program,
        })
    }
}

/// Opens the end that is read and typed to.
#[cfg(target_os = "linux")]
fn own_end() -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(openpt(flags)?)
}

/// Opens the end that is read and typed to. This system sets the flag in a second step; a program that is started
/// between the two keeps a copy.
#[cfg(not(target_os = "linux"))]
fn own_end() -> io::Result<OwnedFd> {
    let reader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::CLOEXEC)?;
    Ok(reader)
}

/// Opens the program's end by the terminal itself, so that it does not matter what is mounted on `/dev/pts`.
#[cfg(target_os = "linux")]
fn other_end(reader: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(rustix::pty::ioctl_tiocgptpeer(reader, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn other_end(reader: &OwnedFd) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, open};
    let name = rustix::pty::ptsname(reader, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(open(name, flags, Mode::empty())?)
}
