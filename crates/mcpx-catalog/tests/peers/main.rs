//! What is generated, judged by the TypeScript compiler and run by Node.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start the compiler and write what it reads into a folder of their own"
)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../src/any_schema.rs"]
mod any_schema;

mod client;
mod published;
mod taken;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use mcp_wire::{Object, Raw, Tool};
use mcpx_catalog::explain::{Call, Refusal, explain};
use mcpx_catalog::history::History;
use mcpx_catalog::typescript::{Namespace, client, globals, types};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tempfile::TempDir;

fn tools(values: &Value) -> Vec<Tool> {
    let all = Raw::of(values).array().unwrap();
    all.iter().map(|tool| Tool::parse(tool).unwrap()).collect()
}

/// The tools of one file of the corpus.
fn corpus(path: &Path) -> Vec<Tool> {
    let text = fs::read_to_string(path).unwrap();
    let all = Raw::parse(&text).unwrap().array().unwrap();
    all.iter().map(|tool| Tool::parse(tool).unwrap()).collect()
}

fn corpus_files() -> Vec<std::path::PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/typescript");
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Puts what is generated for the namespaces into `dir`, as modules.
fn write(dir: &TempDir, name: &str, spaces: &[Namespace<'_>]) {
    fs::write(
        dir.path().join(format!("{name}.types.ts")),
        format!("{}export {{}};\n", types(spaces)),
    )
    .unwrap();
    fs::write(dir.path().join(format!("{name}.client.ts")), client(spaces)).unwrap();
    let globals = format!("{}export {{}};\n", globals(spaces));
    fs::write(dir.path().join(format!("{name}.globals.ts")), globals).unwrap();
}

/// Checks every file of `dir` in one run.
fn check_types(dir: &TempDir) -> Output {
    let config = json!({"compilerOptions": {"strict": true, "noEmit": true, "target": "es2022", "lib": ["es2022"], "module": "esnext",
        "moduleResolution": "bundler", "types": [], "erasableSyntaxOnly": true, "isolatedModules": true, "verbatimModuleSyntax": true,
        "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true}, "include": ["*.ts"]});
    fs::write(dir.path().join("tsconfig.json"), config.to_string()).unwrap();
    let compiler = testkit::peers::dir().join("typescript/node_modules/typescript/bin/tsc");
    assert!(
        compiler.exists(),
        "{} is missing: run `ci/peers` first",
        compiler.display()
    );
    Command::new(testkit::peers::mcp::node())
        .arg(compiler)
        .args(["--noEmit", "--strict", "--project"])
        .arg(dir.path())
        .current_dir(dir.path())
        .output()
        .unwrap()
}

#[track_caller]
fn assert_sound(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let head: String = text.chars().take(4_000).collect();
    assert!(
        output.status.success(),
        "{head}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_corpus_passes_the_compiler() {
    let dir = TempDir::new().unwrap();
    let mut all = Vec::new();
    for path in corpus_files() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        all.push((name, corpus(&path)));
    }
    let huge = "x*/`${\u{2028}\0".repeat(120_000);
    let one = json!([{"name": "huge", "description": huge, "inputSchema": {"properties": {"a": {"description": huge, "default": huge, "enum": [huge]}}}}]);
    all.push(("huge".to_owned(), tools(&one)));
    all.push(("sizes".to_owned(), tools(&taken::sizes())));
    for (name, tools) in &all {
        let text = Some("*/ `${x}` \u{2028}\n@ts-expect-error");
        let space = Namespace {
            server: name,
            namespace: None,
            description: text,
            prelude: text,
            instructions: text,
            tools,
        };
        write(&dir, name, &[space]);
    }
    let servers = [
        "a-b",
        "a.b",
        "a_b",
        "class",
        "console",
        "tools",
        "__proto__",
        "then",
        "2fast",
        "",
        "*/ evil",
        "日本",
        "ToolError",
    ];
    let spaces: Vec<_> = servers
        .iter()
        .map(|server| Namespace {
            server,
            tools: &all[0].1,
            ..Namespace::default()
        })
        .collect();
    write(&dir, "servers", &spaces);
    write(&dir, "nothing", &[]);
    assert_sound(&check_types(&dir));
}

/// What is advised after `tool` of the namespace `n` was rejected without arguments.
fn advised(all: &[Tool], tool: &Tool) -> Option<String> {
    let arguments = Object::new();
    let call = Call {
        server: "n",
        namespace: "n",
        tool: &tool.name,
        tools: Some(all),
        arguments: &arguments,
    };
    let refusal = Refusal::Error {
        code: -32_602,
        message: "invalid params",
    };
    explain(&call, refusal, &History::default())
        .into_iter()
        .find_map(|finding| finding.fix)
}

/// The script that makes every call that is advised, and how many there are.
fn advice(name: &str, all: &[Tool]) -> (String, usize) {
    let calls: Vec<String> = all
        .iter()
        .filter_map(|tool| advised(all, tool))
        .map(|call| format!("  {call};\n"))
        .collect();
    let text = format!(
        "import {{ n }} from \"./{name}.client.js\";\nexport async function use() {{\n{}}}\n",
        calls.concat()
    );
    (text, calls.len())
}

#[test]
fn every_call_that_is_advised_passes_the_compiler() {
    let dir = TempDir::new().unwrap();
    let mut runner = TestRunner::deterministic();
    let strategy = any_schema::any_schema();
    let mut sets: Vec<(String, Vec<Tool>)> = corpus_files()
        .iter()
        .map(|path| {
            (
                path.file_stem().unwrap().to_str().unwrap().to_owned(),
                corpus(path),
            )
        })
        .collect();
    for at in 0..20 {
        let values: Vec<Value> = (0..10)
            .map(|at| {
                let schema = strategy.new_tree(&mut runner).unwrap().current();
                let input =
                    json!({"type": "object", "properties": {"p": schema}, "required": ["p"]});
                json!({"name": format!("t{at}"), "inputSchema": input})
            })
            .collect();
        sets.push((format!("random{at}"), tools(&Value::from(values))));
    }
    let mut count = 0;
    for (name, all) in &sets {
        let space = Namespace {
            server: "n",
            tools: all,
            ..Namespace::default()
        };
        write(&dir, name, &[space]);
        let (text, calls) = advice(name, all);
        count += calls;
        fs::write(dir.path().join(format!("{name}.advice.ts")), text).unwrap();
    }
    assert!(count > 150, "{count}");
    assert_sound(&check_types(&dir));
}

#[test]
fn random_schemas_pass_the_compiler_in_one_run() {
    let dir = TempDir::new().unwrap();
    let mut runner = TestRunner::deterministic();
    let strategy = any_schema::any_schema();
    let mut next = || strategy.new_tree(&mut runner).unwrap().current();
    for file in 0..40 {
        let values: Vec<Value> = (0..10)
            .map(|at| {
                let mut input = next();
                let fits = input.get("type").is_none_or(|kind| kind == "object");
                if !input.is_object() || !fits {
                    input = json!({"type": "object", "properties": {"p": input, "q": next()}});
                }
                json!({"name": format!("t{at}"), "inputSchema": input, "outputSchema": any_schema::turned(&next())})
            })
            .filter(|tool| Tool::parse(&Raw::of(tool)).is_ok())
            .collect();
        assert!(values.len() >= 5);
        write(
            &dir,
            &format!("file{file}"),
            &[Namespace {
                server: "s",
                tools: &tools(&Value::from(values)),
                ..Namespace::default()
            }],
        );
    }
    assert_sound(&check_types(&dir));
}

#[test]
fn the_compiler_knows_which_calls_fit() {
    let dir = TempDir::new().unwrap();
    for name in ["ordinary", "combined", "recursive"] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/typescript/{name}.json"));
        write(
            &dir,
            name,
            &[Namespace {
                server: name,
                tools: &corpus(&path),
                ..Namespace::default()
            }],
        );
    }
    let usage = r#"
import { ordinary, tools } from "./ordinary.client.js";
import { combined } from "./combined.client.js";
import { recursive } from "./recursive.client.js";
export async function use() {
  await ordinary.echo({ message: "x" });
  await ordinary.list();
  await ordinary.list({ state: "open", limit: 3 });
  await ordinary.ping();
  await ordinary.ping({});
  await ordinary.anything({ x: 1 });
  const { sum, raw } = await ordinary.add({ a: 1, b: 2 });
  const n: number = sum;
  raw.content;
  await tools.ordinary.echo({ message: String(n) });
  await combined.top_any_of({ id: "x" });
  await combined.top_one_of({ kind: "a", x: 1 });
  await combined.top_all_of({ a: "x" });
  await combined.top_ref({ q: "x" });
  await combined.top_nothing();
  await recursive.tree({ root: { name: "a", children: [{ name: "b", children: [] }] } });
  await recursive.self({ and: [{ not: { field: "x" } }] });
  await recursive.json({ value: { a: [1, null, { b: "c" }] } });
  // @ts-expect-error the object is not optional
  await ordinary.echo();
  // @ts-expect-error a required member is missing
  await ordinary.echo({});
  // @ts-expect-error a member that there is not
  await ordinary.list({ stat: "open" });
  // @ts-expect-error a value that is not taken
  await ordinary.list({ state: "opened" });
  // @ts-expect-error a tool that there is not
  await ordinary.ecko({ message: "x" });
  // @ts-expect-error nothing is taken
  await ordinary.ping({ x: 1 });
  // @ts-expect-error neither of the alternatives
  await combined.top_any_of({});
  // @ts-expect-error members of the other alternative
  await combined.top_one_of({ kind: "b", x: 1, y: 2 });
  // @ts-expect-error a wrong type far below
  await recursive.tree({ root: { name: "a", children: [{ name: 3 }] } });
}
"#;
    fs::write(dir.path().join("usage.ts"), usage).unwrap();
    assert_sound(&check_types(&dir));
}
