//! What a tool claims about itself. Claims of an untrusted party: they may raise caution, never lower it by themselves.

use crate::json::{Object, Raw};

/// The four annotations, with the specification's defaults where a tool says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// Changes nothing. Default: false.
    pub read_only: bool,
    /// May destroy, when it is not read-only. Default: true.
    pub destructive: bool,
    /// Doing it twice is doing it once. Default: false.
    pub idempotent: bool,
    /// Reaches beyond the server's own world. Default: true.
    pub open_world: bool,
    /// Which of the four the tool said itself, in the order above.
    pub said: [bool; 4],
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
            said: [false; 4],
        }
    }
}

impl Hints {
    /// Reads `annotations`. A hint that is no boolean counts as not said.
    #[must_use]
    pub fn parse(annotations: Option<&Object>) -> Self {
        let mut hints = Self::default();
        let Some(annotations) = annotations else {
            return hints;
        };
        let names = [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ];
        for (index, name) in names.into_iter().enumerate() {
            let Some(said) = annotations.get(name).and_then(Raw::boolean) else {
                continue;
            };
            hints.said[index] = true;
            match index {
                0 => hints.read_only = said,
                1 => hints.destructive = said,
                2 => hints.idempotent = said,
                _ => hints.open_world = said,
            }
        }
        hints
    }

    /// Whether it may destroy: it is not read-only, and it says so or says nothing about it.
    #[must_use]
    pub fn may_destroy(&self) -> bool {
        !self.read_only && self.destructive
    }

    /// Whether repeating a call whose outcome is unknown does no more than one call.
    #[must_use]
    pub fn safe_to_repeat(&self) -> bool {
        self.read_only || self.idempotent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_takes_the_careful_default() {
        let hints = Hints::parse(None);
        assert!(hints.may_destroy() && !hints.safe_to_repeat());
        let odd = Raw::parse(r#"{"readOnlyHint":"yes","destructiveHint":false}"#)
            .unwrap()
            .object()
            .unwrap();
        let hints = Hints::parse(Some(&odd));
        assert!(!hints.read_only && !hints.destructive);
        assert_eq!(hints.said, [false, true, false, false]);
    }
}
