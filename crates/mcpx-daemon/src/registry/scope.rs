//! Whose an instance is: what a server's scope makes of a caller.
//!
//! Callers with equal keys share an instance. What a caller does not say, or what cannot be found out, isolates: the
//! next narrower key is taken, in the end one of the call alone, and [`Degraded`] says what would change that.

mod repository;

use std::{fmt, path::Path, sync::Arc};

use child_process::Identity;
use mcpx_api::{Caller, caller::header};
use mcpx_config::Scope;

use self::repository::{Found, Repository};

/// Whose an instance is. Prints as `global`, `repo:/x/.git`, `worktree:/x`, `cwd:/x`, `session:s1`, `psession:s0`,
/// `pid:42` or `call:c1`. Two keys that print the same need not be equal: an id that a process got again is another
/// process, two sessions may give their calls the same name, and one owner may have an instance in each lane.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key {
    owner: Owner,
    lane: Lane,
}

/// Which era an instance is spoken to in, for a server whose `protocol` is `follow`. Each lane has its own instances, and
/// its own `max` of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Lane {
    /// As the server likes best. Everybody's, where the caller's era is no matter.
    #[default]
    Newest,
    /// The older era, for callers that speak that one.
    Legacy,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Owner {
    Global,
    /// The directory that all worktrees have in common.
    Repo(Arc<Path>),
    Worktree(Arc<Path>),
    Cwd(Arc<Path>),
    Session(Arc<str>),
    ParentSession(Arc<str>),
    Pid {
        pid: i32,
        /// When the process started; none where that cannot be told.
        started: Option<u64>,
    },
    Call {
        call: Arc<str>,
        session: Option<Arc<str>>,
        pid: Option<i32>,
    },
}

/// What a scope made of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scoped {
    /// Whose the instance is.
    pub key: Key,
    /// Whether the instance ends with its last lease, as soon as nobody is subscribed to it.
    pub ends_with_caller: bool,
    /// Why the key is narrower than the scope.
    pub degraded: Option<Degraded>,
}

/// A scope that could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Degraded {
    /// The configured scope.
    pub from: Scope,
    /// The scope that was taken; narrower.
    pub to: Scope,
    /// Why.
    pub because: String,
    /// What would fix it.
    pub fix: String,
}

impl Degraded {
    /// The same for all callers with whom the same is wrong, whatever their folder.
    pub(super) fn kind(&self) -> String {
        format!("{} {} {}", self.from.word(), self.to.word(), self.fix)
    }
}

impl fmt::Display for Degraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            to,
            because,
            fix,
        } = self;
        write!(
            f,
            "its scope is `{}`, but {because}: such a caller gets an instance of scope `{}`\nhint: {fix}",
            from.word(),
            to.word()
        )
    }
}

impl Key {
    /// Everybody's.
    #[must_use]
    pub const fn global() -> Self {
        Self {
            owner: Owner::Global,
            lane: Lane::Newest,
        }
    }

    /// The same owner's in another lane.
    #[must_use]
    pub fn in_lane(self, lane: Lane) -> Self {
        Self { lane, ..self }
    }

    /// Which era its instance is spoken to in.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// Whether both belong to the same, in whatever lane.
    #[must_use]
    pub fn has_owner_of(&self, other: &Self) -> bool {
        self.owner == other.owner
    }

    /// Returns the folder that the key names: where a server starts that is not told another.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.owner {
            Owner::Worktree(folder) | Owner::Cwd(folder) => Some(folder),
            // A repository with a worktree of its own.
            Owner::Repo(common) if common.ends_with(".git") => common.parent(),
            Owner::Repo(common) => Some(common),
            _ => None,
        }
    }

    /// Whether it belongs to one call.
    #[must_use]
    pub const fn is_call(&self) -> bool {
        matches!(self.owner, Owner::Call { .. })
    }

    /// Whether it belongs to one caller: a session, a process or a call.
    #[must_use]
    pub const fn is_callers_own(&self) -> bool {
        !matches!(
            self.owner,
            Owner::Global | Owner::Repo(_) | Owner::Worktree(_) | Owner::Cwd(_)
        )
    }

    /// Whether it belongs to a process that is known to have ended.
    #[must_use]
    pub fn is_process_gone(&self) -> bool {
        let Owner::Pid {
            pid,
            started: Some(started),
        } = self.owner
        else {
            return false;
        };
        Identity { pid, started }.lives() == Some(false)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.owner {
            Owner::Global => f.write_str("global"),
            Owner::Repo(path) => write!(f, "repo:{}", path.display()),
            Owner::Worktree(path) => write!(f, "worktree:{}", path.display()),
            Owner::Cwd(path) => write!(f, "cwd:{}", path.display()),
            Owner::Session(id) => write!(f, "session:{id}"),
            Owner::ParentSession(id) => write!(f, "psession:{id}"),
            Owner::Pid { pid, .. } => write!(f, "pid:{pid}"),
            Owner::Call { call, .. } => write!(f, "call:{call}"),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// Says whose an instance for this caller is. Reads the file system, nothing else, and remembers nothing: a repository
/// that is made later is found then.
#[must_use]
pub fn key_of(scope: Scope, caller: &Caller) -> Scoped {
    let (owner, lost) = match scope {
        Scope::Global => (Ok(Owner::Global), None),
        Scope::Repo => in_folder(caller, |folder| repository_key(folder, false)),
        Scope::Worktree => in_folder(caller, |folder| repository_key(folder, true)),
        Scope::Cwd => in_folder(caller, |folder| (Owner::Cwd(folder.into()), None)),
        Scope::Session => own(session(caller)),
        Scope::ParentSession => match filled(caller.parent_session.as_deref()) {
            Some(id) => (Ok(Owner::ParentSession(id.into())), None),
            None => {
                let lost = Lost {
                    because: "the caller does not say which session started its own".to_owned(),
                    fix: names(
                        "parent session",
                        "MCPX_PARENT_SESSION_ID",
                        header::PARENT_SESSION,
                    ),
                };
                (session(caller).map_err(|_| ()), Some(lost))
            }
        },
        Scope::Pid => own(process(caller)),
        Scope::Call => (Err(()), None),
    };
    let key = Key {
        owner: owner.unwrap_or_else(|()| call(caller)),
        lane: Lane::Newest,
    };
    let degraded = lost.map(|Lost { because, fix }| Degraded {
        from: scope,
        to: key.scope(),
        because,
        fix,
    });
    let is_its_own = matches!(key.owner, Owner::Session(_) | Owner::Pid { .. });
    Scoped {
        ends_with_caller: key.is_call() || (caller.ephemeral && is_its_own),
        key,
        degraded,
    }
}

impl Key {
    const fn scope(&self) -> Scope {
        match self.owner {
            Owner::Global => Scope::Global,
            Owner::Repo(_) => Scope::Repo,
            Owner::Worktree(_) => Scope::Worktree,
            Owner::Cwd(_) => Scope::Cwd,
            Owner::Session(_) => Scope::Session,
            Owner::ParentSession(_) => Scope::ParentSession,
            Owner::Pid { .. } => Scope::Pid,
            Owner::Call { .. } => Scope::Call,
        }
    }
}

/// Why a key could not be had.
struct Lost {
    because: String,
    fix: String,
}

/// A key, or nothing narrower than the call; and what was lost on the way.
type Keyed = (Result<Owner, ()>, Option<Lost>);

fn own(kind: Result<Owner, Lost>) -> Keyed {
    match kind {
        Ok(kind) => (Ok(kind), None),
        Err(lost) => (Err(()), Some(lost)),
    }
}

fn session(caller: &Caller) -> Result<Owner, Lost> {
    match filled(caller.session.as_deref()) {
        Some(id) => Ok(Owner::Session(id.into())),
        None => Err(Lost {
            because: "the caller does not name its session".to_owned(),
            fix: names("session", "MCPX_SESSION_ID", header::SESSION),
        }),
    }
}

fn process(caller: &Caller) -> Result<Owner, Lost> {
    let lost = |because: String| Lost {
        because,
        fix: names("process", "MCPX_PID", header::PID),
    };
    let Some(pid) = caller.pid.filter(|pid| *pid > 0) else {
        return Err(lost("the caller does not name its process".to_owned()));
    };
    let started = Identity::of(pid).map(|identity| identity.started);
    // Where processes can be seen, one that cannot be is gone, or another machine's.
    if started.is_none() && Identity::own().is_some() {
        return Err(lost(format!(
            "the hub sees no process {pid}, which the caller says it is"
        )));
    }
    Ok(Owner::Pid { pid, started })
}

fn call(caller: &Caller) -> Owner {
    match filled(caller.call.as_deref()) {
        Some(id) => Owner::Call {
            call: id.into(),
            session: filled(caller.session.as_deref()).map(Into::into),
            pid: caller.pid,
        },
        // Nobody else has it.
        None => Owner::Call {
            call: format!("{:032x}", fastrand::u128(..)).into(),
            session: None,
            pid: None,
        },
    }
}

fn in_folder(caller: &Caller, key: impl FnOnce(&Path) -> (Owner, Option<Lost>)) -> Keyed {
    let fix = || names("folder", "MCPX_CWD", header::CWD);
    let Some(cwd) = caller.cwd.as_deref().filter(|cwd| cwd.is_absolute()) else {
        let lost = Lost {
            because: "the caller does not name its folder by an absolute path".to_owned(),
            fix: fix(),
        };
        return (Err(()), Some(lost));
    };
    match cwd.canonicalize() {
        Ok(folder) if folder.is_dir() => {
            let (kind, lost) = key(&folder);
            (Ok(kind), lost)
        }
        found => {
            let why = found.map_or_else(|error| error.to_string(), |_| "no folder".to_owned());
            let lost = Lost {
                because: format!("the caller's folder {} cannot be used ({why})", shown(cwd)),
                fix: fix(),
            };
            (Err(()), Some(lost))
        }
    }
}

fn repository_key(folder: &Path, wants_worktree: bool) -> (Owner, Option<Lost>) {
    let cwd = || Owner::Cwd(folder.into());
    let fix = "start the caller in a repository, or write `\"scope\": \"cwd\"` into the entry";
    let lost = |because: String| Lost {
        because,
        fix: fix.to_owned(),
    };
    match repository::find(folder) {
        Found::Repository(Repository { common, .. }) if !wants_worktree => {
            (Owner::Repo(common.into()), None)
        }
        Found::Repository(Repository {
            worktree: Some(worktree),
            ..
        }) => (Owner::Worktree(worktree.into()), None),
        Found::Repository(_) => {
            let because = format!("{} is in a repository without a worktree", shown(folder));
            (cwd(), Some(lost(because)))
        }
        Found::Nothing => {
            let because = format!("{} is in no repository", shown(folder));
            (cwd(), Some(lost(because)))
        }
        Found::Broken { at, why } => {
            let lost = Lost {
                because: format!("{} {why}", shown(&at)),
                fix: "repair it (`git status` says more), or write `\"scope\": \"cwd\"` into the entry"
                    .to_owned(),
            };
            (cwd(), Some(lost))
        }
    }
}

fn names(what: &str, variable: &str, header: &str) -> String {
    format!("set `{variable}` for the caller, or send the {what} in the header `{header}`")
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn shown(path: &Path) -> String {
    untrusted_text::terminal::one_line(&path.to_string_lossy(), 300)
}

#[cfg(test)]
mod tests;
