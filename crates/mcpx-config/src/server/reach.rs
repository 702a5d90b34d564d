//! How a server is reached.

use std::{collections::BTreeMap, fmt, path::PathBuf};

/// How a server is reached; every value is expanded. `Debug` shows the names of variables and headers, not their values,
/// how many arguments there are, and the URL without what may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program that speaks over its stdin and stdout.
    Stdio {
        /// A name to be looked up in `PATH`, or a path.
        command: String,
        /// Its arguments, one each; there is never a shell.
        args: Vec<String>,
        /// Added to the environment the daemon gives its children.
        env: BTreeMap<String, String>,
        /// Where it runs; otherwise where the daemon decides. Absolute.
        cwd: Option<PathBuf>,
    },
    /// A server on the network.
    Http {
        /// `http` or `https`.
        url: String,
        /// Which of the two HTTP transports.
        transport: Transport,
        /// Sent with every request, in this order.
        headers: Vec<(String, String)>,
    },
    /// Another view of a server's instances.
    Alias {
        /// The name of that server, which is not an alias itself.
        of: String,
    },
}

/// The two transports over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP, one endpoint.
    Http,
    /// The older one: a stream of events, and a second endpoint to send to.
    Sse,
}

impl Transport {
    /// Every spelling, of other hosts too: the first two are ours.
    pub(crate) const WORDS: &[(&str, Self)] = &[
        ("http", Self::Http),
        ("sse", Self::Sse),
        ("streamable-http", Self::Http),
        ("streamable_http", Self::Http),
        ("streamableHttp", Self::Http),
        ("remote", Self::Http),
    ];

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, transport)| *transport)
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .finish(),
            Self::Http {
                url,
                transport,
                headers,
            } => f
                .debug_struct("Http")
                .field("url", &super::shown::shown_url(url))
                .field("transport", transport)
                .field(
                    "headers",
                    &headers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                )
                .finish(),
            Self::Alias { of } => f.debug_struct("Alias").field("of", of).finish(),
        }
    }
}
