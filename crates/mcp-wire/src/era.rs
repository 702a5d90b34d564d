//! The revisions of MCP and the two eras they fall into. The only place that spells a revision.

use std::fmt;

/// A published revision of the protocol, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05: HTTP+SSE.
    V2024_11_05,
    /// 2025-03-26: streamable HTTP, batches.
    V2025_03_26,
    /// 2025-06-18: forms, structured results; no batches.
    V2025_06_18,
    /// 2025-11-25: URL questions, tasks; the last one with `initialize`.
    V2025_11_25,
    /// 2026-07-28: each request carries its own metadata.
    V2026_07_28,
}

/// Whether a connection begins with `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// `initialize` first; the connection is a session.
    Legacy,
    /// Every request carries its own metadata; the connection is nothing.
    Modern,
}

impl Era {
    /// `legacy` or `modern`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Revision {
    /// Every revision, newest first.
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// The newest revision.
    pub const NEWEST: Self = Self::V2026_07_28;

    /// The newest revision that `initialize` may name.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// What a server takes a request over HTTP for when no header and no handshake named a revision.
    pub const ASSUMED: Self = Self::V2025_03_26;

    /// As it is spelled on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of this spelling, when it is one of [`Revision::ALL`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
    }

    /// The era it belongs to.
    #[must_use]
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 {
            Era::Modern
        } else {
            Era::Legacy
        }
    }

    /// Whether several messages may come as one JSON array.
    #[must_use]
    pub fn batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// The newest modern revision among `offered`, in their spelling on the wire.
    pub fn newest_modern<'a>(offered: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        offered
            .into_iter()
            .filter_map(Self::parse)
            .filter(|revision| revision.era() == Era::Modern)
            .max()
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_reads_as_it_is_spelled_and_they_are_ordered_by_date() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert!(Revision::ALL.windows(2).all(|pair| pair[0] > pair[1]));
        assert_eq!(Revision::NEWEST_LEGACY.era(), Era::Legacy);
        assert_eq!(Revision::newest_modern(["2025-11-25", "2099-01-01"]), None);
        assert_eq!(
            Revision::newest_modern(["2025-11-25", "2026-07-28"]),
            Some(Revision::V2026_07_28)
        );
    }
}
