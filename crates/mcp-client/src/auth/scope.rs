//! Which scopes are asked for.

use super::discovery::Found;

/// What the specification of 2026-07-28 lets a client ask for when it wants a refresh token.
const OFFLINE: &str = "offline_access";

/// Chooses scopes: those of the challenge, else those configured, else all that the resource lists, else none. What was
/// `asked` for before stays, when a request needs more. `offline_access` is asked for only where it is offered.
pub(crate) fn choose(
    challenged: Option<&[String]>,
    configured: Option<&[String]>,
    found: &Found,
    asked: &[String],
    is_for_client: bool,
) -> Vec<String> {
    let challenged = challenged.filter(|scopes| !scopes.is_empty());
    let wanted = challenged
        .or(configured)
        .or(found.resource_scopes.as_deref())
        .unwrap_or_default();
    let mut scopes: Vec<String> = Vec::new();
    for scope in asked.iter().chain(wanted) {
        if scope != OFFLINE && !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let is_offered = found.server.scopes.iter().any(|scope| scope == OFFLINE);
    // Alone it would replace what the server gives by default.
    if is_offered && !is_for_client && !scopes.is_empty() {
        scopes.push(OFFLINE.to_owned());
    }
    scopes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::metadata::Server;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn scopes_are_chosen_in_the_given_order() {
        // challenge, configured, resource, server, asked before, whether for the client, expected
        let cases = [
            (Some("c"), Some("f"), Some("r"), "", "", false, "c"),
            (None, Some("f"), Some("r"), "", "", false, "f"),
            (Some(""), None, Some("r s"), "", "", false, "r s"),
            (None, None, None, "x", "", false, ""),
            (Some("c"), None, None, "", "a c b", false, "a c b"),
            (Some("w"), None, Some("r"), "", "a", false, "a w"),
            (Some("c offline_access"), None, None, "c", "", false, "c"),
            (None, None, Some("r offline_access"), "", "", false, "r"),
            (
                Some("c"),
                None,
                None,
                "c offline_access",
                "",
                false,
                "c offline_access",
            ),
            (Some("c"), None, None, "c offline_access", "", true, "c"),
            (None, None, None, "offline_access", "", false, ""),
        ];
        for (challenged, configured, resource, server, asked, is_for_client, expected) in cases {
            let base = url::Url::parse("https://as.example").unwrap();
            let mut found = Found {
                resource: "https://a.example".to_owned(),
                resource_scopes: resource.map(list),
                server: Server::without_metadata(&base).unwrap(),
            };
            found.server.scopes = list(server);
            let challenged = challenged.map(list);
            let configured = configured.map(list);
            let chosen = choose(
                challenged.as_deref(),
                configured.as_deref(),
                &found,
                &list(asked),
                is_for_client,
            );
            assert_eq!(
                chosen.join(" "),
                expected,
                "{challenged:?} {configured:?} {resource:?}"
            );
        }
    }
}
