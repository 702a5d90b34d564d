//! Somebody comes with the `.mcp.json` of another host, and asks for the first time.

use serde_json::{Value, json};
use testkit::mcp::CommandLine;
use testkit::peers::mcp::{filesystem, memory};

use crate::hub::{Hub, Ran};

/// An entry as other hosts write it, without any key of ours.
fn entry(line: &CommandLine) -> Value {
    json!({ "type": "stdio", "command": line.program, "args": line.args, "env": {} })
}

#[test]
fn the_list_of_another_host_gives_answers() {
    let hub = Hub::new(&json!({}));
    let notes = hub.home.write("project/notes.txt", "the hub was here\n");
    let project = notes.parent().unwrap().to_owned();
    let list = json!({ "mcpServers": {
        "filesystem": entry(&filesystem(&project)),
        "memory": entry(&memory(&project.join("graph.jsonl"))),
    } });
    hub.home.write("project/.mcp.json", format!("{list:#}"));
    let run = |args: &[&str]| -> Ran { hub.command_in(&project, args).output().unwrap().into() };
    let ok = |args: &[&str]| {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.out
    };
    // Nothing is started before the person says so, and it is said what to do.
    let listed = run(&["ls"]);
    assert!(
        listed.out.contains("filesystem") && listed.out.contains("untrusted"),
        "{listed:?}"
    );
    let path = format!("path={}", notes.display());
    let read = ["call", "filesystem.read_text_file", &path];
    let refused = run(&read);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("mcpx servers trust"), "{refused:?}");
    assert!(hub.processes_with("server-").is_empty());
    ok(&["servers", "trust", "--yes"]);
    assert!(ok(&["ls"]).contains("memory"));
    let found = ok(&["search", "read text file"]);
    assert!(found.contains("filesystem.read_text_file"), "{found}");
    let types = ok(&["types", "filesystem"]);
    assert!(
        types.contains("read_text_file") && types.contains("path: string"),
        "{types}"
    );
    assert!(ok(&read).contains("the hub was here"));
    let entity = json!({ "name": "hub", "entityType": "program", "observations": ["new"] });
    let entities = json!({ "entities": [entity] }).to_string();
    ok(&["call", "memory.create_entities", &entities]);
    assert!(ok(&["call", "memory.read_graph"]).contains("program"));
    // Both ways of spelling arguments, and what is wrong is named.
    let wrong = run(&["call", "filesystem.read_text_flie", &path]);
    assert!(wrong.err.contains("filesystem.read_text_file"), "{wrong:?}");
}
