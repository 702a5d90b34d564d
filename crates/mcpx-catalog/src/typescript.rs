//! Signatures for a model, and the client that scripts import, made from the schemas of tools.
//!
//! Every tool is a function of one object. The object is optional exactly when the schema takes an empty one. What a
//! server writes (names, descriptions, defaults, values) cannot leave the comment or literal in which it stands, is cut
//! where it is long, and what comes out parses and type-checks under `--strict`, whatever the schema.

mod combine;
mod empty;
mod render;
mod text;

use std::collections::BTreeSet;

use mcp_wire::Tool;
use mcp_wire::json::JsonError;
use serde_json::Value;

use crate::names::{self, Names};
use crate::reference;
use combine::{RECORD, UNKNOWN};
pub(crate) use empty::takes_nothing;
use render::Renderer;
pub(crate) use text::literal;
use text::{comment, comment_lines, member, quoted};

/// How much of a tool's description is kept, in characters.
const MAX_TOOL_TEXT: usize = 2_000;
/// How much of a server's instructions is kept, in characters.
const MAX_INSTRUCTIONS: usize = 4_000;
/// Longest type of one tool, in bytes. A longer one is cut at a lower level, and at last a plain record.
const MAX_TYPE_BYTES: usize = 64 << 10;
/// How deep a type may nest: the first of these with which it is not too long.
const DEPTHS: [usize; 4] = [12, 6, 4, 2];

/// What an object of a result gets: its envelope, unless it has a member of that name.
const ATTACHED: &str = "type Attached<T> = T extends object ? \"raw\" extends keyof T ? Envelope extends T[\"raw\"] ? T & { readonly raw: Envelope } : T : T & { readonly raw: Envelope } : T;\n";

/// A server's tools and what is said about them.
#[derive(Debug, Clone, Default)]
pub struct Namespace<'a> {
    /// The server, by its own name.
    pub server: &'a str,
    /// Its identifier, when it is not the one that its name gives.
    pub namespace: Option<&'a str>,
    /// What the person who configured it says about it.
    pub description: Option<&'a str>,
    /// What that person wants read before the signatures.
    pub prelude: Option<&'a str>,
    /// What the server says about itself. Leave it out for a single tool.
    pub instructions: Option<&'a str>,
    /// Its tools.
    pub tools: &'a [Tool],
}

impl Namespace<'_> {
    /// The variable that scripts use. What cannot be one is made one.
    pub(crate) fn identifier(&self) -> String {
        names::namespace(self.namespace.unwrap_or(self.server))
    }
}

/// Declarations of namespaces: what `types` prints. A whole ambient file by itself.
#[must_use]
pub fn types(namespaces: &[Namespace<'_>]) -> String {
    let spaces: Vec<Space<'_>> = spaces(namespaces);
    let mut text = String::from("type ToolResult = any;\n");
    if spaces.iter().any(|space| {
        space
            .functions
            .iter()
            .any(|function| function.output.is_some())
    }) {
        text.push_str("type Envelope = { content?: unknown[]; structuredContent?: unknown; isError?: boolean };\n");
        text.push_str(ATTACHED);
    }
    declare(&spaces, &mut text);
    text
}

/// The ambient file of what a script finds without importing it: the namespaces, `tools`, and what the hub adds.
#[must_use]
pub fn globals(namespaces: &[Namespace<'_>]) -> String {
    let mut text = String::from(include_str!("typescript/globals_head.d.ts"));
    let spaces = spaces(namespaces);
    declare(&spaces, &mut text);
    let names = Names::of_servers(
        spaces
            .iter()
            .map(|space| (space.server, space.identifier.as_str())),
    );
    text.push_str("\n/** Every namespace, by its identifier and by the server's own name. */\ndeclare const tools: {\n");
    for space in &spaces {
        for spelling in names.spellings(space.server) {
            text.push_str(&format!(
                "  {}: typeof {};\n",
                member(&spelling),
                space.identifier
            ));
        }
    }
    text.push_str("};\n");
    text
}

fn declare(spaces: &[Space<'_>], text: &mut String) {
    for space in spaces {
        text.push('\n');
        for function in &space.functions {
            text.extend(function.named.iter().map(String::as_str));
        }
        text.push_str(&comment(&space.lines, 0));
        text.push_str(&format!("declare const {}: {{\n", space.identifier));
        for function in &space.functions {
            text.push_str(&comment(&function.lines, 2));
            let name = member(function.spellings.first().map_or("", String::as_str));
            text.push_str(&format!(
                "  {name}: ({}) => {};\n",
                function.parameter(),
                function.result()
            ));
        }
        text.push_str("};\n");
    }
}

/// The module that scripts import. `connect` says what carries its calls; it does nothing by itself.
///
/// A tool is found under its identifier, and under its original name where that is another.
#[must_use]
pub fn client(namespaces: &[Namespace<'_>]) -> String {
    let mut text = String::from(include_str!("typescript/client_head.ts"));
    let names = Names::of_servers(
        namespaces
            .iter()
            .map(|space| (space.server, space.identifier())),
    );
    let mut members = String::new();
    let mut count = 0_usize;
    for space in spaces(namespaces) {
        let mut functions = String::new();
        for function in &space.functions {
            text.extend(function.named.iter().map(String::as_str));
            text.push_str(&comment(&function.lines, 0));
            let arguments = format!("{}, {}", quoted(space.server), quoted(&function.tool));
            text.push_str(&format!(
                "const $tool{count} = ({}): {} => $call({arguments}, args);\n",
                function.parameter(),
                function.result()
            ));
            for spelling in &function.spellings {
                functions.push_str(&format!("  {}: $tool{count},\n", member(spelling)));
            }
            count += 1;
        }
        text.push_str(&comment(&space.lines, 0));
        text.push_str(&format!(
            "export const {} = {{\n{functions}}};\n",
            space.identifier
        ));
        for spelling in names.spellings(space.server) {
            members.push_str(&format!("  {}: {},\n", member(&spelling), space.identifier));
        }
        text.push('\n');
    }
    text.push_str(&format!("export const tools = {{\n{members}}};\n"));
    text
}

/// A namespace, ready to be written.
struct Space<'a> {
    server: &'a str,
    identifier: String,
    lines: Vec<String>,
    functions: Vec<Function>,
}

/// A tool, ready to be written.
struct Function {
    tool: String,
    /// The identifier first.
    spellings: Vec<String>,
    lines: Vec<String>,
    named: Vec<String>,
    arguments: String,
    is_optional: bool,
    output: Option<String>,
}

impl Function {
    fn parameter(&self) -> String {
        let mark = if self.is_optional { "?" } else { "" };
        format!("args{mark}: {}", self.arguments)
    }

    fn result(&self) -> String {
        let output = self.output.as_ref();
        output.map_or_else(
            || "Promise<ToolResult>".to_owned(),
            |output| format!("Promise<Attached<{output}>>"),
        )
    }
}

fn spaces<'a>(namespaces: &[Namespace<'a>]) -> Vec<Space<'a>> {
    let mut seen = BTreeSet::new();
    let once = namespaces
        .iter()
        .filter(|space| seen.insert(space.identifier()));
    once.map(space).collect()
}

fn space<'a>(namespace: &Namespace<'a>) -> Space<'a> {
    let identifier = namespace.identifier();
    let mut lines = Vec::new();
    if identifier != namespace.server {
        lines.push(format!("The server {}.", shown(namespace.server)));
    }
    for (text, max_chars) in [
        (namespace.prelude, MAX_INSTRUCTIONS),
        (namespace.description, MAX_TOOL_TEXT),
        (namespace.instructions, MAX_INSTRUCTIONS),
    ] {
        lines.extend(
            text.into_iter()
                .flat_map(|text| comment_lines(text, max_chars)),
        );
    }
    let index = Names::of_tools(namespace.tools.iter().map(|tool| tool.name.clone()));
    let mut seen = BTreeSet::new();
    let mut tools: Vec<&Tool> = namespace
        .tools
        .iter()
        .filter(|tool| seen.insert(&tool.name))
        .collect();
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let functions = tools
        .into_iter()
        .map(|tool| function(tool, &identifier, &index))
        .collect();
    Space {
        server: namespace.server,
        identifier,
        lines,
        functions,
    }
}

fn function(tool: &Tool, space: &str, index: &Names) -> Function {
    let identifier = index.identifier(&tool.name);
    let mut lines = tool
        .description()
        .map(|text| comment_lines(&text, MAX_TOOL_TEXT))
        .unwrap_or_default();
    if identifier != tool.name {
        lines.push(format!(
            "The server's name for it is {}.",
            shown(&tool.name)
        ));
    }
    let mut named = Vec::new();
    let mut note =
        |of: &str, why: String| lines.push(format!("The type of its {of} is left out: {why}."));
    let input = tool.input_schema().value().map(reference::local);
    // What cannot be read requires nothing that we know of.
    let is_optional = input.as_ref().map_or(true, takes_nothing);
    let prefix = format!("{space}${identifier}");
    let mut arguments = rendered(input, Some("object"), &format!("{prefix}$in"), &mut named)
        .unwrap_or_else(|why| {
            note("arguments", why);
            RECORD.to_owned()
        });
    if arguments == UNKNOWN {
        RECORD.clone_into(&mut arguments);
    }
    let output = tool.output_schema().map(|schema| {
        let schema = schema.value().map(reference::local);
        rendered(schema, None, &format!("{prefix}$out"), &mut named).unwrap_or_else(|why| {
            note("result", why);
            UNKNOWN.to_owned()
        })
    });
    let spellings = index.spellings(&tool.name);
    Function {
        tool: tool.name.clone(),
        spellings,
        lines,
        named,
        arguments,
        is_optional,
        output,
    }
}

/// A name inside a comment.
fn shown(name: &str) -> String {
    comment_lines(&quoted(name), 200).concat()
}

/// The type of a schema whose value has the type `word` anyway; or why there is none.
fn rendered(
    schema: Result<Value, JsonError>,
    word: Option<&'static str>,
    prefix: &str,
    named: &mut Vec<String>,
) -> Result<String, String> {
    let schema = schema.map_err(|error| comment_lines(&error.reason, 200).concat())?;
    let mut bytes = 0;
    for depth in DEPTHS {
        let mut renderer = Renderer::new(&schema, prefix.to_owned(), depth);
        let text = renderer.whole(2, word);
        bytes = text.len() + renderer.named.iter().map(String::len).sum::<usize>();
        if bytes <= MAX_TYPE_BYTES {
            named.append(&mut renderer.named);
            return Ok(text);
        }
    }
    Err(format!(
        "it has {bytes} bytes, at most {MAX_TYPE_BYTES} are shown"
    ))
}

#[cfg(test)]
mod tests;
