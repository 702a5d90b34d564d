//! One field of a form.

use serde_json::Value;

use crate::choice::{Choices, spelled};
use crate::number::NumberRule;
use crate::schema::MAX_LABEL;
use crate::shown::Shown;
use crate::text::TextRule;

/// What a field takes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Any text within the rule.
    Text(TextRule),
    /// A number within the rule.
    Number(NumberRule),
    /// Yes or no.
    YesNo,
    /// One of several values.
    One(Choices),
    /// Some of several values.
    Several {
        /// What to choose from.
        choices: Choices,
        /// Fewest values.
        min: u64,
        /// Most values, if that is limited.
        max: Option<u64>,
        /// No value may be sent twice.
        is_unique: bool,
    },
}

/// One field of a form. Holds what the server asked, never what was answered.
#[derive(Clone, Debug)]
pub struct Field {
    pub(crate) name: String,
    pub(crate) name_shown: Shown,
    pub(crate) title: Shown,
    pub(crate) description: Shown,
    pub(crate) is_required: bool,
    pub(crate) is_nullable: bool,
    pub(crate) is_secret: bool,
    pub(crate) kind: Kind,
    /// Satisfies the field: one that does not is dropped when the schema is read.
    pub(crate) default: Option<Value>,
    pub(crate) unchecked: Vec<Shown>,
}

impl Field {
    /// Returns the name on the wire, as the server wrote it; not for a terminal.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name for a person; empty if it is.
    pub fn name_shown(&self) -> &Shown {
        &self.name_shown
    }

    /// Returns what a person knows the field by: its title, or else its name; empty if both are.
    pub fn label(&self) -> &Shown {
        if self.title.is_empty() {
            &self.name_shown
        } else {
            &self.title
        }
    }

    /// Returns the description; empty if there is none.
    pub fn description(&self) -> &Shown {
        &self.description
    }

    /// Returns what the field takes.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Says whether the form cannot be sent without it.
    pub fn is_required(&self) -> bool {
        self.is_required
    }

    /// Says whether it may be passed over: optional, or sent as null.
    pub fn can_be_skipped(&self) -> bool {
        !self.is_required || self.is_nullable
    }

    /// Says whether it asks for a password or a key, by its format or its name: hide it while it is typed, and warn,
    /// because servers must not ask for those in a form.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// Returns what the schema demands and is not checked here, such as `format hostname`.
    pub fn unchecked(&self) -> &[Shown] {
        &self.unchecked
    }

    /// Returns the choices, if the field has any.
    pub fn choices(&self) -> Option<&Choices> {
        match &self.kind {
            Kind::One(choices) | Kind::Several { choices, .. } => Some(choices),
            Kind::Text(_) | Kind::Number(_) | Kind::YesNo => None,
        }
    }

    /// Returns the server's default for a person: the labels of choices, yes and no, text in one line.
    pub fn default_shown(&self) -> Option<Shown> {
        let label = |value: &Value| {
            let choice = self.choices().and_then(|choices| choices.of(value));
            choice.map_or_else(|| spelled(value), |choice| choice.label().to_string())
        };
        let default = self.default.as_ref()?;
        let text = match default {
            Value::Array(values) if values.is_empty() => "none".to_owned(),
            Value::Array(values) => values.iter().map(label).collect::<Vec<_>>().join(", "),
            value => label(value),
        };
        Some(Shown::line(&text, 2 * MAX_LABEL))
    }

    /// Says what is expected, such as `a whole number from 1 to 10`.
    pub fn expects(&self) -> String {
        match &self.kind {
            Kind::Text(rule) => rule.expects(),
            Kind::Number(rule) => rule.expects(),
            Kind::YesNo => "yes or no".into(),
            Kind::One(choices) => choices.expects(),
            Kind::Several {
                min: 0, max: None, ..
            } => "any number of choices, with commas between".into(),
            Kind::Several { min, max: None, .. } => {
                format!("at least {}, with commas between", count(*min))
            }
            Kind::Several {
                min: 0,
                max: Some(max),
                ..
            } => format!("at most {}, with commas between", count(*max)),
            Kind::Several {
                min,
                max: Some(max),
                ..
            } if min == max => format!("{}, with commas between", count(*min)),
            Kind::Several {
                min,
                max: Some(max),
                ..
            } => format!("{min} to {}, with commas between", count(*max)),
        }
    }
}

fn count(choices: u64) -> String {
    format!("{choices} choice{}", if choices == 1 { "" } else { "s" })
}
