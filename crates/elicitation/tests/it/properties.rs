//! What holds for every schema and every answer.

use elicitation::{Form, Interview, Outcome, Step};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::reference::satisfies;

fn small_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-4..12_i64).prop_map(Value::from),
        (-8..24_i64).prop_map(|halves| json!(halves as f64 / 2.0))
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![3 => "[a-c1-3]{0,3}".prop_map(Value::from), 2 => small_number(), 1 => any::<bool>().prop_map(Value::from), 1 => Just(Value::Null)]
}

fn keywords(
    pairs: Vec<(&'static str, BoxedStrategy<Value>)>,
) -> impl Strategy<Value = Map<String, Value>> {
    let (names, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let values: Vec<_> = values.into_iter().map(prop::option::of).collect();
    values.prop_map(move |values| {
        let stated = names
            .iter()
            .zip(values)
            .filter_map(|(name, value)| value.map(|value| ((*name).to_owned(), value)));
        stated.collect()
    })
}

fn size() -> BoxedStrategy<Value> {
    (0..4_u64).prop_map(Value::from).boxed()
}

fn titled() -> impl Strategy<Value = Value> {
    prop::collection::vec((scalar(), "[A-C1-3, ]{0,3}"), 1..5).prop_map(|choices| {
        choices
            .into_iter()
            .map(|(value, title)| json!({ "const": value, "title": title }))
            .collect()
    })
}

fn enumerated() -> impl Strategy<Value = Value> {
    prop::collection::vec(scalar(), 1..5).prop_map(Value::from)
}

fn types() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!("string"),
        json!("number"),
        json!("integer"),
        json!("boolean"),
        json!(["string", "null"]),
        json!(["integer", "null"]),
    ])
}

/// A field in one of the spellings that a form may use.
fn field() -> impl Strategy<Value = Value> {
    let plain = || {
        (
            types(),
            keywords(vec![
                ("minLength", size()),
                ("maxLength", size()),
                ("minimum", small_number().boxed()),
                ("maximum", small_number().boxed()),
                ("exclusiveMinimum", small_number().boxed()),
                ("exclusiveMaximum", small_number().boxed()),
                (
                    "multipleOf",
                    prop::sample::select(vec![json!(1), json!(2), json!(0.5)]).boxed(),
                ),
            ]),
        )
            .prop_map(|(kind, mut field)| {
                field.insert("type".into(), kind);
                Value::Object(field)
            })
    };
    let choice = || {
        keywords(vec![
            ("type", types().boxed()),
            ("maxLength", size()),
            ("maximum", small_number().boxed()),
        ])
    };
    let one = || {
        prop_oneof![
            (choice(), enumerated()).prop_map(|(mut field, values)| {
                field.insert("enum".into(), values);
                Value::Object(field)
            }),
            (
                choice(),
                titled(),
                prop::sample::select(vec!["oneOf", "anyOf"])
            )
                .prop_map(|(mut field, values, key)| {
                    field.insert(key.into(), values);
                    Value::Object(field)
                }),
            (choice(), scalar()).prop_map(|(mut field, value)| {
                field.insert("const".into(), value);
                Value::Object(field)
            }),
        ]
    };
    let several = (
        one(),
        keywords(vec![
            ("minItems", size()),
            ("maxItems", size()),
            ("uniqueItems", any::<bool>().prop_map(Value::from).boxed()),
        ]),
    )
        .prop_map(|(items, mut field)| {
            field.insert("type".into(), json!("array"));
            field.insert("items".into(), items);
            Value::Object(field)
        });
    prop_oneof![
        3 => plain(),
        3 => one(),
        2 => several,
        1 => plain().prop_map(|inner| json!({ "anyOf": [inner, { "type": "null" }] })),
        1 => one().prop_map(|inner| json!({ "allOf": [inner], "title": "t" })),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    (prop::collection::vec(field(), 1..4), any::<[bool; 4]>()).prop_map(|(fields, required)| {
        let name = |at: usize| format!("f{at}");
        let properties: Map<_, _> = fields
            .into_iter()
            .enumerate()
            .map(|(at, field)| (name(at), field))
            .collect();
        let required: Vec<_> = (0..properties.len())
            .filter(|at| required[*at])
            .map(name)
            .collect();
        json!({ "type": "object", "properties": properties, "required": required })
    })
}

fn content() -> impl Strategy<Value = Value> {
    let value = || prop_oneof![3 => scalar(), 1 => prop::collection::vec(scalar(), 0..4).prop_map(Value::from)];
    prop::collection::btree_map("f[0-3]", value(), 0..4)
        .prop_map(|content| content.into_iter().collect::<Map<_, _>>().into())
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "type",
            "properties",
            "required",
            "enum",
            "enumNames",
            "const",
            "oneOf",
            "anyOf",
            "allOf",
            "items",
            "$ref",
            "title",
            "default",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "multipleOf",
            "minItems",
            "maxItems",
            "format",
            "pattern",
            "a",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    let word = prop::sample::select(vec![
        "object",
        "string",
        "integer",
        "number",
        "boolean",
        "array",
        "null",
        "#",
        "#/properties/a",
        "email",
        "date-time",
        "[",
        "^a+$",
    ]);
    let leaf = prop_oneof![
        word.prop_map(Value::from),
        scalar(),
        any::<String>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from)
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|object| object.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

/// Types every text into every field; whatever is taken has to satisfy the form.
fn consistent(form: &Form, texts: &[String]) -> Result<(), TestCaseError> {
    for field in form.fields() {
        let choices = field
            .choices()
            .into_iter()
            .flat_map(|choices| choices.list());
        let labels = choices.map(|choice| choice.label().to_string());
        for text in texts.iter().cloned().chain(labels.take(5)) {
            if let Ok(value) = field.check(&text) {
                let wrong = form
                    .validate(&json!({ field.name(): value }))
                    .err()
                    .unwrap_or_default();
                let about_it = wrong
                    .iter()
                    .find(|wrong| wrong.reason.as_str() != "needs an answer");
                prop_assert!(
                    about_it.is_none(),
                    "{text:?} gave {value}, and {about_it:?}"
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn validate_accepts_exactly_what_json_schema_does(schema in schema(), contents in prop::collection::vec(content(), 1..8)) {
        if let Ok(form) = Form::parse("", &schema) {
            prop_assume!(form.left_out().is_empty());
            for content in contents {
                let accepted = form.validate(&content);
                prop_assert_eq!(accepted.is_ok(), satisfies(&schema, &schema, &content), "{} for {}: {:?}", content, schema, accepted);
            }
        }
    }

    #[test]
    fn what_is_sent_satisfies_the_schema_and_is_accepted_again(schema in schema(), content in content()) {
        if let Ok(form) = Form::parse("", &schema)
            && let Ok(answers) = form.validate(&content)
        {
            let wire = answers.into_wire();
            prop_assert!(satisfies(&schema, &schema, &wire), "{} for {}", wire, schema);
            prop_assert_eq!(form.validate(&wire).unwrap().into_wire(), wire);
        }
    }

    #[test]
    fn what_a_field_takes_the_form_takes(schema in schema(), texts in prop::collection::vec(prop_oneof!["[a-c1-3,. -]{0,5}", Just("yes".to_owned()), Just("none".to_owned())], 1..8)) {
        if let Ok(form) = Form::parse("", &schema) {
            consistent(&form, &texts)?;
        }
    }

    #[test]
    fn no_schema_and_no_answer_panics(schema in any_json(), property in any_json(), texts in prop::collection::vec(any::<String>(), 0..4)) {
        drop(Form::parse("", &schema));
        let schema = json!({ "type": "object", "properties": { "a": property, "b": schema } });
        if let Ok(form) = Form::parse(&texts.concat(), &schema) {
            consistent(&form, &texts)?;
            prop_assert_eq!(form.fields().len() + form.left_out().len(), 2);
        }
    }

    #[test]
    fn an_interview_sends_what_validates(schema in schema(), texts in prop::collection::vec("[a-c1-3]{0,3}", 1..9)) {
        let Ok(form) = Form::parse("", &schema) else { return Ok(()) };
        let mut step = Interview::begin(form.clone());
        let mut texts = texts.iter().cycle();
        let outcome = loop {
            step = match step {
                Step::Ask(interview) | Step::Again(interview, _) => interview.answer(texts.next().unwrap()),
                Step::Review(review) => break review.send(),
                Step::Done(outcome) => break outcome,
            };
        };
        if let Outcome::Accept(answers) = outcome {
            let wire = answers.into_wire();
            prop_assert!(form.validate(&wire).is_ok(), "{} for {}", wire, schema);
        }
    }
}
