//! The words of an entry that choose among few: scope, sharing, protocol.

/// What an instance belongs to: callers with the same key share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Everybody.
    Global,
    /// A repository, all its worktrees included.
    Repo,
    /// A worktree.
    Worktree,
    /// The folder the caller is in.
    Cwd,
    /// The session that the host names.
    Session,
    /// The session that started the caller's.
    ParentSession,
    /// A process.
    Pid,
    /// One call.
    Call,
}

impl Scope {
    /// Every scope, widest first.
    pub const ALL: [Self; 8] = [
        Self::Global,
        Self::Repo,
        Self::Worktree,
        Self::Cwd,
        Self::Session,
        Self::ParentSession,
        Self::Pid,
        Self::Call,
    ];

    /// As it is written in a file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Repo => "repo",
            Self::Worktree => "worktree",
            Self::Cwd => "cwd",
            Self::Session => "session",
            Self::ParentSession => "parent-session",
            Self::Pid => "pid",
            Self::Call => "call",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

/// How many callers an instance serves at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sharing {
    /// Any number.
    Shared,
    /// One; others wait.
    Exclusive,
}

impl Sharing {
    /// As it is written in a file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Exclusive => "exclusive",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Shared, Self::Exclusive]
            .into_iter()
            .find(|sharing| sharing.word() == word)
    }
}

/// Which era of the protocol is tried first, and whether the other one may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// `server/discover` first, then `initialize`.
    PreferDiscover,
    /// `initialize` first, then `server/discover`.
    PreferInitialize,
    /// Only `server/discover`.
    ForceDiscover,
    /// Only `initialize`.
    ForceInitialize,
    /// The era that the caller of the hub speaks.
    Follow,
}

impl Protocol {
    /// Every choice.
    pub const ALL: [Self; 5] = [
        Self::PreferDiscover,
        Self::PreferInitialize,
        Self::ForceDiscover,
        Self::ForceInitialize,
        Self::Follow,
    ];

    /// As it is written in a file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::PreferDiscover => "prefer-discover",
            Self::PreferInitialize => "prefer-initialize",
            Self::ForceDiscover => "force-discover",
            Self::ForceInitialize => "force-initialize",
            Self::Follow => "follow",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let word = PROTOCOL_ALIASES
            .iter()
            .find(|(alias, _)| *alias == word)
            .map_or(word, |(_, word)| word);
        Self::ALL
            .into_iter()
            .find(|protocol| protocol.word() == word)
    }
}

/// Other spellings of the words of [`Protocol`].
pub(crate) const PROTOCOL_ALIASES: &[(&str, &str)] = &[
    ("modern", "prefer-discover"),
    ("prefer-modern", "prefer-discover"),
    ("prefer-stateless", "prefer-discover"),
    ("prefer-newest", "prefer-discover"),
    ("legacy", "prefer-initialize"),
    ("prefer-legacy", "prefer-initialize"),
    ("prefer-session", "prefer-initialize"),
    ("prefer-oldest", "prefer-initialize"),
    ("force-modern", "force-discover"),
    ("force-stateless", "force-discover"),
    ("force-legacy", "force-initialize"),
    ("force-session", "force-initialize"),
];
