//! What a server says by itself: its log lines and announcements.

use std::borrow::Cow;

use mcp_client::Event as Said;
use mcp_wire::Object;
use mcpx_store::log::{Level, Record};

use super::{Telling, server_of};
use crate::events::kind;
use crate::registry::instance::Instance;

/// Most characters of a server's own log line that are kept.
const SAID: usize = 2_000;

impl Telling {
    pub(super) fn said(&self, instance: &Instance, event: Said) {
        let server = Some(server_of(instance));
        let about = || Object::new().with("instance", instance.id());
        let publish = |kind, data| self.events.publish(kind, server, None, data);
        match event {
            Said::ToolsChanged => publish(kind::TOOLS_CHANGED, about()),
            Said::PromptsChanged => publish(kind::PROMPTS_CHANGED, about()),
            Said::ResourcesChanged => publish(kind::RESOURCES_CHANGED, about()),
            Said::ResourceUpdated { uri } => {
                publish(kind::RESOURCE_UPDATED, about().with("uri", uri.as_str()));
            }
            Said::ElicitationComplete { elicitation_id } => {
                let done = about().with("elicitationId", elicitation_id.as_str());
                publish(kind::ELICITATION_COMPLETE, done);
            }
            Said::Log {
                level,
                logger,
                data,
                in_call,
            } => {
                if !in_call {
                    let params = Object::new()
                        .with("level", level.as_str())
                        .with_some("logger", logger.as_deref())
                        .with("data", data.clone());
                    instance.users().tell(params);
                }
                let line = match data.string() {
                    Some(text) => text,
                    None => data.as_str().to_owned(),
                };
                let line = untrusted_text::terminal::one_line(&line, SAID);
                let mut record = Record {
                    msg: format!("{} says: {line}", instance.id()),
                    template: Cow::Borrowed("{instance} says: {text}"),
                    ..self.of_instance(Level::Debug, "server.log", instance)
                }
                .with("level", level.as_str());
                if let Some(logger) = &logger {
                    record = record.with("logger", logger.as_str());
                }
                self.log.write(record);
                let said = about()
                    .with("level", level.as_str())
                    .with_some("logger", logger.as_deref())
                    .with("data", data);
                publish(kind::SERVER_LOG, said);
            }
            Said::Noise { head } => {
                let head = untrusted_text::terminal::one_line(&head, SAID);
                self.log.write(Record {
                    msg: format!("{} wrote what is no message: {head}", instance.id()),
                    template: Cow::Borrowed("{instance} wrote what is no message: {text}"),
                    ..self.of_instance(Level::Debug, "server.noise", instance)
                });
            }
            Said::Unasked { cannot, call } => {
                let mut record = Record {
                    msg: format!(
                        "{} asked, and the client of the call cannot {cannot}: the server was told so",
                        instance.id()
                    ),
                    template: Cow::Borrowed(
                        "{instance} asked, and the client of the call cannot {cannot}: the server was told so",
                    ),
                    ..self.of_instance(Level::Info, "server.unasked", instance)
                };
                if let Some(call) = &call {
                    record = record.with("call", call.as_str());
                }
                self.log.write(record);
            }
            Said::SessionRenewed => self.log.write(Record {
                msg: format!("{} lost its session and began another", instance.id()),
                template: Cow::Borrowed("{instance} lost its session and began another"),
                ..self.of_instance(Level::Warn, "server.session", instance)
            }),
            // The end is told by `ended`, the question that nobody could be asked by `warned`; the rest belongs to
            // calls and to whoever waits for it.
            Said::Closed { .. }
            | Said::Unattributed { .. }
            | Said::TaskChanged { .. }
            | Said::Unknown { .. } => {}
        }
    }
}
