//! Providers as a person configures them: what they cost, how long they may be silent, whose keys are hidden.

use serde_json::json;
use testkit::{Answer, FakeModel};

use crate::harness::Cox;

/// Adds lines to the table of the fake provider, which is the last one.
fn configured(cox: &Cox, lines: &str) {
    let path = cox.home.path().join(".cox/config.toml");
    let config = std::fs::read_to_string(path).unwrap();
    cox.home.write(".cox/config.toml", config + lines);
}

#[test]
fn a_server_of_this_machine_without_a_key_costs_nothing() {
    let model = FakeModel::start([Answer::text("hello")]);
    let cox = Cox::with_model(&model);
    let ran = cox.run(&["run", "-p", "hi", "--output-format", "stream-json"]);
    assert!(!ran.stdout.contains("no price"), "{ran}");
    let result = ran.json_lines().pop().unwrap();
    assert_eq!(result["cost_usd"], json!(0.0), "{ran}");
    let stats = cox.run(&["stats"]);
    assert!(!stats.stdout.contains("price"), "{stats}");
}

#[test]
fn a_server_with_a_key_has_the_price_of_its_model_or_none() {
    let model = FakeModel::start([Answer::text("hello")]);
    let cox = Cox::with_model(&model).variable("FAKE_KEY", "a-key-of-the-fake-server");
    configured(&cox, "api_key_env = \"FAKE_KEY\"\n");
    let ran = cox.run(&["run", "-p", "hi", "--output-format", "stream-json"]);
    assert!(ran.stdout.contains("no price is known"), "{ran}");
    assert_eq!(
        ran.json_lines().pop().unwrap()["cost_usd"],
        json!(null),
        "{ran}"
    );
}

#[test]
fn silence_within_an_answer_has_a_limit_of_its_own() {
    let model = FakeModel::start([Answer::text("half and half")
        .one_byte_chunks()
        .stall_after(2)]);
    let cox = Cox::with_model(&model);
    configured(&cox, "timeout_s = 1\nidle_timeout_s = 1\nmax_retries = 0\n");
    let ran = cox.run(&["run", "-p", "hi"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("was silent for 1 s"),
        "{ran}"
    );
}

#[test]
fn an_answer_that_was_cut_is_told_with_what_followed() {
    let model = FakeModel::start([
        Answer::raw_stream(
            "data: {\"choices\":[{\"delta\":{\"content\":\"The first half.\"},\"finish_reason\":\"length\"}]}\n\n",
        ),
        Answer::text("The second half."),
    ]);
    let cox = Cox::with_model(&model);
    let ran = cox.run(&["run", "-p", "hi"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "The first half.\nThe second half.\n"),
        "{ran}"
    );
}

#[test]
fn an_empty_answer_is_no_success() {
    let nothing = || {
        Answer::raw_stream("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
    };
    let model = FakeModel::start([nothing(), nothing(), nothing()]);
    let cox = Cox::with_model(&model);
    let ran = cox.run(&["run", "-p", "hi"]);
    assert!(
        ran.code == 1 && ran.stderr.contains("the model answered nothing 3 times"),
        "{ran}"
    );
}

#[test]
fn the_key_of_another_provider_is_hidden_as_well() {
    let key = "the odd key of another provider";
    let model = FakeModel::start([
        Answer::call("c1", "read", json!({ "path": "notes.txt" })),
        Answer::text("done"),
    ]);
    let cox = Cox::with_model(&model).variable("OPENROUTER_API_KEY", key);
    cox.work.write("notes.txt", format!("key = {key}\n"));
    let ran = cox.run(&["run", "-p", "hi", "--output-format", "stream-json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.stdout.contains(key), "{ran}");
    assert!(!model.requests()[1].text.contains(key));
}

#[test]
fn a_damaged_line_of_the_record_does_not_make_the_conversation_invalid() {
    let model = FakeModel::start([
        Answer::call("c1", "read", json!({ "path": "notes.txt" })),
        Answer::text("done"),
    ]);
    let cox = Cox::with_model(&model);
    cox.work.write("notes.txt", "remember the milk\n");
    cox.run(&["run", "-p", "go"]);
    let folder = cox.home.path().join(".cox/sessions");
    let file = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .unwrap();
    let record = std::fs::read_to_string(&file).unwrap();
    let damaged: String = record
        .split_inclusive('\n')
        .map(|line| match line.contains("\"tool_results\"") {
            true => "\0\0\0\n",
            false => line,
        })
        .collect();
    assert_ne!(damaged, record);
    std::fs::write(&file, damaged).unwrap();
    model.push(Answer::text("I go on."));
    let ran = cox.run(&["run", "-p", "go on", "--continue"]);
    assert_eq!(ran.code, 0, "{ran}");
    let body = model.requests().pop().unwrap().body;
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "assistant", "user"],
        "{body:#}"
    );
}
