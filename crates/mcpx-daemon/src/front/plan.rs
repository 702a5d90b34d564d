//! From a request of a client to the call that answers it.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_server::{Context, Incoming};
use mcp_wire::{
    Answer, Era, Object, Question, Raw, RpcError, ServerCapabilities, error, meta, method,
};
use mcpx_api::{ApiError, Caller, Params};

use super::asker::abilities;
use super::finish::Finish;
use super::surface::Surface;
use super::who;
use crate::registry::call::{Call, CallError, Done};

/// The call that answers a request, and how its end is told.
pub(super) struct Plan {
    call: Call,
    pub(super) finish: Finish,
}

impl Plan {
    /// A call of a server's tool, as the client sent it.
    ///
    /// # Errors
    /// When the arguments are no object.
    pub(super) fn tool(server: &str, name: &str, incoming: &Incoming) -> Result<Self, RpcError> {
        let arguments = match incoming.params.get("arguments") {
            None => Object::new(),
            Some(raw) => raw.object().map_err(|_| {
                RpcError::invalid_params(format!(
                    "`arguments` was {}, expected an object",
                    raw.kind().word()
                ))
            })?,
        };
        let mut call = Call::tool(Some(server.to_owned()), name, arguments);
        call.more = incoming.params.without(&["name", "arguments", meta::META]);
        Ok(Self {
            call,
            finish: Finish::Verbatim,
        })
    }

    /// What `mcpx_call` was given.
    ///
    /// # Errors
    /// When it names no tool, or a number is none.
    pub(super) fn own_call(caller: Caller, params: &Params) -> Result<Self, ApiError> {
        let mut call = Call::tool(
            params.text("server").filter(|name| !name.is_empty()),
            params.required("tool")?,
            params.members("args").unwrap_or_default(),
        );
        call.caller = caller;
        call.timeout = params
            .count("timeoutMs")?
            .map(|ms| Duration::from_millis(ms as u64));
        Ok(Self {
            call,
            finish: Finish::Tool {
                whole: params.switch("raw"),
            },
        })
    }

    /// # Errors
    /// When nobody has the prompt.
    pub(super) fn prompt(
        surface: &Surface<'_>,
        incoming: &Incoming,
    ) -> Result<Option<Self>, RpcError> {
        let name = incoming
            .params
            .string("name")
            .ok_or_else(|| RpcError::invalid_params("`prompts/get` without the string `name`"))?;
        let owned = surface.owner_of_prompt(&name).ok_or_else(|| {
            RpcError::invalid_params(format!(
                "Unknown prompt: {}",
                untrusted_text::terminal::one_line(&name, 200)
            ))
        })?;
        let mut params = incoming.params.without(&[meta::META]);
        params.set("name", owned.name.as_str());
        Ok(Some(Self {
            call: Call::request(owned.server, method::PROMPTS_GET, params),
            finish: Finish::Verbatim,
        }))
    }

    /// # Errors
    /// When nobody has the resource.
    pub(super) fn resource(
        surface: &Surface<'_>,
        incoming: &Incoming,
    ) -> Result<Option<Self>, RpcError> {
        let uri = incoming
            .params
            .string("uri")
            .ok_or_else(|| RpcError::invalid_params("`resources/read` without the string `uri`"))?;
        let owned = surface
            .owner_of_resource(&uri)
            .ok_or_else(|| no_resource(&uri))?;
        let mut params = incoming.params.without(&[meta::META]);
        params.set("uri", owned.name.as_str());
        Ok(Some(Self {
            call: Call::request(owned.server, method::RESOURCES_READ, params),
            finish: Finish::Resource {
                prefix: owned.prefix,
            },
        }))
    }

    /// `None` when the owner completes nothing.
    ///
    /// # Errors
    /// When nobody has what is to be completed.
    pub(super) fn completion(
        surface: &Surface<'_>,
        incoming: &Incoming,
    ) -> Result<Option<Self>, RpcError> {
        let mut reference = incoming
            .params
            .object("ref")
            .ok_or_else(|| RpcError::invalid_params("`completion/complete` without `ref`"))?;
        let unknown = |what: &str| RpcError::invalid_params(format!("Unknown {what} in `ref`"));
        let owned = match reference.string("type").as_deref() {
            Some("ref/prompt") => {
                let name = reference.string("name").unwrap_or_default();
                let owned = surface
                    .owner_of_prompt(&name)
                    .ok_or_else(|| unknown("prompt"))?;
                reference.set("name", owned.name.as_str());
                owned
            }
            Some("ref/resource") => {
                let uri = reference.string("uri").unwrap_or_default();
                let owned = surface
                    .owner_of_resource(&uri)
                    .ok_or_else(|| unknown("resource"))?;
                reference.set("uri", owned.name.as_str());
                owned
            }
            _ => return Err(unknown("type")),
        };
        if !surface.completes(&owned.server) {
            return Ok(None);
        }
        let mut params = incoming.params.without(&[meta::META]);
        params.set("ref", reference);
        Ok(Some(Self {
            call: Call::request(owned.server, method::COMPLETE, params),
            finish: Finish::Verbatim,
        }))
    }

    /// The call of this request.
    pub(super) fn call(self, caller: Caller, incoming: &Incoming, context: &Context) -> Call {
        Call {
            caller,
            meta: who::forwarded(incoming),
            log_level: context.log_level.map(|level| level.word().to_owned()),
            hand_back: context.era() == Era::Modern && method::may_ask(&incoming.method),
            era: context.era(),
            ..self.call
        }
    }
}

/// Puts what the client answered into the call that goes back to a server that keeps nothing.
pub(super) fn answer(call: &mut Call, answers: BTreeMap<String, Answer>, state: Option<Raw>) {
    let answers: Object = answers
        .into_iter()
        // One that the client could not answer is left out.
        .filter_map(|(key, answer)| Some((key, answer.into_result().ok()?)))
        .collect();
    if !answers.is_empty() {
        call.more.set("inputResponses", answers);
    }
    if let Some(state) = state {
        call.more.set("requestState", state);
    }
}

/// # Errors
/// When the person does not want to open the page.
pub(super) fn check_visited(answers: &BTreeMap<String, Answer>) -> Result<(), RpcError> {
    let all = !answers.is_empty()
        && answers
            .values()
            .all(|answer| matches!(answer, Answer::Accept(_)));
    if all {
        return Ok(());
    }
    Err(RpcError::new(
        error::INTERNAL_ERROR,
        "the page that the server wants to be visited was not opened",
    )
    .with_data(Object::new().with("origin", "hub")))
}

/// 2025-11-25: a server refused the call until some pages are visited, and a modern client can be asked to.
pub(super) fn urls_to_visit(
    ended: &Result<Done, CallError>,
    context: &Context,
) -> Option<Vec<(String, Question)>> {
    let Err(CallError::Failed { failure, .. }) = ended else {
        return None;
    };
    let rpc = failure.answered()?;
    if rpc.code != error::LEGACY_URL_ELICITATION_REQUIRED
        || context.era() == Era::Legacy
        || !abilities(context).urls
    {
        return None;
    }
    let elicitations = rpc.data.as_ref()?.object().ok()?;
    let questions: Vec<(String, Question)> = elicitations
        .get("elicitations")?
        .array()
        .ok()?
        .iter()
        .filter_map(|raw| Question::parse(method::ELICITATION_CREATE, &raw.object().ok()?).ok())
        .filter(|question| matches!(question, Question::Url { .. }))
        .enumerate()
        .map(|(at, question)| (format!("u{}", at + 1), question))
        .collect();
    (!questions.is_empty()).then_some(questions)
}

/// No server has the resource.
pub(super) fn no_resource(uri: &str) -> RpcError {
    RpcError::new(
        error::LEGACY_RESOURCE_NOT_FOUND,
        format!(
            "Resource not found: {}",
            untrusted_text::terminal::one_line(uri, 300)
        ),
    )
    .with_data(Object::new().with("uri", uri))
}

/// A completion without proposals.
pub(super) fn no_completion() -> Object {
    let none: [&str; 0] = [];
    let completion = Object::new()
        .with("values", Raw::of(&none))
        .with("hasMore", false);
    Object::new().with("completion", completion)
}

impl Surface<'_> {
    /// Whether a server completes arguments.
    fn completes(&self, server: &str) -> bool {
        let known = self
            .views()
            .by_name
            .get(server)
            .and_then(|upstream| upstream.known());
        known
            .and_then(|known| known.capabilities.clone())
            .is_none_or(|declared| ServerCapabilities::from(declared).has("completions"))
    }
}
