//! Choices: what a person sees, and the value that is sent for it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::check::Reason;
use crate::schema::MAX_LABEL;
use crate::shown::Shown;

/// Most labels that a reason lists.
const MAX_LISTED: usize = 6;
/// Most parts between commas that one label may have when several are typed.
const MAX_PARTS: usize = 16;

/// One choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    value: Value,
    label: Shown,
}

impl Choice {
    /// Returns what a person sees; no two choices of a field have the same.
    pub fn label(&self) -> &Shown {
        &self.label
    }

    /// Returns the value that is sent: text, a number, true, false or null.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// The choices of a field, never none.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    list: Vec<Choice>,
    is_numbered: bool,
}

impl Choices {
    /// Gives each value a label of its own: the title if there is one, what the value says otherwise.
    pub(crate) fn new(values: &[(Value, Option<&str>)]) -> Self {
        let says = |value: &Value| match Shown::line(&spelled(value), MAX_LABEL) {
            empty if empty.is_empty() => empty.with("(empty)"),
            says => says,
        };
        let label = |value: &Value, title: Option<&str>| {
            let title = title.map(|title| Shown::line(title, MAX_LABEL));
            title
                .filter(|title| !title.is_empty())
                .unwrap_or_else(|| says(value))
        };
        let first: Vec<_> = values
            .iter()
            .map(|(value, title)| label(value, *title))
            .collect();
        let mut uses: HashMap<&Shown, usize> = HashMap::new();
        for label in &first {
            *uses.entry(label).or_default() += 1;
        }
        let mut taken = HashSet::new();
        let mut list = Vec::new();
        for (at, ((value, _), label)) in values.iter().zip(&first).enumerate() {
            let mut own = if uses[label] > 1 {
                label.with(&format!(" ({})", says(value)))
            } else {
                label.clone()
            };
            while !taken.insert(own.clone()) {
                own = own.with(&format!("#{}", at + 1));
            }
            list.push(Choice {
                value: value.clone(),
                label: own,
            });
        }
        let is_number = |text: &str| {
            text.trim()
                .parse()
                .is_ok_and(|number: usize| (1..=list.len()).contains(&number))
        };
        let is_numbered = !list
            .iter()
            .any(|choice| is_number(choice.label.as_str()) || is_number(&spelled(&choice.value)));
        Self { list, is_numbered }
    }

    /// Returns the choices in the order of the schema.
    pub fn list(&self) -> &[Choice] {
        &self.list
    }

    /// Says whether a choice may be typed as its number, from 1. Not where a label or a value is such a number itself.
    pub fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// Returns the value that a label, a value or a number stands for.
    pub(crate) fn parse(&self, typed: &str) -> Result<Value, Reason> {
        let found = Index::new(self)
            .find(typed)
            .map(|choice| choice.value.clone());
        found.ok_or_else(|| Reason::expected(&self.expects()))
    }

    /// Returns the values of a list with commas between, in its order and each once.
    pub(crate) fn parse_several(&self, typed: &str) -> Result<Vec<Value>, Reason> {
        let index = Index::new(self);
        if typed.trim().is_empty()
            || (typed.trim().eq_ignore_ascii_case("none") && index.find(typed).is_none())
        {
            return Ok(Vec::new());
        }
        let mut picked: Vec<usize> = Vec::new();
        let mut seen = HashSet::new();
        let mut rest = Some(typed);
        while let Some(text) = rest {
            let (found, after) = index
                .find_first(text)
                .ok_or_else(|| Reason::expected(&self.expects_several()))?;
            if seen.insert(found) {
                picked.push(found);
            }
            rest = after;
        }
        Ok(picked
            .into_iter()
            .filter_map(|at| self.list.get(at))
            .map(|choice| choice.value.clone())
            .collect())
    }

    /// Returns the choice that sends `value`.
    pub(crate) fn of(&self, value: &Value) -> Option<&Choice> {
        self.list
            .iter()
            .find(|choice| crate::number::same(&choice.value, value))
    }

    pub(crate) fn expects(&self) -> String {
        format!("one of: {}", self.listed())
    }

    pub(crate) fn expects_several(&self) -> String {
        format!("some of these, with commas between: {}", self.listed())
    }

    fn listed(&self) -> String {
        let labels: Vec<_> = self
            .list
            .iter()
            .take(MAX_LISTED)
            .map(|choice| choice.label.as_str())
            .collect();
        match self.list.len().saturating_sub(MAX_LISTED) {
            0 => labels.join(", "),
            more => format!("{} and {more} more", labels.join(", ")),
        }
    }
}

/// Finds choices by what a person types: a label or a value as written, then a label in other letters, then a number.
struct Index<'a> {
    choices: &'a Choices,
    labels: HashMap<&'a str, usize>,
    /// Nothing under a text that stands for several.
    values: HashMap<String, Option<usize>>,
    folded: HashMap<String, Option<usize>>,
}

impl<'a> Index<'a> {
    fn new(choices: &'a Choices) -> Self {
        let mut index = Self {
            choices,
            labels: HashMap::new(),
            values: HashMap::new(),
            folded: HashMap::new(),
        };
        for (at, choice) in choices.list.iter().enumerate() {
            let once = |slot: &mut Option<usize>| *slot = None;
            index.labels.insert(choice.label.as_str(), at);
            let value = spelled(&choice.value).trim().to_owned();
            index
                .values
                .entry(value)
                .and_modify(once)
                .or_insert(Some(at));
            let folded = choice.label.as_str().to_lowercase();
            index
                .folded
                .entry(folded)
                .and_modify(once)
                .or_insert(Some(at));
        }
        index
    }

    fn find(&self, typed: &str) -> Option<&'a Choice> {
        self.position(typed)
            .and_then(|at| self.choices.list.get(at))
    }

    fn position(&self, typed: &str) -> Option<usize> {
        let typed = typed.trim();
        let number = || {
            typed
                .parse::<usize>()
                .ok()
                .filter(|_| self.choices.is_numbered)?
                .checked_sub(1)
        };
        self.labels
            .get(typed)
            .copied()
            .or_else(|| self.values.get(typed).copied().flatten())
            .or_else(|| self.folded.get(&typed.to_lowercase()).copied().flatten())
            .or_else(number)
            .filter(|at| *at < self.choices.list.len())
    }

    /// Finds the choice that a list begins with, commas of its own included, and returns what follows it.
    fn find_first<'t>(&self, list: &'t str) -> Option<(usize, Option<&'t str>)> {
        let commas = list.match_indices(',').map(|(at, _)| at).take(MAX_PARTS);
        let mut ends: Vec<_> = commas.collect();
        if ends.len() < MAX_PARTS {
            ends.push(list.len());
        }
        ends.into_iter().rev().find_map(|end| {
            let found = self.position(&list[..end])?;
            Some((found, list.get(end + 1..)))
        })
    }
}

/// Returns a value as a person would type it.
pub(crate) fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Null => "none".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
