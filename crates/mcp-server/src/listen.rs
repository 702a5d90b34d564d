//! Streams of what changed: `subscriptions/listen`, and the spelling of each note in both eras.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_wire::{Era, Frame, Notification, Object, Raw, Request, RpcError, error, meta, method};
use serde_json::Value;

use crate::call::Caller;
use crate::connection::Connection;
use crate::notifier::{Filter, Mailbox, Note};
use crate::{Context, Server};

impl Server {
    /// Spells a note for one client. `None` when there is nothing to say any more, or no way to say it.
    pub(crate) fn spell_note(&self, note: &Note, era: Era) -> Option<Notification> {
        let plain = |method: &str| Notification::new(method, Object::new());
        Some(match note {
            Note::Tools => plain(method::TOOLS_CHANGED),
            Note::Prompts => plain(method::PROMPTS_CHANGED),
            Note::Resources => plain(method::RESOURCES_CHANGED),
            Note::Resource(uri) => Notification::new(
                method::RESOURCE_UPDATED,
                Object::new().with("uri", uri.as_str()),
            ),
            Note::Task(id) => {
                let entry = self.tasks.peek(id)?;
                let method = match era {
                    Era::Modern => method::TASK_CHANGED,
                    Era::Legacy => method::TASK_STATUS,
                };
                Notification::new(method, entry.describe(era))
            }
            Note::ElicitationDone(_) | Note::Line(_) if era == Era::Modern => return None,
            Note::Line(text) => {
                let params = Raw::parse(text).and_then(|raw| raw.object()).ok()?;
                Notification::new(method::LOG_MESSAGE, params)
            }
            Note::ElicitationDone(id) => Notification::new(
                method::ELICITATION_COMPLETE,
                Object::new().with("elicitationId", id.as_str()),
            ),
        })
    }

    /// What a legacy session hears of without asking for it.
    pub(crate) fn session_mailbox(&self, session: &Connection) -> Arc<Mailbox> {
        let offer = self.offer();
        self.notifier.open(Filter {
            tools: offer.capabilities.switch("tools", "listChanged"),
            prompts: offer.capabilities.switch("prompts", "listChanged"),
            resources: offer.capabilities.switch("resources", "listChanged"),
            lines: Some((session.number, session.level())),
            ..Filter::default()
        })
    }

    /// Answers `subscriptions/listen`: acknowledges, tells what changes, and ends with the server.
    pub(crate) async fn listen(
        &self,
        request: &Request,
        context: &Context,
        caller: &Caller,
    ) -> Result<Object, RpcError> {
        let wanted = request.params.object("notifications").ok_or_else(|| {
            RpcError::invalid_params("`subscriptions/listen` without the object `notifications`")
        })?;
        let accepted =
            tokio::time::timeout(self.limits().answer, self.accept(&wanted, context, caller));
        let filter = match accepted.await {
            Ok(filter) => filter?,
            Err(_) => {
                let message = "the server did not decide in time what may be listened to";
                return Err(RpcError::new(error::INTERNAL_ERROR, message));
            }
        };
        let uris = filter.uris.clone();
        let acknowledged = Object::new().with("notifications", spell_filter(&filter));
        let mailbox = self.notifier.open(filter);
        let id = request.id.raw();
        // Over stdio a subscription ends with the input.
        let silent = caller
            .connection
            .as_ref()
            .map(|connection| connection.silent.clone())
            .unwrap_or_default();
        let outcome = tokio::select! {
            outcome = self.tell(&mailbox, acknowledged, context, &id, caller) => outcome,
            () = caller.cancelled.cancelled() => Ok(()),
            () = self.closing.cancelled() => Ok(()),
            () = silent.cancelled() => Ok(()),
        };
        drop(mailbox);
        self.unwatch(uris).await;
        outcome?;
        let mut result = Object::new().with("resultType", "complete");
        meta::set(&mut result, meta::SUBSCRIPTION_ID, id);
        Ok(result)
    }

    async fn tell(
        &self,
        mailbox: &Mailbox,
        acknowledged: Object,
        context: &Context,
        id: &Raw,
        caller: &Caller,
    ) -> Result<(), RpcError> {
        let mut next = Notification::new(method::LISTEN_ACKNOWLEDGED, acknowledged);
        loop {
            meta::set(&mut next.params, meta::SUBSCRIPTION_ID, id.clone());
            let sink = caller.stream.sink();
            let sent = match sink {
                Some(sink) => {
                    sink.send(Frame::from(next).to_raw(), self.limits().write)
                        .await
                }
                None => false,
            };
            if !sent {
                return Err(RpcError::new(
                    error::INTERNAL_ERROR,
                    "the client does not read",
                ));
            }
            next = loop {
                let note = mailbox.next().await;
                let spelled = match &note {
                    Note::Task(id) if self.offer().keeps_tasks => {
                        let state = self.service.task_state(id, context).await;
                        state.map(|state| Notification::new(method::TASK_CHANGED, state))
                    }
                    note => self.spell_note(note, Era::Modern),
                };
                if let Some(notification) = spelled {
                    break notification;
                }
            };
        }
    }

    /// The part of what is wanted that is offered and allowed.
    async fn accept(
        &self,
        wanted: &Object,
        context: &Context,
        caller: &Caller,
    ) -> Result<Filter, RpcError> {
        let offer = self.offer();
        let list = |switch: &str, capability: &str| {
            wanted.get(switch).and_then(Raw::boolean) == Some(true)
                && offer.capabilities.switch(capability, "listChanged")
        };
        let mut filter = Filter {
            tools: list("toolsListChanged", "tools"),
            prompts: list("promptsListChanged", "prompts"),
            resources: list("resourcesListChanged", "resources"),
            ..Filter::default()
        };
        if offer.capabilities.switch("resources", "subscribe") {
            for uri in self.strings(wanted, "resourceSubscriptions")? {
                if self.service.watch(&uri, context).await.is_ok() {
                    filter.uris.insert(uri);
                }
            }
        }
        if offer.tasks() && context.takes_tasks() {
            for id in self.strings(wanted, "taskIds")? {
                let is_seen = if offer.keeps_tasks {
                    self.service.task_state(&id, context).await.is_some()
                } else {
                    self.sees_task(&id, caller)
                };
                if is_seen {
                    filter.tasks.insert(id);
                }
            }
        }
        Ok(filter)
    }

    fn strings(&self, wanted: &Object, name: &str) -> Result<BTreeSet<String>, RpcError> {
        let Some(raw) = wanted.get(name) else {
            return Ok(BTreeSet::new());
        };
        let strings = raw.array().ok().and_then(|list| {
            list.iter()
                .map(Raw::string)
                .collect::<Option<BTreeSet<_>>>()
        });
        let strings = strings.ok_or_else(|| {
            RpcError::invalid_params(format!("`notifications.{name}` is a list of strings"))
        })?;
        let most = self.limits().watched;
        if strings.len() > most {
            return Err(RpcError::invalid_params(format!(
                "`notifications.{name}` has more than {most} elements"
            )));
        }
        Ok(strings)
    }
}

fn spell_filter(filter: &Filter) -> Object {
    let mut spelled = Object::new();
    for (name, on) in [
        ("toolsListChanged", filter.tools),
        ("promptsListChanged", filter.prompts),
        ("resourcesListChanged", filter.resources),
    ] {
        if on {
            spelled.set(name, true);
        }
    }
    let list =
        |set: &BTreeSet<String>| Raw::from(Value::from(set.iter().cloned().collect::<Vec<_>>()));
    if !filter.uris.is_empty() {
        spelled.set("resourceSubscriptions", list(&filter.uris));
    }
    if !filter.tasks.is_empty() {
        spelled.set("taskIds", list(&filter.tasks));
    }
    spelled
}
