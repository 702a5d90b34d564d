//! System calls that no sandboxed command needs and every escape begins with.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::spec::Sockets;

/// Refused with "operation not permitted".
const REFUSED: &[libc::c_long] = &[
    // Other processes: reading and steering them.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keys of the session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_chroot,
    // Files by number instead of by name.
    libc::SYS_open_by_handle_at,
    // Parts of the kernel with a history.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Said not to exist, so that programs take the older way, which can be judged by its arguments.
const ABSENT: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Flags of `clone` that make a namespace.
const NEW_NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Terminal requests that type for the person.
const TYPING: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

/// Puts the filters on this process and everything it becomes.
pub(super) fn apply(sockets: Sockets, sees_others: bool) -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|error| format!("no seccomp filter for this processor: {error}"))?;
    let refused = compile(
        refused(sockets, sees_others).map_err(text)?,
        libc::EPERM,
        arch,
    )?;
    let absent = compile(
        ABSENT.iter().map(|&call| (call, Vec::new())).collect(),
        libc::ENOSYS,
        arch,
    )?;
    for filter in [other_numbers(), absent, refused] {
        seccompiler::apply_filter(&filter).map_err(text)?;
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    format!("cannot set the seccomp filter: {error}")
}

fn compile(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: libc::c_int,
    arch: TargetArch,
) -> Result<BpfProgram, String> {
    let action = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, action, arch)
        .and_then(BpfProgram::try_from)
        .map_err(text)
}

fn refused(
    sockets: Sockets,
    sees_others: bool,
) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    let argument = |index: u8, operation: SeccompCmpOp, value: u64| {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operation, value)
    };
    let mut families = vec![libc::AF_NETLINK];
    if sockets.internet {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if sockets.unix {
        families.push(libc::AF_UNIX);
    }
    let other_family = families
        .iter()
        .map(|&family| argument(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
        .collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(other_family)?]);
    let mut namespaces = Vec::new();
    for flag in NEW_NAMESPACES.map(|flag| u64::from(flag.unsigned_abs())) {
        namespaces.push(SeccompRule::new(vec![argument(
            0,
            SeccompCmpOp::MaskedEq(flag),
            flag,
        )?])?);
    }
    rules.insert(libc::SYS_clone, namespaces);
    if sees_others {
        // Limits of another process can end it. A process calls itself zero here.
        let another = vec![argument(0, SeccompCmpOp::Ne, 0)?];
        rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(another)?]);
    }
    let mut typing = Vec::new();
    for request in TYPING {
        typing.push(SeccompRule::new(vec![argument(
            1,
            SeccompCmpOp::Eq,
            request,
        )?])?);
    }
    rules.insert(libc::SYS_ioctl, typing);
    Ok(rules)
}

/// Refuses the second numbering of system calls that x86-64 has, under which none of the rules would match.
fn other_numbers() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const FAIL: u32 = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
    /// The bit that marks the second numbering.
    const SECOND: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, SECOND),
        step(RETURN, 0, 0, FAIL),
        step(RETURN, 0, 0, ALLOW),
    ]
}
