//! Puts a form to a person, one field after the other, then asks whether to send it.
//!
//! A state machine without a clock: each step consumes the state and returns the next. It asks a bounded number of
//! questions, `fields × MAX_TRIES × (1 + MAX_EDITS)` at most, and never shows what was typed.

use std::fmt;

use serde_json::Value;

use crate::answers::{Answers, Outcome};
use crate::check::Reason;
use crate::field::Field;
use crate::form::Form;
use crate::shown::Shown;

/// Tries that a person has for one field; after the last the request is declined.
pub const MAX_TRIES: u8 = 3;
/// Times that a person may go through the form again.
pub const MAX_EDITS: u8 = 3;

/// What comes next.
#[derive(Debug)]
pub enum Step {
    /// Ask the question.
    Ask(Interview),
    /// Ask the same question again, and say why.
    Again(Interview, Reason),
    /// Every field was asked: ask whether to send.
    Review(Review),
    /// It is over.
    Done(Outcome),
}

/// What Enter alone does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnEnter {
    /// Keeps the answer of the round before.
    KeepLast,
    /// Takes the default of the server.
    TakeDefault,
    /// Leaves the field out.
    Skip,
    /// Nothing: the field is asked again.
    AskAgain,
}

/// One question, as it is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What the server says about the form.
    pub message: &'a Shown,
    /// What is asked.
    pub field: &'a Field,
    /// Which question it is, from 1.
    pub position: usize,
    /// How many there are.
    pub count: usize,
    /// What Enter alone does.
    pub on_enter: OnEnter,
    /// Tries that are left, this one included.
    pub tries_left: u8,
}

/// A form that is being filled in, at one of its fields.
pub struct Interview {
    form: Form,
    /// One for each field.
    given: Vec<Given>,
    /// Less than the number of fields.
    at: usize,
    tries: u8,
    edits: u8,
}

/// A form that is filled in and not sent.
#[derive(Debug)]
pub struct Review {
    interview: Interview,
}

enum Given {
    NotAsked,
    Skipped,
    Answer(Value),
}

impl Interview {
    /// Begins with the first field; a form without fields is up for review at once.
    pub fn begin(form: Form) -> Step {
        let given = form.fields().iter().map(|_| Given::NotAsked).collect();
        Self {
            form,
            given,
            at: 0,
            tries: 0,
            edits: 0,
        }
        .ask()
    }

    /// Returns the question that is open.
    pub fn prompt(&self) -> Question<'_> {
        let field = self.field();
        Question {
            message: self.form.message(),
            field,
            position: self.at + 1,
            count: self.form.fields().len(),
            on_enter: match self.given.get(self.at) {
                Some(Given::Answer(_)) => OnEnter::KeepLast,
                Some(Given::Skipped) => OnEnter::Skip,
                _ if field.default.is_some() => OnEnter::TakeDefault,
                _ if field.can_be_skipped() => OnEnter::Skip,
                _ => OnEnter::AskAgain,
            },
            tries_left: MAX_TRIES.saturating_sub(self.tries),
        }
    }

    /// Returns the form.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Takes what the person typed; nothing but white space is Enter alone.
    pub fn answer(self, typed: &str) -> Step {
        if typed.trim().is_empty() {
            return self.enter();
        }
        match self.field().check(typed) {
            Ok(value) => self.give(Given::Answer(value)),
            Err(reason) => self.again(reason),
        }
    }

    /// Leaves the field out, or sends null where that is what the server asked for.
    pub fn skip(self) -> Step {
        let field = self.field();
        if !field.is_required() {
            self.give(Given::Skipped)
        } else if field.can_be_skipped() {
            self.give(Given::Answer(Value::Null))
        } else {
            self.again(Reason::new("the server needs an answer here"))
        }
    }

    /// Says no to the whole form.
    pub fn decline(self) -> Outcome {
        Outcome::Decline
    }

    /// Turns away from the whole form.
    pub fn cancel(self) -> Outcome {
        Outcome::Cancel
    }

    fn enter(self) -> Step {
        match self.prompt().on_enter {
            OnEnter::KeepLast => self.next(),
            OnEnter::TakeDefault => match self.field().default.clone() {
                Some(default) => self.give(Given::Answer(default)),
                None => self.skip(),
            },
            OnEnter::Skip => self.skip(),
            OnEnter::AskAgain => {
                let expects = self.field().expects();
                self.again(Reason::expected(&expects))
            }
        }
    }

    fn field(&self) -> &Field {
        &self.form.fields()[self.at]
    }

    fn give(mut self, given: Given) -> Step {
        if let Some(slot) = self.given.get_mut(self.at) {
            *slot = given;
        }
        self.next()
    }

    fn next(mut self) -> Step {
        self.at += 1;
        self.tries = 0;
        self.ask()
    }

    fn again(mut self, reason: Reason) -> Step {
        self.tries += 1;
        if self.tries >= MAX_TRIES {
            Step::Done(Outcome::Decline)
        } else {
            Step::Again(self, reason)
        }
    }

    fn ask(self) -> Step {
        if self.at < self.form.fields().len() {
            Step::Ask(self)
        } else {
            Step::Review(Review { interview: self })
        }
    }
}

impl Review {
    /// Returns the form.
    pub fn form(&self) -> &Form {
        &self.interview.form
    }

    /// Returns the fields that will be sent.
    pub fn sent(&self) -> impl Iterator<Item = &Field> {
        self.fields(true)
    }

    /// Returns the fields that were asked and will not be sent; see also [`Form::left_out`].
    pub fn skipped(&self) -> impl Iterator<Item = &Field> {
        self.fields(false)
    }

    /// Says whether the person may go through the form again.
    pub fn can_edit(&self) -> bool {
        self.interview.edits < MAX_EDITS && !self.interview.given.is_empty()
    }

    /// Sends the answers.
    pub fn send(self) -> Outcome {
        let mut answers = Answers::default();
        for (field, given) in self
            .interview
            .form
            .fields()
            .iter()
            .zip(self.interview.given)
        {
            if let Given::Answer(value) = given {
                answers.add(field, value);
            }
        }
        Outcome::Accept(answers)
    }

    /// Goes through the form again, where Enter keeps each answer. Stays here if it [may not](Self::can_edit).
    pub fn edit(mut self) -> Step {
        if !self.can_edit() {
            return Step::Review(self);
        }
        self.interview.edits += 1;
        self.interview.at = 0;
        self.interview.ask()
    }

    /// Says no to the whole form.
    pub fn decline(self) -> Outcome {
        Outcome::Decline
    }

    /// Turns away from the whole form.
    pub fn cancel(self) -> Outcome {
        Outcome::Cancel
    }

    fn fields(&self, are_sent: bool) -> impl Iterator<Item = &Field> {
        let all = self
            .interview
            .form
            .fields()
            .iter()
            .zip(&self.interview.given);
        let chosen = all.filter(move |(_, given)| matches!(given, Given::Answer(_)) == are_sent);
        chosen.map(|(field, _)| field)
    }
}

impl fmt::Debug for Interview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.form.fields().len();
        write!(
            f,
            "Interview[field {} of {count}, round {}]",
            self.at + 1,
            self.edits + 1
        )
    }
}

#[cfg(test)]
mod tests;
