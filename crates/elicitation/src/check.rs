//! Checks answers: what a person typed for one field, and what a program sends for all of them.
//!
//! No reason repeats what it refuses, because that may be a secret. Reasons hold our words and the server's.

use std::fmt;

use serde_json::{Map, Value};

use crate::answers::Answers;
use crate::field::{Field, Kind};
use crate::form::Form;
use crate::schema::MAX_LABEL;
use crate::shown::Shown;

/// Longest text that is taken from a person, in bytes.
const MAX_TYPED: usize = 64 * 1024;
/// Most findings about one set of answers.
const MAX_FINDINGS: usize = 100;

/// Why an answer was not taken, in a few words; never the answer itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// Returns the reason.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn expected(what: &str) -> Self {
        Self(format!("expected {what}"))
    }

    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that is wrong with a set of answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {reason}")]
pub struct FieldError {
    /// The name of the field, as it was given.
    pub field: Shown,
    /// What is wrong.
    pub reason: Reason,
}

impl Field {
    /// Returns the value that a typed text stands for.
    ///
    /// Yes and no are taken in the usual words, choices by label, value or number, several with commas between.
    ///
    /// # Errors
    ///
    /// The [`Reason`] why the text is no answer to this field; the person's fault, and another try helps.
    pub fn check(&self, typed: &str) -> Result<Value, Reason> {
        if typed.len() > MAX_TYPED {
            return Err(Reason::expected("a shorter text, at most 64 KiB"));
        }
        let value = match &self.kind {
            Kind::Text(rule) => rule.parse(typed),
            Kind::Number(rule) => rule.parse(typed)?,
            Kind::YesNo => yes_or_no(typed)?,
            Kind::One(choices) => choices.parse(typed)?,
            Kind::Several { choices, .. } => Value::Array(choices.parse_several(typed)?),
        };
        self.accept(&value)
    }

    /// Returns a value as it is sent, if it is an answer to this field.
    pub(crate) fn accept(&self, value: &Value) -> Result<Value, Reason> {
        if value.is_null() && self.is_nullable {
            return Ok(Value::Null);
        }
        match &self.kind {
            Kind::Text(rule) => match value.as_str() {
                Some(text) => rule.accept(text),
                None => Err(Reason::expected(&rule.expects())),
            },
            Kind::Number(rule) => rule.accept(value),
            Kind::YesNo => match value {
                Value::Bool(_) => Ok(value.clone()),
                _ => Err(Reason::expected(&self.expects())),
            },
            Kind::One(choices) => {
                let choice = choices
                    .of(value)
                    .ok_or_else(|| Reason::expected(&choices.expects()))?;
                Ok(choice.value().clone())
            }
            Kind::Several { .. } => self.accept_several(value),
        }
    }

    fn accept_several(&self, value: &Value) -> Result<Value, Reason> {
        let Kind::Several {
            choices,
            min,
            max,
            is_unique,
        } = &self.kind
        else {
            return Err(Reason::expected(&self.expects()));
        };
        let values = value
            .as_array()
            .ok_or_else(|| Reason::expected(&self.expects()))?;
        let count = values.len() as u64;
        if count < *min || max.is_some_and(|max| count > max) {
            return Err(Reason::expected(&self.expects()));
        }
        let mut sent: Vec<Value> = Vec::new();
        for value in values {
            let choice = choices
                .of(value)
                .ok_or_else(|| Reason::expected(&choices.expects_several()))?;
            if *is_unique && sent.contains(choice.value()) {
                return Err(Reason::expected("each choice at most once"));
            }
            sent.push(choice.value().clone());
        }
        Ok(Value::Array(sent))
    }
}

impl Form {
    /// Checks answers that a program gives, an object with a value for each field.
    ///
    /// Numbers that are whole are sent so; the order is that of the form. A key that the form does not ask for is
    /// refused, although JSON Schema would let it pass: it is a misspelt field more often than a wish of the server's.
    /// Defaults are not filled in; see [`Form::with_defaults`].
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at most a hundred findings; the fault of who answered.
    pub fn validate(&self, content: &Value) -> Result<Answers, Vec<FieldError>> {
        let Some(content) = content.as_object() else {
            return Err(vec![FieldError {
                field: Shown::line("the answers", MAX_LABEL),
                reason: Reason::expected("an object with a value for each field"),
            }]);
        };
        self.collect(content.keys(), |field| {
            content.get(field.name()).map(|value| field.accept(value))
        })
    }

    /// Checks answers that were typed as pairs of name and text, each read by its field.
    ///
    /// # Errors
    ///
    /// As [`Form::validate`]. Of two texts for one field the second is refused.
    pub fn check_pairs(&self, pairs: &[(&str, &str)]) -> Result<Answers, Vec<FieldError>> {
        self.collect(pairs.iter().map(|(name, _)| name), |field| {
            let mut texts = pairs.iter().filter(|(name, _)| *name == field.name());
            let first = texts.next().map(|(_, typed)| field.check(typed));
            if texts.next().is_some() {
                return Some(Err(Reason::new("answered twice")));
            }
            first
        })
    }

    /// Returns answers completed by the defaults of the fields that they leave out.
    pub fn with_defaults(&self, mut content: Map<String, Value>) -> Map<String, Value> {
        for field in self.fields() {
            if let Some(default) = &field.default
                && !content.contains_key(field.name())
            {
                content.insert(field.name().to_owned(), default.clone());
            }
        }
        content
    }

    fn collect<N: AsRef<str>>(
        &self,
        names: impl Iterator<Item = N>,
        answer: impl Fn(&Field) -> Option<Result<Value, Reason>>,
    ) -> Result<Answers, Vec<FieldError>> {
        let mut wrong: Vec<FieldError> = names
            .filter(|name| self.field(name.as_ref()).is_none())
            .take(MAX_FINDINGS)
            .map(|name| FieldError {
                field: Shown::line(name.as_ref(), MAX_LABEL),
                reason: self.why_not_asked(name.as_ref()),
            })
            .collect();
        let mut answers = Answers::default();
        for field in self.fields() {
            let reason = match answer(field) {
                Some(Ok(value)) => {
                    answers.add(field, value);
                    continue;
                }
                Some(Err(reason)) => reason,
                None if field.is_required() => Reason::new("needs an answer"),
                None => continue,
            };
            wrong.push(FieldError {
                field: field.name_shown().clone(),
                reason,
            });
        }
        wrong.truncate(MAX_FINDINGS);
        if wrong.is_empty() {
            Ok(answers)
        } else {
            Err(wrong)
        }
    }

    fn why_not_asked(&self, name: &str) -> Reason {
        match self
            .left_out()
            .iter()
            .find(|left_out| left_out.name == name)
        {
            Some(left_out) => Reason::new(format!("left out of the form: {}", left_out.why)),
            None => Reason::new("the form has no such field"),
        }
    }
}

fn yes_or_no(typed: &str) -> Result<Value, Reason> {
    match typed.trim().to_lowercase().as_str() {
        "yes" | "y" | "true" | "on" | "1" => Ok(Value::Bool(true)),
        "no" | "n" | "false" | "off" | "0" => Ok(Value::Bool(false)),
        _ => Err(Reason::expected("yes or no")),
    }
}

#[cfg(test)]
mod tests;
