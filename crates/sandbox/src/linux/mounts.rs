//! Namespaces and mounts of our own, for machines without bubblewrap whose kernel allows them.
//!
//! The view is the same as under bubblewrap, with one exception where the kernel gives no process table of its own: the
//! processes of the machine can be seen (not touched: Landlock and the user namespace see to that).

use std::{
    fs,
    io::{self, Write},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rustix::{
    fs::{CWD, Mode as FileMode, OFlags, openat},
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
        move_mount, open_tree,
    },
    process::{Signal, getgid, getppid, getuid, set_parent_process_death_signal},
    thread::{CapabilitySet, CapabilitySets, set_capabilities},
};

use crate::view::{Place, View};

/// The file that covers hidden files; it is gone from its folder before the command starts.
const COVER: &str = "/tmp/.hidden";

/// Highest capability that is dropped. The kernel has 41 today and refuses the rest.
const LAST_CAPABILITY: libc::c_ulong = 63;

/// Enters namespaces of its own. With `own_proc` the next child is the first process of one.
pub(super) fn separate(own_network: bool, own_proc: bool) -> Result<(), String> {
    let network = if own_network { libc::CLONE_NEWNET } else { 0 };
    let proc = if own_proc { libc::CLONE_NEWPID } else { 0 };
    // Only who is root in a namespace may mount terminals in it.
    user_namespace(
        libc::CLONE_NEWNS | libc::CLONE_NEWIPC | network | proc,
        User::ToRoot,
    )?;
    if own_network {
        raise_loopback()
    } else {
        Ok(())
    }
}

/// Goes on as the user that this process was before [`separate`].
pub(super) fn be_oneself() -> Result<(), String> {
    let original = original_user();
    if original == (getuid().as_raw(), getgid().as_raw()) {
        return Ok(());
    }
    user_namespace(0, User::FromRoot(original))
}

/// Mounts each link over itself, so that nothing can take its place. For a process without capabilities: it does so in
/// namespaces of its own.
pub(super) fn guard(links: &[PathBuf]) -> Result<(), String> {
    if links.is_empty() {
        return Ok(());
    }
    let cwd = std::env::current_dir().map_err(|error| format!("no working directory: {error}"))?;
    user_namespace(libc::CLONE_NEWNS, User::Same)?;
    for link in links {
        let failed = |error| format!("cannot keep the link `{}`: {error}", link.display());
        let copy = copy_of_link(link).map_err(failed)?;
        attach(&copy, link).map_err(failed)?;
    }
    std::env::set_current_dir(&cwd)
        .map_err(|error| format!("cannot enter `{}`: {error}", cwd.display()))
}

/// Mounts the view.
pub(super) fn enter(view: &View, own_proc: bool) -> Result<(), String> {
    let cwd = std::env::current_dir().map_err(|error| format!("no working directory: {error}"))?;
    let say = |what: &str, path: &Path| {
        let what = what.to_owned();
        let path = path.display().to_string();
        move |error: rustix::io::Errno| format!("cannot {what} `{path}`: {error}")
    };
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .map_err(say("make private", Path::new("/")))?;
    let mut copies = Vec::new();
    for link in view.of(Place::Link) {
        copies.push((
            link,
            copy_of_link(link).map_err(say("keep the link", link))?,
        ));
    }
    for (path, place) in &view.places {
        if matches!(place, Place::Writable | Place::ReadOnly | Place::Blocked) {
            let copy = copy_of(path).map_err(say("copy the mount of", path))?;
            if *place != Place::Writable {
                make_read_only(&copy, Path::new("")).map_err(say("make read-only", path))?;
            }
            copies.push((path.as_path(), copy));
        }
    }
    if !own_proc {
        let proc = Path::new("/proc");
        let writable = copy_of(proc).map_err(say("copy the mount of", proc))?;
        WRITABLE_PROC.get_or_init(|| writable);
    }
    make_read_only(&CWD, Path::new("/")).map_err(say("make read-only", Path::new("/")))?;
    terminals().map_err(say("mount terminals on", Path::new("/dev/pts")))?;
    let proc = Path::new("/proc");
    if own_proc {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", proc, "proc", flags, c"").map_err(say("mount processes on", proc))?;
        let writable = copy_of(proc).map_err(say("copy the mount of", proc))?;
        WRITABLE_PROC.get_or_init(|| writable);
        let copy = copy_of(proc).map_err(say("copy the mount of", proc))?;
        make_read_only(&copy, Path::new("")).map_err(say("make read-only", proc))?;
        attach(&copy, proc).map_err(say("mount", proc))?;
    }
    for path in view
        .of(Place::Fresh)
        .chain([Path::new("/dev/shm")])
        .filter(|path| path.is_dir())
    {
        tmpfs(path, c"mode=1777", false).map_err(say("mount a private folder on", path))?;
    }
    let cover =
        cover().map_err(|error| format!("cannot make a cover for hidden files: {error}"))?;
    for (path, place) in &view.places {
        match place {
            Place::Fresh => {}
            Place::Writable | Place::ReadOnly | Place::Blocked => {
                let Some((_, copy)) = copies.iter().find(|(copied, _)| copied == path) else {
                    continue;
                };
                make_mount_point(path, copy)
                    .map_err(|error| format!("cannot make `{}`: {error}", path.display()))?;
                attach(copy, path).map_err(say("mount", path))?;
            }
            Place::Link => {
                if let Some((_, copy)) = copies.iter().find(|(copied, _)| copied == path) {
                    attach(copy, path).map_err(say("keep the link", path))?;
                }
            }
            Place::HiddenFolder => {
                tmpfs(path, c"mode=000", true).map_err(say("hide", path))?;
            }
            Place::HiddenPassage => {
                tmpfs(path, c"mode=111", false).map_err(say("hide", path))?;
            }
            Place::HiddenFile => {
                let copy = copy_of(&cover).map_err(say("hide", path))?;
                make_read_only(&copy, Path::new("")).map_err(say("hide", path))?;
                attach(&copy, path).map_err(say("hide", path))?;
            }
        }
    }
    if cover.starts_with("/tmp") {
        fs::remove_file(&cover).map_err(|error| format!("cannot remove the cover: {error}"))?;
    }
    // The folder we stand in is the one before the mounts.
    std::env::set_current_dir(&cwd)
        .map_err(|error| format!("cannot enter `{}`: {error}", cwd.display()))
}

/// Gives up every capability, for this process and all it starts.
pub(super) fn drop_capabilities() -> Result<(), String> {
    for capability in 0..=LAST_CAPABILITY {
        // SAFETY: the call takes numbers and touches no memory of ours. It fails for what the kernel does not know
        // and for who has no capabilities to begin with, and then there is nothing to drop.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(|error| format!("cannot drop capabilities: {error}"))
}

/// Who a process is in a new user namespace.
#[derive(Clone, Copy)]
enum User {
    /// Who it was.
    Same,
    /// Root.
    ToRoot,
    /// This user and group; it was root before.
    FromRoot((u32, u32)),
}

/// The user and group of this process before it became root in a namespace.
static ORIGINAL: OnceLock<(u32, u32)> = OnceLock::new();

/// The process table as it was before it became read-only; mounted nowhere.
static WRITABLE_PROC: OnceLock<OwnedFd> = OnceLock::new();

fn original_user() -> (u32, u32) {
    *ORIGINAL.get_or_init(|| (getuid().as_raw(), getgid().as_raw()))
}

/// Enters a user namespace, and with it others.
fn user_namespace(others: libc::c_int, user: User) -> Result<(), String> {
    let (old_user, old_group) = (getuid().as_raw(), getgid().as_raw());
    let (new_user, new_group) = match user {
        User::Same => (old_user, old_group),
        User::ToRoot => {
            original_user();
            (0, 0)
        }
        User::FromRoot(original) => original,
    };
    let parent = getppid();
    // SAFETY: the process has one thread and shares nothing that the flags take apart.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | others) } != 0 {
        return Err(format!("no user namespace: {}", io::Error::last_os_error()));
    }
    let write = |file: &str, text: String| {
        let written = match WRITABLE_PROC.get() {
            Some(proc) => openat(
                proc,
                file,
                OFlags::WRONLY | OFlags::CLOEXEC,
                FileMode::empty(),
            )
            .map_err(io::Error::from)
            .and_then(|file| fs::File::from(file).write_all(text.as_bytes())),
            None => fs::write(Path::new("/proc").join(file), text),
        };
        written.map_err(|error| format!("cannot write `/proc/{file}`: {error}"))
    };
    write("self/setgroups", "deny".to_owned())?;
    write("self/uid_map", format!("{new_user} {old_user} 1"))?;
    write("self/gid_map", format!("{new_group} {old_group} 1"))?;
    // Entering a user namespace clears the signal; when the parent went meanwhile it will never come.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot follow the parent: {error}"))?;
    if getppid() != parent {
        return Err("the parent has ended".to_owned());
    }
    Ok(())
}

/// Mounts terminals of the command's own: those of the machine belong to people who type into them.
fn terminals() -> rustix::io::Result<()> {
    let pts = Path::new("/dev/pts");
    if !pts.is_dir() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(
        "devpts",
        pts,
        "devpts",
        flags,
        c"newinstance,ptmxmode=0666,mode=620",
    )?;
    let maker = copy_of(Path::new("/dev/pts/ptmx"))?;
    attach(&maker, Path::new("/dev/ptmx"))
}

/// Brings up the loopback of a new network, so that tests with a server of their own work.
fn raise_loopback() -> Result<(), String> {
    let failed = |what: &str| format!("cannot {what} the loopback: {}", io::Error::last_os_error());
    // SAFETY: makes a descriptor and nothing else.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(failed("reach"));
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let socket = unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(socket) };
    // SAFETY: all zero is a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(*b"lo") {
        *slot = byte.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request lives through the call and is of the type that this request takes.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if answer == 0 {
        Ok(())
    } else {
        Err(failed("raise"))
    }
}

fn copy_of(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// As [`copy_of`], of the link itself and not of what it leads to.
fn copy_of_link(link: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(CWD, link, flags)
}

fn attach(copy: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    move_mount(copy, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn make_read_only(from: &impl AsFd, path: &Path) -> rustix::io::Result<()> {
    let path = if path.as_os_str().is_empty() {
        c""
    } else {
        c"/"
    };
    let flags = libc::AT_RECURSIVE
        | if path.is_empty() {
            libc::AT_EMPTY_PATH
        } else {
            0
        };
    // SAFETY: all zero is a valid value of this plain structure.
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID;
    // SAFETY: path and attributes live through the call, and the size is that of the attributes.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            from.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 {
        return Ok(());
    }
    let code = io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO);
    Err(rustix::io::Errno::from_raw_os_error(code))
}

fn tmpfs(path: &Path, options: &std::ffi::CStr, read_only: bool) -> rustix::io::Result<()> {
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    if read_only {
        flags |= MountFlags::RDONLY;
    }
    mount("tmpfs", path, "tmpfs", flags, options)
}

/// Makes what a mount lies on, where that is in a private folder and so not there yet.
fn make_mount_point(path: &Path, copy: &OwnedFd) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(copy)?.st_mode);
    if kind.is_dir() {
        fs::create_dir(path)
    } else {
        fs::write(path, "")
    }
}

/// Makes an empty file that nobody can read; where `/tmp` is not private, `/dev/null` must do.
fn cover() -> io::Result<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = Path::new(COVER);
    if fs::write(path, "").is_err() {
        return Ok("/dev/null".into());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o000))?;
    Ok(path.to_owned())
}
