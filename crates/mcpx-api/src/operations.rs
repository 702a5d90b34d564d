//! The table of everything the hub can be asked to do.

mod calls;
mod catalogue;
mod daemon;
mod log;
mod servers;

use crate::operation::Operation;

/// Which operation it is. Whoever does them matches on this, so that none can be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is described by its row of the table")]
pub enum Op {
    Health,
    Status,
    Events,
    Namespaces,
    Tools,
    Search,
    Types,
    Catalog,
    Client,
    Globals,
    Schema,
    History,
    Call,
    CallPath,
    Batch,
    ResultRead,
    Resources,
    ResourceTemplates,
    ResourceRead,
    Prompts,
    PromptGet,
    Complete,
    TasksList,
    TaskGet,
    TaskResult,
    TaskCancel,
    SessionRelease,
    Refresh,
    Reload,
    Restart,
    Shutdown,
    DaemonRestart,
    Protocol,
    Resolve,
    ServersList,
    ServersAdd,
    ServersRemove,
    SettingsList,
    SettingsGet,
    SettingsSet,
    SettingsUnset,
    LogQuery,
    LogRecord,
    StatsQuery,
    ToolInvoke,
    Openapi,
}

/// Every operation, in the order of the documents.
pub const OPERATIONS: &[&[Operation]] = &[
    daemon::OPERATIONS,
    catalogue::OPERATIONS,
    calls::OPERATIONS,
    servers::OPERATIONS,
    log::OPERATIONS,
];

/// Every operation, one after the other.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().copied().flatten()
}

/// The row of an operation.
#[must_use]
pub fn operation(id: Op) -> &'static Operation {
    let found = all().find(|operation| operation.id == id);
    // A test holds that each has its row.
    found.unwrap_or(&daemon::OPERATIONS[0])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::operation::{Effect, Method, Place};

    #[test]
    fn names_routes_tools_and_words_are_each_used_once() {
        let mut names = HashSet::new();
        let mut routes = HashSet::new();
        let mut tools = HashSet::new();
        let mut words = HashSet::new();
        for operation in all() {
            assert!(names.insert(operation.name), "{}", operation.name);
            assert!(
                routes.insert((operation.method.as_str(), operation.path)),
                "{}",
                operation.path
            );
            if let Some(tool) = operation.tool {
                assert!(tools.insert(tool), "{tool}");
            }
            if let Some(word) = operation.word {
                assert!(words.insert(word), "{word}");
            }
        }
    }

    #[test]
    fn each_parameter_of_a_path_is_in_it_and_a_get_has_no_body() {
        for operation in all() {
            for param in operation.params {
                let hole = format!("{{{}}}", param.name);
                assert_eq!(
                    operation.path.contains(&hole),
                    param.place == Place::Path,
                    "{}: {}",
                    operation.name,
                    param.name
                );
                if operation.method == Method::Get {
                    assert!(
                        matches!(param.place, Place::Path | Place::Query),
                        "{}: {}",
                        operation.name,
                        param.name
                    );
                }
            }
            let holes = operation.path.matches('{').count();
            let paths = operation
                .params
                .iter()
                .filter(|param| param.place == Place::Path)
                .count();
            assert_eq!(holes, paths, "{}", operation.name);
        }
    }

    #[test]
    fn each_id_has_its_row() {
        let ids: HashSet<Op> = all().map(|operation| operation.id).collect();
        assert_eq!(ids.len(), Op::Openapi as usize + 1);
        for id in ids {
            assert_eq!(operation(id).id, id);
        }
    }

    #[test]
    fn words_and_tools_are_spelled_as_people_type_them() {
        for operation in all() {
            for word in operation.word.into_iter().flat_map(|word| word.split(' ')) {
                assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
            }
            if let Some(name) = operation.tool.map(|tool| tool.strip_prefix("mcpx_")) {
                let name = name.expect("a prefix");
                assert!(name.bytes().all(|byte| byte.is_ascii_lowercase()), "{name}");
            }
            let is_sentence = operation.summary.ends_with('.')
                && operation
                    .summary
                    .starts_with(|first: char| first.is_uppercase());
            assert!(is_sentence, "{}", operation.summary);
        }
    }

    #[test]
    fn models_get_the_tools_that_lead_from_a_question_to_its_answer_and_nothing_that_ends_or_configures()
     {
        let tools: HashSet<&str> = all().filter_map(|operation| operation.tool).collect();
        let wanted = [
            "mcpx_namespaces",
            "mcpx_search",
            "mcpx_types",
            "mcpx_catalog",
            "mcpx_call",
            "mcpx_batch",
            "mcpx_status",
            "mcpx_log",
            "mcpx_read",
        ];
        assert_eq!(tools, HashSet::from(wanted));
        for operation in all().filter(|operation| operation.tool.is_some()) {
            let is_call = matches!(operation.id, Op::Call | Op::Batch);
            assert_eq!(
                operation.effect == Effect::Reads,
                !is_call,
                "{}",
                operation.name
            );
        }
    }

    #[test]
    fn what_reads_is_sent_again_without_harm_and_a_get_only_reads() {
        for operation in all() {
            if operation.effect == Effect::Reads {
                assert!(operation.idempotent, "{}", operation.name);
            }
            if operation.method == Method::Get {
                assert_eq!(operation.effect, Effect::Reads, "{}", operation.name);
            }
        }
    }
}
