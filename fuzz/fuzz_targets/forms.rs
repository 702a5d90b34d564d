//! Reads any JSON as a requested schema and any text as an answer: never a panic, and what a field takes the form takes.
#![no_main]

use elicitation::{Form, Interview, Outcome, Step, UrlOffer};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    // The first part is the schema, the others are answers.
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split('\n');
    let schema = parts.next().unwrap_or_default();
    let answers: Vec<&str> = parts.take(16).collect();
    let message = answers.first().copied().unwrap_or_default();

    if let Ok(offer) = UrlOffer::parse(message, schema) {
        assert!(offer.url().bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(UrlOffer::parse(message, offer.url()), Ok(offer));
    }
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return;
    };
    // Most inputs are no form, but may be a field.
    let field = json!({ "type": "object", "properties": { "a": schema }, "required": ["a"] });
    for schema in [schema, field] {
        let Ok(form) = Form::parse(message, &schema) else {
            continue;
        };
        for field in form.fields() {
            for answer in &answers {
                let Ok(value) = field.check(answer) else {
                    continue;
                };
                let content = json!({ field.name(): value });
                let wrong = form.validate(&content).err().unwrap_or_default();
                let others_are_missing = |reason: &str| reason == "needs an answer";
                assert!(
                    wrong
                        .iter()
                        .all(|wrong| others_are_missing(wrong.reason.as_str())),
                    "{content}: {wrong:?}"
                );
            }
        }
        interview(&form, &answers);
    }
});

/// Goes through the form with the answers in turn; what is sent has to validate.
fn interview(form: &Form, answers: &[&str]) {
    let mut answers = answers.iter().copied().chain([""]).cycle();
    let mut step = Interview::begin(form.clone());
    let outcome = loop {
        step = match step {
            Step::Ask(interview) | Step::Again(interview, _) => {
                interview.answer(answers.next().unwrap_or_default())
            }
            Step::Review(review) => break review.send(),
            Step::Done(outcome) => break outcome,
        };
    };
    if let Outcome::Accept(answers) = outcome {
        assert!(form.validate(&answers.into_wire()).is_ok());
    }
}
