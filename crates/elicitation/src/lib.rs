//! A question that a server puts to a person: a form to fill in, or a web address to open.
//!
//! Draws nothing, does no I/O, knows no clock, and cannot print an answer: [`Answers`] leave by one door,
//! [`Answers::into_wire`]. What the server wrote is shown only as [`Shown`]: cut, and safe for a terminal.
//!
//! ```
//! use elicitation::{Form, Interview, Outcome, Step};
//!
//! let schema = serde_json::json!({
//!     "type": "object",
//!     "properties": {
//!         "name": { "type": "string", "minLength": 1 },
//!         "age": { "type": "integer", "minimum": 18 },
//!     },
//!     "required": ["name"],
//! });
//! let form = Form::parse("Who are you?", &schema)?;
//!
//! let Step::Ask(interview) = Interview::begin(form) else { panic!("there is a question") };
//! assert_eq!(interview.prompt().field.label().as_str(), "name");
//! let Step::Ask(interview) = interview.answer("Ada") else { panic!("a second question") };
//! let Step::Again(interview, reason) = interview.answer("17") else { panic!("too young") };
//! assert_eq!(reason.as_str(), "expected a whole number of at least 18");
//! let Step::Review(review) = interview.answer("36") else { panic!("the last question") };
//! let Outcome::Accept(answers) = review.send() else { panic!("sent") };
//! assert_eq!(format!("{answers:?}"), "Answers[name, age]");
//! assert_eq!(answers.into_wire(), serde_json::json!({ "name": "Ada", "age": 36 }));
//! # Ok::<(), elicitation::FormError>(())
//! ```

mod answers;
mod check;
mod choice;
mod field;
mod form;
mod interview;
mod keywords;
mod number;
mod pattern;
mod schema;
mod shown;
mod text;
mod url;

pub use answers::{Answers, Outcome};
pub use check::{FieldError, Reason};
pub use choice::{Choice, Choices};
pub use field::{Field, Kind};
pub use form::{Form, FormError, LeftOut, MAX_FIELDS};
pub use interview::{Interview, MAX_EDITS, MAX_TRIES, OnEnter, Question, Review, Step};
pub use number::NumberRule;
pub use schema::{MAX_CHOICES, Unaskable};
pub use shown::Shown;
pub use text::{Format, TextRule};
pub use url::{Opener, Refusal, UrlOffer, UrlWarning};
