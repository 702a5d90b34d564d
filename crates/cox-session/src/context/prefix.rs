//! The start of every request that stays the same to the byte: system prompt, instruction files, tools.

use cox_extensions::Instructions;
use cox_protocol::Event;
use cox_tools::Tool;
use llm::ToolDef;
use std::sync::Arc;
use untrusted_text::redact::Redactor;

/// The system prompt. Holds nothing that changes: no date, no folder.
const SYSTEM_PROMPT: &str = include_str!("system_prompt.md");

/// Builds the prefix of a new session; also says how many secrets were replaced in it.
pub(crate) fn build(
    instructions: &Instructions,
    tools: &[Arc<dyn Tool>],
    redactor: &Redactor,
) -> (Event, usize) {
    let mut secrets = 0;
    let mut system = vec![SYSTEM_PROMPT.trim_end().to_owned()];
    if !instructions.files.is_empty() {
        let mut text = String::from(
            "Instructions of the person and the project follow. Later files outrank earlier ones.",
        );
        for file in &instructions.files {
            text.push_str(&format!(
                "\n\n--- {} ---\n{}",
                file.path.display(),
                file.text.trim_end()
            ));
        }
        let redaction = redactor.redact(&text);
        secrets = redaction.count;
        system.push(redaction.text.into_owned());
    }
    let event = Event::PrefixBuilt {
        system,
        instruction_files: instructions
            .files
            .iter()
            .map(|file| file.path.display().to_string())
            .collect(),
        tools_digest: tools_digest(tools),
    };
    (event, secrets)
}

/// Returns the tools of a request: the core ones in their order, then the discovered ones in theirs.
pub(crate) fn tool_defs(tools: &[Arc<dyn Tool>], discovered: &[String]) -> Vec<ToolDef> {
    let core = tools.iter().filter(|tool| !tool.spec().deferred);
    let joined = discovered.iter().filter_map(|name| {
        tools
            .iter()
            .find(|tool| tool.spec().deferred && tool.spec().name == name)
    });
    core.chain(joined)
        .map(|tool| tool_def(tool.as_ref()))
        .collect()
}

fn tool_def(tool: &dyn Tool) -> ToolDef {
    let spec = tool.spec();
    ToolDef {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        input_schema: spec.input_schema.clone(),
    }
}

/// Returns a hash of the core tools as they are sent: 64-bit FNV-1a, hexadecimal. Tells versions apart, protects nothing.
pub(crate) fn tools_digest(tools: &[Arc<dyn Tool>]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for def in tool_defs(tools, &[]) {
        let text = format!("{}\0{}\0{}\0", def.name, def.description, def.input_schema);
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
