//! Names of sessions, calls and archived outputs: ULIDs as text, so that they sort by time.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnId {
    /// What was given.
    pub given: String,
    /// What kind of id was expected, such as "session".
    pub kind: &'static str,
}

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not {} {} id: expected 26 letters and digits such as `01K9ZQ3T7N8V5W2X4Y6A8B0C1D`",
            self.given.chars().take(60).collect::<String>(),
            if self.kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
                "an"
            } else {
                "a"
            },
            self.kind
        )
    }
}

impl std::error::Error for NotAnId {}

macro_rules! id {
    ($name:ident, $kind:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(ulid::Ulid);

        impl $name {
            /// Makes an id from a time in milliseconds since 1970 and 80 random bits.
            pub fn from_parts(unix_ms: u64, random: u128) -> Self {
                Self(ulid::Ulid::from_parts(unix_ms, random))
            }

            /// Makes a new id from the system's clock and randomness.
            pub fn generate() -> Self {
                Self(ulid::Ulid::generate())
            }

            /// Returns the time the id was made, in milliseconds since 1970.
            pub fn unix_ms(self) -> u64 {
                self.0.timestamp_ms()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                ulid::Ulid::from_string(&text.to_ascii_uppercase())
                    .map(Self)
                    .map_err(|_| NotAnId {
                        given: text.to_owned(),
                        kind: $kind,
                    })
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

id!(
    SessionId,
    "session",
    "Names a session; its rollout file bears it."
);
id!(CallId, "call", "Names one tool call of a session.");
id!(
    ArchiveId,
    "archive",
    "Names one archived output or pre-image."
);
