//! What a person answered, and the only way out of it.

use std::fmt;

use serde_json::{Map, Value};

use crate::field::Field;
use crate::shown::Shown;

/// Answers to a form, each accepted by its field. They go to the server that asked and nowhere else.
///
/// There is no way to print or store them by accident. They do not serialise:
///
/// ```compile_fail,E0277
/// fn store(answers: &elicitation::Answers) -> String {
///     serde_json::to_string(answers).unwrap_or_default()
/// }
/// ```
///
/// They do not display:
///
/// ```compile_fail,E0277
/// fn print(answers: &elicitation::Answers) -> String {
///     format!("{answers}")
/// }
/// ```
///
/// They are not copied:
///
/// ```compile_fail,E0599
/// fn copy(answers: &elicitation::Answers) -> elicitation::Answers {
///     answers.clone()
/// }
/// ```
///
/// And their debug form has the names of the fields alone:
///
/// ```
/// fn debug(answers: &elicitation::Answers) -> String {
///     format!("{answers:?}")
/// }
/// ```
#[derive(Default)]
pub struct Answers {
    content: Map<String, Value>,
    names: Vec<Shown>,
}

impl Answers {
    /// Returns the `content` of the result that goes to the server. The one way out: whoever calls it sends it there.
    pub fn into_wire(self) -> Value {
        Value::Object(self.content)
    }

    /// Returns the names of the fields that were answered, in the order of the form.
    pub fn names(&self) -> &[Shown] {
        &self.names
    }

    pub(crate) fn add(&mut self, field: &Field, value: Value) {
        self.content.insert(field.name().to_owned(), value);
        self.names.push(field.name_shown().clone());
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.names.iter().map(Shown::as_str).collect();
        write!(f, "Answers[{}]", names.join(", "))
    }
}

/// How a question ended.
#[derive(Debug)]
pub enum Outcome {
    /// The person sent answers.
    Accept(Answers),
    /// The person said no, or gave [`MAX_TRIES`](crate::MAX_TRIES) answers that do not fit.
    Decline,
    /// The person turned away without saying.
    Cancel,
    /// The deadline passed. Told by whoever keeps the time; what the server gets is theirs to decide.
    NoAnswer,
}

impl Outcome {
    /// Returns the outcome in a word, for a log: never what was answered.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Accept(_) => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
            Self::NoAnswer => "no answer",
        }
    }
}
