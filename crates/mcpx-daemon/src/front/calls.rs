//! From a request of a client to a call, over as many rounds as it takes, and back.

use std::sync::Arc;
use std::time::Duration;

use mcp_server::{Context, Incoming, Reply};
use mcp_wire::page::CacheHint;
use mcp_wire::{InputRequired, Outcome, RpcError, method};
use mcpx_config::settings::key;

use super::finish::{self, Finish, as_rpc};
use super::held::{Again, HeldCall, Step};
use super::lists::kept_for;
use super::plan::{self, Plan};
use super::state::State;
use super::surface::{Surface, ToolOwner};
use super::{Front, asker, own};
use crate::hub::Hub;
use crate::registry::call::{CallError, Done};

impl Front {
    pub(super) async fn call_tool(
        &self,
        hub: &Arc<Hub>,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let name = incoming
            .params
            .string("name")
            .ok_or_else(|| RpcError::invalid_params("`tools/call` without the string `name`"))?;
        let mut owner = Surface::new(hub, &self.kind).owner_of_tool(&name);
        if matches!(owner, ToolOwner::Nobody) {
            // A server that is not ready yet may have it.
            tokio::select! {
                read = self.read_all(hub) => read.map_err(|error| as_rpc(&error))?,
                () = context.cancelled.cancelled() => return Err(as_rpc(&CallError::Cancelled)),
            }
            owner = Surface::new(hub, &self.kind).owner_of_tool(&name);
        }
        match owner {
            ToolOwner::Server(server) => {
                let plan = Plan::tool(&server, &name, &incoming)?;
                self.see_through(hub, plan, incoming, context).await
            }
            ToolOwner::Own(operation) => self.own(hub, operation, incoming, context).await,
            ToolOwner::Several(servers) => Err(RpcError::invalid_params(format!(
                "`{}` and `{}` both have a tool of this name now",
                servers[0], servers[1]
            ))),
            ToolOwner::Nobody => Err(self.unknown_tool(hub, &name)),
        }
    }

    /// Nobody has the tool. Models call what they read of by its name alone: how it is called is said, or what else there is.
    fn unknown_tool(&self, hub: &Hub, name: &str) -> RpcError {
        let shown = untrusted_text::terminal::one_line(name, 200);
        let mut message = format!("Unknown tool: {shown}");
        if self.kind.own {
            message.push_str(&match hub.registry.views().find_tool(name) {
                Ok((upstream, tool)) => {
                    let namespace = &upstream.server.namespace;
                    let tool = untrusted_text::terminal::one_line(&tool, 200);
                    format!("\nhint: `mcpx_call` calls it, with `tool`: `{namespace}.{tool}`")
                }
                Err(_) => format!(
                    "\nhint: the tools here are {}; `mcpx_search` finds those of other servers",
                    own::tools()
                        .iter()
                        .map(|(name, _)| format!("`{name}`"))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            });
        }
        RpcError::invalid_params(message)
    }

    /// Calls one of the hub's own tools.
    async fn own(
        &self,
        hub: &Arc<Hub>,
        operation: &'static mcpx_api::Operation,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let params = match own::params(operation, incoming.params.get("arguments")) {
            Ok(params) => params,
            Err(error) => return Ok(Reply::complete(finish::failed(&error))),
        };
        let caller = self.who.of(&incoming, context);
        if operation.id == mcpx_api::Op::Call && params.get("task").is_none() {
            return match Plan::own_call(caller, &params) {
                Ok(plan) => self.see_through(hub, plan, incoming, context).await,
                Err(error) => Ok(Reply::complete(finish::failed(&error))),
            };
        }
        let performed = tokio::select! {
            performed = crate::ops::perform(hub, operation, caller, params) => performed,
            () = context.cancelled.cancelled() => return Err(as_rpc(&CallError::Cancelled)),
        };
        Ok(Reply::complete(match performed {
            Ok(reply) => own::result(reply),
            Err(error) => finish::failed(&error),
        }))
    }

    /// Makes the call of a request, or goes on with the one that its client was asked in.
    async fn see_through(
        &self,
        hub: &Arc<Hub>,
        plan: Plan,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let as_task = incoming.method == method::TOOLS_CALL && context.takes_tasks();
        let finish = plan.finish.clone();
        let mut call = plan.call(self.who.of(&incoming, context), &incoming, context);
        call.hears = self.hears(context);
        call.wanted_level = self.wanted_by(hub, context, &call.caller).map(Arc::new);
        // A task that was asked for in so many words asks in its own way.
        call.hand_back &= !context.task_requested;
        let again = Again {
            call: call.clone(),
            context: context.clone(),
            names_server: self.names_server(),
        };
        let mut held = match incoming.state.as_deref().map(State::read).transpose()? {
            Some(State::Held(id)) => {
                let mut held = self.common.continuations.take(&id)?;
                held.follow(context);
                held.answer(incoming.answers);
                held
            }
            state => {
                match state {
                    Some(State::Handed(state)) => plan::answer(&mut call, incoming.answers, state),
                    Some(State::Visited) => plan::check_visited(&incoming.answers)?,
                    // Answers without a state are for a server that needs none.
                    _ if call.hand_back => plan::answer(&mut call, incoming.answers, None),
                    _ => {}
                }
                HeldCall::begin(hub, call, context, self.names_server())
            }
        };
        let patience = as_task.then(|| {
            if context.task_requested {
                Duration::ZERO
            } else {
                hub.settings().duration(key::PROTO_MESSAGES_TASK_AFTER)
            }
        });
        match held.next(patience).await {
            Step::Ended(ended) => self.ended(hub, *ended, &finish, context),
            Step::Asks if !as_task => self.ask(hub, held),
            Step::Asks | Step::Later => Ok(into_task(hub, held, again, finish)),
        }
    }

    fn ask(&self, hub: &Hub, held: HeldCall) -> Result<Reply, RpcError> {
        let questions = held.questions();
        let ttl = hub.settings().duration(key::PROTO_ASK_TTL);
        let id = self.common.continuations.hold(held, ttl)?;
        Ok(Reply::Ask {
            questions,
            state: State::Held(id).to_bytes(),
        })
    }

    fn ended(
        &self,
        hub: &Hub,
        ended: Result<Done, CallError>,
        finish: &Finish,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        if let Ok(Done {
            outcome: Outcome::InputRequired(round),
            server,
            ..
        }) = &ended
        {
            return self.hand_on(server, round);
        }
        if let Some(questions) = plan::urls_to_visit(&ended, context) {
            return Ok(Reply::Ask {
                questions,
                state: State::Visited.to_bytes(),
            });
        }
        let result = finish.tell(hub, ended)?;
        let cache = finish.is_read().then(|| {
            if result.contains("ttlMs") {
                CacheHint::parse(&result)
            } else {
                kept_for(hub.settings().duration(key::PROTO_MESSAGES_READ_MAX_AGE))
            }
        });
        Ok(Reply::Complete { result, cache })
    }

    /// Hands the questions of a modern server to a modern client, with the server's state in ours.
    fn hand_on(&self, server: &str, round: &InputRequired) -> Result<Reply, RpcError> {
        let questions = asker::readable(server, round, self.names_server())?;
        Ok(Reply::Ask {
            questions,
            state: State::Handed(round.state.clone()).to_bytes(),
        })
    }

    pub(super) async fn forward(
        &self,
        hub: &Arc<Hub>,
        incoming: Incoming,
        context: &Context,
    ) -> Result<Reply, RpcError> {
        let plan = match self.planned(hub, &incoming) {
            Ok(plan) => plan,
            // A server that is not ready yet may have it.
            Err(_) => {
                tokio::select! {
                    read = self.read_all(hub) => read.map_err(|error| as_rpc(&error))?,
                    () = context.cancelled.cancelled() => return Err(as_rpc(&CallError::Cancelled)),
                }
                self.planned(hub, &incoming)?
            }
        };
        match plan {
            Some(plan) => self.see_through(hub, plan, incoming, context).await,
            // Its owner proposes nothing.
            None => Ok(Reply::complete(plan::no_completion())),
        }
    }

    fn planned(&self, hub: &Hub, incoming: &Incoming) -> Result<Option<Plan>, RpcError> {
        let surface = Surface::new(hub, &self.kind);
        match incoming.method.as_str() {
            method::PROMPTS_GET => Plan::prompt(&surface, incoming),
            method::RESOURCES_READ => Plan::resource(&surface, incoming),
            _ => Plan::completion(&surface, incoming),
        }
    }

    /// Whether a person has to be told which server asks: not when there is one only.
    fn names_server(&self) -> bool {
        self.kind.sole().is_none()
    }
}

/// Work that goes on as a task of the client.
fn into_task(hub: &Arc<Hub>, held: HeldCall, again: Again, finish: Finish) -> Reply {
    let settings = hub.settings();
    let hub = Arc::clone(hub);
    let work = mcp_server::TaskWork::new(move |task| async move {
        let ended = again.in_task(&hub, held, &task).await?;
        finish.tell(&hub, ended)
    });
    Reply::Task(
        work.polled_every(settings.duration(key::PROTO_TASKS_POLL_INTERVAL))
            .kept_for(settings.duration(key::TASKS_TTL)),
    )
}
