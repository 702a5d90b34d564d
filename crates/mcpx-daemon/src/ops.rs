//! What each operation of the table does. Routes and MCP tools come here with checked parameters; nothing is done on one
//! surface that cannot be done on the other.

mod batch;
mod caller;
pub mod calls;
pub mod catalogue;
pub mod daemon;
mod forwarded;
mod left_behind;
pub mod listening;
pub mod log;
pub mod refused;
pub mod servers;
pub mod status;

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_wire::{Object, Raw};
use mcpx_api::{ApiError, Caller, Op, Operation, Params};

use crate::events::Subscription;
use crate::hub::{Hub, InForce};
use crate::lifecycle::ending;
use crate::lifecycle::watching::look;
use crate::registry::watch::Watching;

/// What an operation answers.
pub enum Reply {
    /// A JSON document.
    Json {
        /// 200, 201 or 202.
        status: u16,
        /// The document.
        body: Raw,
    },
    /// Text.
    Text {
        /// Its media type.
        media_type: &'static str,
        /// The text.
        body: String,
    },
    /// Events, as they come.
    Events {
        /// Where from.
        subscription: Subscription,
        /// Which.
        filter: listening::EventFilter,
        /// A resource that is watched as long as somebody listens.
        watching: Option<Watching>,
    },
}

impl Reply {
    /// A document with status 200.
    #[must_use]
    pub fn json(body: impl Into<Raw>) -> Self {
        Self::Json {
            status: 200,
            body: body.into(),
        }
    }

    /// A shape with status 200.
    #[must_use]
    pub fn of<T: serde::Serialize + ?Sized>(body: &T) -> Self {
        Self::json(Raw::of(body))
    }

    /// `{"ok": true}`.
    #[must_use]
    pub fn ok() -> Self {
        Self::json(Object::new().with("ok", true))
    }
}

/// The settings that hold for a caller: the daemon's, with what the caller sent along on top. What cannot be read of that
/// is passed over.
pub(crate) fn settings_of(hub: &Hub, caller: &Caller) -> InForce {
    let settings = hub.settings();
    let sent: Option<BTreeMap<String, String>> = caller
        .settings
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    match sent {
        None => settings,
        Some(sent) => settings
            .for_call(
                sent.iter()
                    .map(|(path, text)| (path.as_str(), text.as_str())),
            )
            .into(),
    }
}

/// Does an operation.
///
/// # Errors
/// When it did not do what was asked.
pub async fn perform(
    hub: &Arc<Hub>,
    operation: &'static Operation,
    caller: Caller,
    params: Params,
) -> Result<Reply, ApiError> {
    ending::admit(hub, operation.id)?;
    if !matches!(operation.id, Op::Health | Op::Events) {
        look(hub).await;
    }
    match operation.id {
        Op::Health => Ok(daemon::health(hub)),
        Op::Status => status::status(hub, &params),
        Op::Events => listening::events(hub, &caller, &params).await,
        Op::Refresh => daemon::refresh(hub, &params).await,
        Op::Reload => daemon::reload(hub).await,
        Op::Restart => daemon::restart(hub, &params).await,
        Op::Shutdown => Ok(daemon::shutdown(hub)),
        Op::DaemonRestart => Ok(daemon::daemon_restart(hub)),
        Op::Protocol => Ok(daemon::protocol(hub)),
        Op::Resolve => daemon::resolve(hub, &caller, &params),
        Op::SessionRelease => daemon::session_release(hub, &caller, &params).await,
        Op::Openapi => Ok(daemon::openapi(hub)),
        Op::Namespaces => catalogue::namespaces(hub, &params),
        Op::Tools => catalogue::tools(hub, &params).await,
        Op::Search => catalogue::search(hub, &caller, &params).await,
        Op::Types => catalogue::types(hub, &caller, &params).await,
        Op::Catalog => catalogue::catalog(hub, &caller, &params).await,
        Op::Client => catalogue::client(hub, &params).await,
        Op::Globals => catalogue::globals(hub, &params).await,
        Op::Schema => catalogue::schema(hub, &params).await,
        Op::History => catalogue::history(hub, &params),
        Op::Resources => catalogue::resources(hub, &params).await,
        Op::ResourceTemplates => catalogue::resource_templates(hub, &params).await,
        Op::Prompts => catalogue::prompts(hub, &params).await,
        Op::Call => calls::call(hub, caller, &params).await,
        Op::CallPath => calls::call_path(hub, caller, &params).await,
        Op::Batch => batch::batch(hub, caller, &params).await,
        Op::ResultRead => left_behind::result_read(hub, &params),
        Op::ResourceRead => forwarded::resource_read(hub, caller, &params).await,
        Op::PromptGet => forwarded::prompt_get(hub, caller, &params).await,
        Op::Complete => forwarded::complete(hub, caller, &params).await,
        Op::TasksList => Ok(left_behind::tasks_list(hub)),
        Op::TaskGet => left_behind::task_get(hub, &params),
        Op::TaskResult => left_behind::task_result(hub, &caller, &params).await,
        Op::TaskCancel => left_behind::task_cancel(hub, &params),
        Op::ToolInvoke => calls::tool_invoke(hub, caller, &params).await,
        Op::ServersList => Ok(servers::list(hub)),
        Op::ServersAdd => servers::add(hub, &caller, &params).await,
        Op::ServersRemove => servers::remove(hub, &caller, &params).await,
        Op::SettingsList => servers::settings::list(hub, &params),
        Op::SettingsGet => servers::settings::get(hub, &params),
        Op::SettingsSet => servers::settings::set(hub, &caller, &params).await,
        Op::SettingsUnset => servers::settings::unset(hub, &caller, &params).await,
        Op::LogQuery => log::query(hub, &caller, &params).await,
        Op::LogRecord => log::record(hub, &caller, &params),
        Op::StatsQuery => log::stats(hub, &caller, &params).await,
    }
}
