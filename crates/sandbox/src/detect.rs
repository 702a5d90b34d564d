//! Which backend works on this machine, found out by running it.

use std::path::{Path, PathBuf};

/// Which backend a person wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The strongest that works.
    #[default]
    Auto,
    /// Bubblewrap or nothing.
    Bwrap,
    /// Landlock and seccomp with namespaces of our own, or nothing.
    Namespaces,
    /// Landlock and seccomp alone, or nothing.
    Landlock,
    /// None: everything but `danger-full-access` is refused.
    None,
}

/// The first Landlock version that keeps signals and abstract sockets inside.
const SCOPED_SIGNALS: u32 = 6;

/// What holds a command to its policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Bubblewrap, with seccomp inside.
    Bubblewrap {
        /// The program.
        path: PathBuf,
    },
    /// Landlock with seccomp, and namespaces of our own where the kernel allows them.
    Landlock {
        /// The kernel's Landlock version.
        abi: u32,
    },
    /// Seatbelt.
    Seatbelt,
    /// Nothing does.
    None,
}

/// The backend of this machine, and why it is this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The backend.
    pub backend: Backend,
    /// Why this one, for a person; with [`Backend::None`] what is missing.
    pub why: String,
    /// The program that confines itself, called with [`crate::helper::COMMAND`].
    pub(crate) helper: PathBuf,
    /// What the kernel lets an unprivileged command have.
    pub(crate) features: Features,
}

/// What the kernel lets an unprivileged command have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// A network of its own.
    pub(crate) own_network: bool,
    /// A process table of its own.
    pub(crate) own_proc: bool,
    /// Mounts of its own. Always so under bubblewrap.
    pub(crate) own_mounts: bool,
    /// Links that nothing can take the place of.
    pub(crate) own_links: bool,
}

impl Detected {
    /// Makes the answer that nothing works.
    pub fn none(why: impl Into<String>) -> Self {
        Self {
            backend: Backend::None,
            why: why.into(),
            helper: PathBuf::new(),
            features: Features::default(),
        }
    }

    /// Returns the links among what stays read-only that this backend cannot keep: what they lead to is kept, but a
    /// command can put something else in their place.
    pub fn replaceable(&self, policy: &crate::Policy) -> Vec<PathBuf> {
        if self.features.own_links || matches!(self.backend, Backend::Seatbelt | Backend::None) {
            return Vec::new();
        }
        let links = policy.read_only_within.iter();
        let links = links.filter(|path| path.is_symlink());
        links
            .filter(|path| policy.writable.iter().any(|root| path.starts_with(root)))
            .cloned()
            .collect()
    }

    /// Returns what this backend cannot do, one sentence each; empty when it can do everything.
    pub fn gaps(&self) -> Vec<&'static str> {
        let mut gaps = Vec::new();
        match self.backend {
            Backend::Bubblewrap { .. } | Backend::Landlock { .. } => {
                if !self.features.own_mounts {
                    gaps.push(
                        "`.git`, `.cox` and `.claude` inside a writable folder can be changed",
                    );
                    gaps.push(
                        "names in hidden folders can be listed; their content cannot be read",
                    );
                    gaps.push("no Unix socket can be opened at all");
                    gaps.push("no terminal can be made inside; `pty` of `bash` works");
                    gaps.push("beside a hidden file of the workspace, new files can be read from the next command on");
                }
                if !self.features.own_network {
                    gaps.push("without network not even a loopback address can be used");
                }
                if let Backend::Landlock { abi } = self.backend
                    && abi < SCOPED_SIGNALS
                {
                    gaps.push("this kernel's Landlock does not hold signals back: a command can end the user's other processes");
                }
                if !self.features.own_proc {
                    gaps.push("the processes of the machine can be seen, not touched; where they are yours, their scheduling can be changed");
                }
            }
            Backend::Seatbelt => {}
            Backend::None => gaps.push("commands run only with `danger-full-access`"),
        }
        gaps
    }
}

/// Finds the backend. Runs small probes, so it is called when the first command is about to run, not at start-up:
/// about 12 ms with bubblewrap. `helper` is the program whose first act is [`crate::helper_main`].
pub fn detect(choice: Choice, helper: &Path) -> Detected {
    if choice == Choice::None {
        return Detected::none("the sandbox backend is set to `none`");
    }
    #[cfg(target_os = "linux")]
    return crate::linux::detect(choice, helper);
    #[cfg(target_os = "macos")]
    return crate::macos::detect(choice, helper);
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    return crate::windows::detect(choice, helper);
}
