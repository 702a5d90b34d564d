//! Namespaces and mounts of our own, for machines without bubblewrap whose kernel allows them.
//!
//! The view is the same as under bubblewrap, with two exceptions: the processes of the machine can be seen (not
//! touched: Landlock and the user namespace see to that), and what the command leaves behind is ended by its group.

use std::{
    fs, io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::CWD,
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

/// Enters namespaces of its own and mounts the view.
pub(super) fn enter(view: &View, own_network: bool) -> Result<(), String> {
    let cwd = std::env::current_dir().map_err(|error| format!("no working directory: {error}"))?;
    let parent = getppid();
    namespaces(own_network)?;
    // Entering a user namespace clears the signal; when the parent went meanwhile it will never come.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("cannot follow the parent: {error}"))?;
    if getppid() != parent {
        return Err("the parent has ended".to_owned());
    }
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
    for (path, place) in &view.places {
        if matches!(place, Place::Writable | Place::ReadOnly | Place::Blocked) {
            let copy = copy_of(path).map_err(say("copy the mount of", path))?;
            if *place != Place::Writable {
                make_read_only(&copy, Path::new("")).map_err(say("make read-only", path))?;
            }
            copies.push((path, copy));
        }
    }
    make_read_only(&CWD, Path::new("/")).map_err(say("make read-only", Path::new("/")))?;
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
                let Some((_, copy)) = copies.iter().find(|(copied, _)| *copied == path) else {
                    continue;
                };
                make_mount_point(path, copy)
                    .map_err(|error| format!("cannot make `{}`: {error}", path.display()))?;
                attach(copy, path).map_err(say("mount", path))?;
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

fn namespaces(own_network: bool) -> Result<(), String> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let network = if own_network { libc::CLONE_NEWNET } else { 0 };
    // SAFETY: the process has one thread and shares nothing that the flags take apart.
    let answer = unsafe {
        libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | network)
    };
    if answer != 0 {
        return Err(format!("no user namespace: {}", io::Error::last_os_error()));
    }
    let write = |file: &str, text: String| {
        fs::write(file, text).map_err(|error| format!("cannot write `{file}`: {error}"))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    if own_network {
        raise_loopback()
    } else {
        Ok(())
    }
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
