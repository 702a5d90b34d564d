//! Who asks, when the body of a request says more of that than its headers.

use mcpx_api::{ApiError, Caller, Params};

/// Who asks: what the body says goes over what the headers say.
pub(super) fn caller_of(caller: Caller, params: &Params) -> Result<Caller, ApiError> {
    let mut caller = caller;
    if let Some(session) = params.text("session") {
        caller.session = Some(session);
    }
    let Some(context) = params.members("context") else {
        return Ok(caller);
    };
    for (name, value) in context.iter() {
        let text = || {
            value.string().ok_or_else(|| {
                ApiError::bad(format!(
                    "`context.{name}` was {}, expected text",
                    value.as_str()
                ))
            })
        };
        match name {
            "cwd" => caller.cwd = Some(text()?.into()),
            "sessionId" => caller.session = Some(text()?),
            "parentSessionId" => caller.parent_session = Some(text()?),
            "callId" => caller.call = Some(text()?),
            "pid" => {
                caller.pid = Some(
                    value
                        .integer()
                        .and_then(|pid| i32::try_from(pid).ok())
                        .filter(|pid| *pid > 0)
                        .ok_or_else(|| {
                            ApiError::bad("`context.pid` has to be the number of a process")
                        })?,
                );
            }
            "ephemeral" => caller.ephemeral = value.boolean().unwrap_or(false),
            _ => {
                return Err(ApiError::bad(format!(
                    "`context` has no member `{}`; it takes cwd, sessionId, parentSessionId, pid, callId, ephemeral",
                    untrusted_text::terminal::one_line(name, 60)
                )));
            }
        }
    }
    Ok(caller)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_wire::{Object, Raw};
    use mcpx_api::{Op, operation};

    fn params(given: Object) -> Params {
        Params::check(operation(Op::Batch), given).expect("parameters")
    }

    #[test]
    fn the_body_says_who_asks_over_what_the_headers_say() {
        let context = Object::new()
            .with("cwd", "/w")
            .with("sessionId", "b")
            .with("pid", 7);
        let given = Object::new()
            .with("calls", Raw::of(&Vec::<Raw>::new()))
            .with("session", "a")
            .with("context", context);
        let headers = Caller {
            session: Some("h".to_owned()),
            parent_session: Some("p".to_owned()),
            ..Caller::default()
        };
        let caller = caller_of(headers, &params(given)).expect("a caller");
        assert_eq!(caller.session.as_deref(), Some("b"));
        assert_eq!(caller.parent_session.as_deref(), Some("p"));
        assert_eq!(caller.pid, Some(7));
        assert_eq!(caller.cwd.as_deref(), Some(std::path::Path::new("/w")));
    }
}
