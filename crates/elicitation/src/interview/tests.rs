use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Interview, MAX_EDITS, MAX_TRIES, OnEnter, Review, Step};
use crate::answers::Outcome;
use crate::form::Form;

fn begin(properties: &Value, required: &[&str]) -> Step {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Interview::begin(Form::parse("Why?", &schema).unwrap())
}

#[track_caller]
fn asked(step: Step) -> Interview {
    match step {
        Step::Ask(interview) => interview,
        other => panic!("expected a question, got {other:?}"),
    }
}

#[track_caller]
fn again(step: Step) -> (Interview, String) {
    match step {
        Step::Again(interview, reason) => (interview, reason.to_string()),
        other => panic!("expected the same question, got {other:?}"),
    }
}

#[track_caller]
fn review(step: Step) -> Review {
    match step {
        Step::Review(review) => review,
        other => panic!("expected the review, got {other:?}"),
    }
}

#[track_caller]
fn sent(step: Step) -> Value {
    match review(step).send() {
        Outcome::Accept(answers) => answers.into_wire(),
        other => panic!("expected answers, got {other:?}"),
    }
}

#[test]
fn fields_are_asked_in_order_and_said_where_one_is() {
    let first = asked(begin(
        &json!({ "z": { "type": "string", "title": "Zed" }, "a": { "type": "boolean" } }),
        &["z"],
    ));
    let question = first.prompt();
    assert_eq!(
        (question.message.as_str(), question.field.label().as_str()),
        ("Why?", "Zed")
    );
    assert_eq!(
        (question.position, question.count, question.tries_left),
        (1, 2, MAX_TRIES)
    );
    assert_eq!(question.on_enter, OnEnter::AskAgain);
    let second = asked(first.answer("x"));
    assert_eq!(
        (second.prompt().position, second.prompt().on_enter),
        (2, OnEnter::Skip)
    );
    let review = review(second.skip());
    let names = |fields: Vec<&crate::Field>| {
        fields
            .into_iter()
            .map(|field| field.label().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(review.sent().collect()), ["Zed"]);
    assert_eq!(names(review.skipped().collect()), ["a"]);
}

#[test]
fn enter_takes_the_default_and_in_an_edit_keeps_the_last_answer() {
    let properties = json!({
        "n": { "type": "integer", "default": 42 },
        "t": { "type": "string" },
        "o": { "type": "string", "default": "d" },
    });
    let first = asked(begin(&properties, &["n", "t"]));
    assert_eq!(first.prompt().on_enter, OnEnter::TakeDefault);
    let third = asked(asked(first.answer("")).answer("typed"));
    let edit = asked(review(third.skip()).edit());
    assert_eq!(edit.prompt().on_enter, OnEnter::KeepLast);
    let second = asked(edit.answer("7"));
    let third = asked(second.answer("  "));
    assert_eq!(third.prompt().on_enter, OnEnter::Skip);
    assert_eq!(sent(third.answer("")), json!({ "n": 7, "t": "typed" }));
}

#[test]
fn a_bad_answer_is_asked_again_with_the_reason_and_then_declined() {
    let first = asked(begin(
        &json!({ "n": { "type": "integer", "minimum": 1 } }),
        &["n"],
    ));
    let (second, reason) = again(first.answer("0"));
    assert_eq!(reason, "expected a whole number of at least 1");
    let (third, reason) = again(second.answer(""));
    assert_eq!(reason, "expected a whole number of at least 1");
    assert_eq!(third.prompt().tries_left, 1);
    assert!(matches!(third.skip(), Step::Done(Outcome::Decline)));
}

#[test]
fn a_required_field_is_not_skipped_unless_null_is_an_answer() {
    let (_, reason) = again(asked(begin(&json!({ "t": { "type": "string" } }), &["t"])).skip());
    assert_eq!(reason, "the server needs an answer here");
    let null = json!({ "t": { "type": ["string", "null"] } });
    assert_eq!(
        sent(asked(begin(&null, &["t"])).skip()),
        json!({ "t": null })
    );
    assert_eq!(sent(asked(begin(&null, &[])).skip()), json!({}));
}

#[test]
fn a_form_without_fields_is_only_agreed_to() {
    let review = review(begin(&json!({}), &[]));
    assert!(!review.can_edit());
    let Step::Review(review) = review.edit() else {
        panic!("nothing to edit")
    };
    assert!(matches!(review.send(), Outcome::Accept(answers) if answers.names().is_empty()));
}

#[test]
fn editing_ends() {
    let mut step = begin(&json!({ "t": { "type": "string" } }), &["t"]);
    for _ in 0..=MAX_EDITS {
        let review = review(asked(step).answer("x"));
        step = review.edit();
    }
    assert!(!review(step).can_edit());
}

#[test]
fn a_person_may_decline_or_cancel_at_any_time() {
    let begin = || asked(begin(&json!({ "t": { "type": "string" } }), &[]));
    assert_eq!(begin().decline().word(), "decline");
    assert_eq!(begin().cancel().word(), "cancel");
    assert_eq!(review(begin().skip()).decline().word(), "decline");
    assert_eq!(review(begin().skip()).cancel().word(), "cancel");
    assert_eq!(review(begin().skip()).send().word(), "accept");
    assert_eq!(Outcome::NoAnswer.word(), "no answer");
}

#[test]
fn no_state_prints_what_was_typed() {
    let properties = json!({ "name": { "type": "string" }, "pass\u{1b}": { "type": "string" } });
    let second = asked(asked(begin(&properties, &[])).answer("hunter2"));
    assert_eq!(format!("{second:?}"), "Interview[field 2 of 2, round 1]");
    let step = second.answer("hunter2");
    assert!(!format!("{step:?}").contains("hunter2"));
    let outcome = review(step).send();
    assert_eq!(format!("{outcome:?}"), "Accept(Answers[name, pass␛])");
}

#[derive(Clone, Debug)]
enum Act {
    Answer(String),
    Skip,
}

proptest! {
    #[test]
    fn an_interview_always_ends(acts in prop::collection::vec(prop_oneof![any::<String>().prop_map(Act::Answer), Just(Act::Answer("1".into())), Just(Act::Skip)], 1..9)) {
        let properties = json!({ "a": { "type": "integer" }, "b": { "enum": ["1", "2"] }, "c": { "type": "string", "minLength": 2 } });
        let mut step = begin(&properties, &["a", "b"]);
        let mut questions = 0;
        for act in acts.iter().cycle() {
            step = match step {
                Step::Ask(interview) | Step::Again(interview, _) => {
                    questions += 1;
                    match act {
                        Act::Answer(typed) => interview.answer(typed),
                        Act::Skip => interview.skip(),
                    }
                }
                Step::Review(review) if review.can_edit() => review.edit(),
                Step::Review(_) | Step::Done(_) => break,
            };
        }
        prop_assert!(questions <= 3 * usize::from(MAX_TRIES) * (1 + usize::from(MAX_EDITS)));
    }
}
