//! What one front offers: the hub's own tools, some servers under their own names, or both.

use mcpx_api::{ApiError, Code};
use mcpx_config::settings::key;

use crate::hub::Hub;

/// Most servers that one front passes through.
const MOST: usize = 64;

/// What one front offers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Servers that are offered under their own names, by their configured names, in the order they were given.
    pub passthrough: Vec<String>,
    /// Whether the hub's own tools are there too, and the prompts and resources of all servers.
    pub own: bool,
}

impl Kind {
    /// From the query of a request, `passthrough=a,b` and `tools=none`; what it does not say is as configured.
    ///
    /// # Errors
    /// When a server is not configured, a word is not known, or nothing at all would be offered.
    pub fn read(hub: &Hub, query: &str) -> Result<Self, ApiError> {
        let mut wanted: Option<Vec<String>> = None;
        let mut own = true;
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "passthrough" => {
                    let names = value.split(',').map(str::trim);
                    wanted
                        .get_or_insert_default()
                        .extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
                }
                "tools" => {
                    own = match value.as_ref() {
                        "" | "own" => true,
                        "none" => false,
                        other => {
                            return Err(ApiError::bad(format!(
                                "`tools` was `{}`, expected `own` or `none`",
                                shown(other)
                            )));
                        }
                    };
                }
                // Clients put things of their own into a URL.
                _ => {}
            }
        }
        let wanted = wanted.unwrap_or_else(|| hub.settings().list(key::MCP_PASSTHROUGH).to_vec());
        if wanted.len() > MOST {
            return Err(ApiError::new(
                Code::TooLarge,
                format!(
                    "{} servers to pass through, at most {MOST} are taken",
                    wanted.len()
                ),
            ));
        }
        let views = hub.registry.views();
        let mut passthrough: Vec<String> = Vec::new();
        for spelled in wanted {
            let upstream = views
                .find(&spelled)
                .map_err(|error| crate::ops::refused::api_error(&error))?;
            if !passthrough.contains(&upstream.server.name) {
                passthrough.push(upstream.server.name.clone());
            }
        }
        if passthrough.is_empty() && !own {
            return Err(ApiError::bad(
                "`tools=none` without `passthrough`: nothing would be offered",
            )
            .hint("name a server: `passthrough=NAME`"));
        }
        Ok(Self { passthrough, own })
    }

    /// The one server that is all there is: then its envelope is left as it is.
    #[must_use]
    pub fn sole(&self) -> Option<&str> {
        match self.passthrough.as_slice() {
            [one] if !self.own => Some(one),
            _ => None,
        }
    }
}

fn shown(text: &str) -> String {
    untrusted_text::terminal::one_line(text, 60)
}
