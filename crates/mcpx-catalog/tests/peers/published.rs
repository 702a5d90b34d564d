//! What is published, judged by an independent validator.

use std::fs;
use std::process::Command;

use mcpx_catalog::published::{json_schema, openapi};
use mcpx_catalog::typescript::Namespace;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{corpus, corpus_files};

/// Says of each document what the meta-schema of 2020-12 does not take, and which references lead nowhere.
const JUDGE: &str = r##"
import json, sys
import jsonschema
judge = jsonschema.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)
wrong = []
def references(value, at):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str) and value["$ref"].startswith("#"):
            yield value["$ref"]
        for name, below in value.items():
            if name not in ("enum", "const", "default", "examples"):
                yield from references(below, at)
    elif isinstance(value, list):
        for below in value:
            yield from references(below, at)
def leads(document, reference):
    from urllib.parse import unquote
    for token in unquote(reference[1:]).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        document = document[int(token)] if isinstance(document, list) else document.get(token)
        if document is None:
            return False
    return True
for path in sys.argv[1:]:
    document = json.load(open(path))
    schemas = document.get("$defs") or document["components"]["schemas"]
    for name, schema in schemas.items():
        wrong += [f"{path} {name}: {error.message[:200]}" for error in judge.iter_errors(schema)]
        wrong += [f"{path} {name}: {one}" for one in references(schema, name) if not leads(document, one)]
print(json.dumps(wrong))
"##;

#[test]
fn every_published_schema_is_one_of_2020_12_and_whole() {
    let dir = TempDir::new().unwrap();
    let mut command = Command::new(testkit::peers::mcp::python());
    command.args(["-c", JUDGE]);
    for path in corpus_files() {
        let tools = corpus(&path);
        let space = [Namespace {
            server: "n",
            tools: &tools,
            ..Namespace::default()
        }];
        for (kind, document) in [
            ("schema", json_schema(&space)),
            ("openapi", openapi(&space, "1")),
        ] {
            let name = format!(
                "{}.{kind}.json",
                path.file_stem().unwrap().to_str().unwrap()
            );
            fs::write(dir.path().join(&name), document.to_string()).unwrap();
            command.arg(name);
        }
    }
    let output = command.current_dir(dir.path()).output().unwrap();
    let wrong: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(wrong, json!([]));
}
