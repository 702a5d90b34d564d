//! Reads any JSON as each of the things that a server sends: never a panic, and what was read is whole: written again it
//! is what came, but for white space between members.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_wire::page::Page;
use mcp_wire::prompt::Prompt;
use mcp_wire::resource::{Resource, ResourceTemplate};
use mcp_wire::result::spell;
use mcp_wire::task::Task;
use mcp_wire::{Answer, CallResult, InputRequired, Object, Outcome, Question, Raw, Revision, Tool};

const REVISIONS: [Revision; 5] = [
    Revision::V2024_11_05,
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

fuzz_target!(|data: &[u8]| {
    let Ok(raw) = Raw::parse_bytes(data) else {
        return;
    };
    let _read_or_refused = (raw.value(), raw.number(), raw.integer(), raw.string());
    if let Ok(elements) = raw.array() {
        let (tools, aside) = Tool::parse_all(&elements);
        assert_eq!(tools.len() + aside.len(), elements.len());
    }
    let Ok(object) = raw.object() else {
        return;
    };
    let written = Raw::from(object.clone());
    assert_eq!(Raw::parse(written.as_str()).as_ref(), Ok(&written));
    // Without white space between its tokens, the text itself.
    if !data.iter().any(u8::is_ascii_whitespace) {
        assert_eq!(written.as_str().as_bytes(), data);
    }
    outcome(&raw, &written);
    tool(&raw, &written);
    if let Ok(result) = CallResult::parse(object.clone()) {
        assert_eq!(Raw::from(result.raw().clone()), written);
        let _shown = result.joined_text();
        spelled(&object);
    }
    for member in [
        "tools",
        "resources",
        "resourceTemplates",
        "prompts",
        "tasks",
    ] {
        if let Ok(page) = Page::parse(&raw, member) {
            assert!(
                page.elements
                    .iter()
                    .all(|element| raw.as_str().contains(element.as_str()))
            );
        }
    }
    let _read_or_refused = (
        Resource::parse(&raw).is_ok(),
        ResourceTemplate::parse(&raw).is_ok(),
        Prompt::parse(&raw).is_ok(),
    );
    questions(&object, &raw);
});

fn outcome(raw: &Raw, written: &Raw) {
    match Outcome::parse(raw) {
        Ok(Outcome::Complete(object)) => assert_eq!(&Raw::from(object), written),
        Ok(Outcome::InputRequired(round)) => asked(&round, written),
        Ok(Outcome::Task(task)) => {
            let _asked = task.questions();
        }
        Err(_) => {}
    }
    if let Ok(task) = Task::parse(raw) {
        assert_eq!(&Raw::from(task.raw().clone()), written);
    }
}

fn asked(round: &InputRequired, written: &Raw) {
    assert_eq!(&Raw::from(round.raw().clone()), written);
    if let Some(state) = &round.state {
        assert!(written.as_str().contains(state.as_str()));
    }
}

fn tool(raw: &Raw, written: &Raw) {
    let Ok(tool) = Tool::parse(raw) else {
        return;
    };
    assert_eq!(&Raw::from(tool.raw().clone()), written);
    let _seen = (
        tool.title(),
        tool.description(),
        tool.hints(),
        tool.task_support(),
        tool.param_headers(),
    );
    for revision in REVISIONS {
        let spelled = Raw::from(tool.spelled_for(revision));
        let again = Tool::parse(&spelled).expect("a tool that is spelled down is a tool");
        assert_eq!(again.name, tool.name);
        assert_eq!(Raw::from(again.spelled_for(revision)), spelled);
    }
}

/// Spelling a result twice is spelling it once.
fn spelled(object: &Object) {
    for revision in REVISIONS {
        let mut once = object.clone();
        spell(&mut once, revision, None);
        let mut twice = once.clone();
        spell(&mut twice, revision, None);
        assert_eq!(once, twice);
    }
}

fn questions(params: &Object, raw: &Raw) {
    for method in [
        "elicitation/create",
        "sampling/createMessage",
        "roots/list",
        "x",
    ] {
        let Ok(question) = Question::parse(method, params) else {
            continue;
        };
        let again = Question::parse(question.method(), &question.params(true));
        assert_eq!(again.as_ref(), Ok(&question));
        if let Ok(answer) = Answer::parse(&question, raw) {
            let sent = answer
                .clone()
                .into_result()
                .expect("only a failure is an error");
            assert!(Answer::parse(&question, &sent) == Ok(answer));
        }
    }
}
