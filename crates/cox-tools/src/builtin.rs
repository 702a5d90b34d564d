//! The list of built-in tools.

use std::sync::Arc;

use crate::{
    Tool, ToolSpec, ask_user::AskUser, bash::Bash, expand::Expand, task::Task, todo::Todo,
    tool_search::ToolSearch, web_fetch::WebFetch,
};

/// Returns every built-in tool, in the order they are sent to a model. The deferred ones come last.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    let deferred: [Arc<dyn Tool>; 3] = [
        Arc::new(AskUser::new()),
        Arc::new(WebFetch::new()),
        Arc::new(Task),
    ];
    let specs: Vec<&ToolSpec> = deferred.iter().map(|tool| tool.spec()).collect();
    let mut tools = crate::fs::tools();
    tools.push(Arc::new(Bash));
    tools.push(Arc::new(Todo::new()));
    tools.push(Arc::new(Expand::new()));
    tools.push(Arc::new(ToolSearch::new(specs)));
    tools.extend(deferred);
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most bytes of the core tools as they are sent with every request: a quarter is tokens.
    const MAX_CORE_BYTES: usize = 9_500;

    #[test]
    fn every_tool_can_be_called_by_name_and_schema() {
        for tool in builtin() {
            let spec = tool.spec();
            let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
            assert!(
                !spec.name.is_empty() && spec.name.bytes().all(is_plain),
                "{}",
                spec.name
            );
            assert!(!spec.description.is_empty(), "{}", spec.name);
            assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
            let properties = spec.input_schema["properties"].as_object().unwrap();
            for required in spec.input_schema["required"].as_array().unwrap() {
                assert!(
                    properties.contains_key(required.as_str().unwrap()),
                    "{} {required}",
                    spec.name
                );
            }
        }
    }

    #[test]
    fn names_are_unique_and_deferred_tools_come_last() {
        let tools = builtin();
        let mut names: Vec<&str> = tools.iter().map(|tool| tool.spec().name).collect();
        let deferred: Vec<bool> = tools.iter().map(|tool| tool.spec().deferred).collect();
        assert!(deferred.is_sorted());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), tools.len());
    }

    #[test]
    fn the_core_tools_stay_small() {
        let size = |spec: &ToolSpec| {
            spec.name.len() + spec.description.len() + spec.input_schema.to_string().len()
        };
        let sizes: Vec<(&'static str, usize)> = builtin()
            .iter()
            .filter(|tool| !tool.spec().deferred)
            .map(|tool| (tool.spec().name, size(tool.spec())))
            .collect();
        let total: usize = sizes.iter().map(|(_, size)| size).sum();
        assert!(total <= MAX_CORE_BYTES, "{total} bytes: {sizes:?}");
    }
}
