//! What a daemon is made of: log, registry, kept results and tasks, by the settings.

use std::sync::Arc;
use std::time::Duration;

use mcpx_config::settings::key;
use mcpx_store::StateDir;
use mcpx_store::eras::Eras;
use mcpx_store::log::Log;
use mcpx_store::results::{ResultLimits, Results};
use mcpx_store::tasks::Tasks;

use super::children::Begun;
use super::start::{Start, StartError};
use crate::events::Events;
use crate::hub::{Hub, Identity, Parts};
use crate::registry::asking::Somebody;
use crate::registry::catalogue::Catalogue;
use crate::registry::launch::RealLaunch;
use crate::registry::launch::eras::{KeptEras, NoMemory};
use crate::registry::{Registry, RegistryLimits};
use crate::running_tasks::RunningTasks;
use crate::telling::{Telling, daemon as told};

/// Puts the hub together, and tells what was found of the daemon before it.
///
/// # Errors
/// When the state folder cannot be used.
pub(super) fn build(
    start: &Start,
    state: &StateDir,
    config: Arc<mcpx_config::Config>,
    identity: Identity,
    token: &str,
    begun: &Begun,
) -> Result<Arc<Hub>, StartError> {
    let settings = config.settings.clone();
    let clock = start.clock.clone();
    let options = told::log_options(&config, token);
    let redactor = options.redactor.clone();
    let log = Log::open(state, options, clock.clone());
    let events = Arc::new(Events::new(settings.int(key::EVENTS_HISTORY)));
    let telling = Arc::new(Telling::new(log.clone(), Arc::clone(&events)).under(identity.span()));
    let catalogue = Catalogue::open(state, &config);
    let somebody: Arc<Somebody> = Arc::default();
    let launch = RealLaunch {
        client: mcp_wire::Implementation::new("mcpx", &start.version),
        env: start
            .surroundings
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        mark: Some(begun.children.mark()),
        somebody: Arc::clone(&somebody),
        eras: if settings.bool(key::UPSTREAM_ERA_CACHE) {
            Arc::new(KeptEras::read(Eras::new(state), clock.clone()))
        } else {
            Arc::new(NoMemory)
        },
        probe: settings.duration(key::UPSTREAM_PROBE_TIMEOUT),
        sign_in: None,
        question: settings.duration(key::PROTO_ASK_TIMEOUT),
        limits: mcp_client::Limits::default(),
    };
    let registry = Registry::new(
        Arc::new(launch),
        telling.clone(),
        telling,
        catalogue,
        clock.clone(),
    )
    .capped(settings.int(key::POOL_GLOBAL_MAX))
    .for_clients(somebody);
    let results = Results::open(state, result_limits(&settings), clock.clone())?;
    let tasks = Tasks::open(state, &config.key, redactor)?;
    let (tasks, interrupted, problem) = RunningTasks::open(tasks, clock());
    let hub = Hub::new(Parts {
        identity,
        surroundings: start.surroundings.clone(),
        choice: start.choice.clone(),
        config,
        registry,
        state: state.clone(),
        log,
        events,
        results,
        tasks,
        clock,
    });
    for task in interrupted {
        let text = format!(
            "the task {} of {}.{} was interrupted when the daemon before this one ended: its outcome is unknown",
            task.id, task.server, task.tool
        );
        told::warned(&hub, "task.interrupted", text);
    }
    if let Some(problem) = problem {
        told::warned(&hub, "task.problem", problem);
    }
    for problem in hub.registry.catalogue.problems() {
        told::warned(&hub, "catalog.problem", problem);
    }
    Ok(hub)
}

fn result_limits(settings: &mcpx_config::Settings) -> ResultLimits {
    ResultLimits {
        max_bytes: settings.bytes(key::RESULTS_QUOTA),
        max_age: jiff::SignedDuration::try_from(settings.duration(key::RESULTS_KEEP))
            .unwrap_or(jiff::SignedDuration::MAX),
    }
}

/// Gives the registry and the kept results the limits that the settings say.
pub(crate) fn set_limits(hub: &Hub) {
    let settings = hub.settings();
    hub.registry.set_limits(RegistryLimits {
        queue: settings.duration(key::POOL_QUEUE_TIMEOUT),
        list: settings
            .duration(key::POOL_CALL_TIMEOUT)
            .max(Duration::from_secs(10)),
        instances: settings.int(key::POOL_GLOBAL_MAX),
    });
    hub.results.set_limits(result_limits(&settings));
}
