//! What a project may do with a key: nothing, narrow it, or set it.

use toml::Value;

use crate::{KeySpec, Kind, Project};

/// Says why a project's value is not taken, if it is not. `below` is the value without the project.
pub(crate) fn refusal(spec: &KeySpec, value: &Value, below: Option<&Value>) -> Option<String> {
    match spec.project {
        Project::Yes => None,
        Project::No => Some("a project may not set it".to_owned()),
        Project::NarrowOnly if is_narrower(spec.kind, value, below) => None,
        Project::NarrowOnly => match below {
            Some(below) => Some(format!(
                "a project may only narrow it, and it is {below} without the project"
            )),
            None => Some(
                "a project may only narrow it, and it is not set without the project".to_owned(),
            ),
        },
    }
}

fn is_narrower(kind: Kind, value: &Value, below: Option<&Value>) -> bool {
    match kind {
        Kind::AddedList | Kind::AddedRecords { .. } => true,
        Kind::Switch => {
            value.as_bool() == Some(false) || below.and_then(Value::as_bool) == Some(true)
        }
        Kind::Count { .. } | Kind::Number { .. } => {
            matches!((number(Some(value)), number(below)), (Some(value), Some(below)) if value <= below)
        }
        Kind::Choice(words) => {
            let rank = |value: &Value| words.iter().position(|word| Some(*word) == value.as_str());
            matches!((rank(value), below.and_then(rank)), (Some(value), Some(below)) if value <= below)
        }
        Kind::Text | Kind::List | Kind::Any => false,
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}
