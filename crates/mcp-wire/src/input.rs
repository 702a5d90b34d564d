//! Questions from a server: one type, whether they came as a request in mid-call or as an `input_required` round.
//!
//! An answer may hold what a person typed. It has no `Display` and no `Serialize`, and its `Debug` shows no content;
//! the one way out is onto the wire, [`Answer::into_result`].

use std::fmt;

use crate::json::{JsonError, Object, Raw};
use crate::{RpcError, method};

/// What a server asks its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// A person fills in a form.
    Form {
        /// Text from outside.
        message: String,
        /// The requested schema, as it came.
        schema: Raw,
    },
    /// A person visits a URL; accepting means no more than that they agreed to open it.
    Url {
        /// Text from outside.
        message: String,
        /// Text from outside, not yet looked at.
        url: String,
        /// 2025-11-25: what `notifications/elicitation/complete` will name.
        elicitation_id: Option<String>,
    },
    /// The client's model writes a message.
    Sampling {
        /// `params` as they came.
        params: Object,
    },
    /// Which folders the client works in.
    Roots,
    /// A request that this build does not know.
    Unknown {
        /// Its method.
        method: String,
        /// Its params.
        params: Object,
    },
}

impl Question {
    /// Reads a question out of a request's method and params.
    ///
    /// # Errors
    /// When it is a known one without what it needs.
    pub fn parse(method: &str, params: &Object) -> Result<Self, JsonError> {
        match method {
            method::ELICITATION_CREATE => Self::elicitation(params),
            method::SAMPLING_CREATE => Ok(Self::Sampling {
                params: params.clone(),
            }),
            method::ROOTS_LIST => Ok(Self::Roots),
            other => Ok(Self::Unknown {
                method: other.to_owned(),
                params: params.clone(),
            }),
        }
    }

    fn elicitation(params: &Object) -> Result<Self, JsonError> {
        let message = params.string("message").unwrap_or_default();
        match params.string("mode").as_deref() {
            None | Some("form") => {
                let schema = params
                    .get("requestedSchema")
                    .cloned()
                    .ok_or_else(|| JsonError::new("a form without `requestedSchema`"))?;
                schema
                    .object()
                    .map_err(|error| JsonError::new(format!("`requestedSchema`: {error}")))?;
                Ok(Self::Form { message, schema })
            }
            Some("url") => Ok(Self::Url {
                message,
                url: params
                    .string("url")
                    .ok_or_else(|| JsonError::new("a URL question without `url`"))?,
                elicitation_id: params.string("elicitationId"),
            }),
            Some(other) => Err(JsonError::new(format!(
                "a question of the unknown mode `{other}`"
            ))),
        }
    }

    /// The method it is asked by.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Form { .. } | Self::Url { .. } => method::ELICITATION_CREATE,
            Self::Sampling { .. } => method::SAMPLING_CREATE,
            Self::Roots => method::ROOTS_LIST,
            Self::Unknown { method, .. } => method,
        }
    }

    /// The params it is asked with. `modes`: whether forms name their mode (not before 2025-11-25).
    #[must_use]
    pub fn params(&self, modes: bool) -> Object {
        match self {
            Self::Form { message, schema } => {
                let params = if modes {
                    Object::new().with("mode", "form")
                } else {
                    Object::new()
                };
                params
                    .with("message", message.as_str())
                    .with("requestedSchema", schema.clone())
            }
            Self::Url {
                message,
                url,
                elicitation_id,
            } => Object::new()
                .with("mode", "url")
                .with("message", message.as_str())
                .with("url", url.as_str())
                .with_some("elicitationId", elicitation_id.as_deref()),
            Self::Sampling { params } | Self::Unknown { params, .. } => params.clone(),
            Self::Roots => Object::new(),
        }
    }
}

/// What the client answers.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    /// A form's content, or nothing for a URL.
    Accept(Option<Raw>),
    /// The person said no.
    Decline,
    /// The person closed it without saying.
    Cancel,
    /// The result of `sampling/createMessage`, as it goes over the wire.
    Sampled(Raw),
    /// The result of `roots/list`, as it goes over the wire.
    Roots(Raw),
    /// The client cannot answer this.
    Failed(RpcError),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accept(Some(_)) => "Accept(content not shown)",
            Self::Accept(None) => "Accept",
            Self::Decline => "Decline",
            Self::Cancel => "Cancel",
            Self::Sampled(_) => "Sampled(not shown)",
            Self::Roots(_) => "Roots(not shown)",
            Self::Failed(error) => return write!(f, "Failed({error})"),
        })
    }
}

impl Answer {
    /// The answer as the result of the question's request, or as one of `inputResponses`.
    ///
    /// # Errors
    /// When the client cannot answer: then it is a JSON-RPC error.
    pub fn into_result(self) -> Result<Raw, RpcError> {
        let action = |action: &str| Raw::from(Object::new().with("action", action));
        Ok(match self {
            Self::Accept(None) => action("accept"),
            Self::Accept(Some(content)) => Raw::from(
                Object::new()
                    .with("action", "accept")
                    .with("content", content),
            ),
            Self::Decline => action("decline"),
            Self::Cancel => action("cancel"),
            Self::Sampled(raw) | Self::Roots(raw) => raw,
            Self::Failed(error) => return Err(error),
        })
    }

    /// Reads what a client answered to `question`.
    ///
    /// # Errors
    /// When it is not the shape that this kind of question is answered with.
    pub fn parse(question: &Question, raw: &Raw) -> Result<Self, JsonError> {
        let object = raw.object()?;
        match question {
            Question::Sampling { .. } | Question::Unknown { .. } => Ok(Self::Sampled(raw.clone())),
            Question::Roots => match object.get("roots") {
                Some(roots) => roots.array().map(|_| Self::Roots(raw.clone())),
                None => Err(JsonError::new("an answer to roots/list without `roots`")),
            },
            Question::Form { .. } | Question::Url { .. } => {
                match object.string("action").as_deref() {
                    Some("accept") => Ok(Self::Accept(object.get("content").cloned())),
                    Some("decline") => Ok(Self::Decline),
                    Some("cancel") => Ok(Self::Cancel),
                    Some(_) => Err(JsonError::new("`action` is accept, decline or cancel")),
                    None => Err(JsonError::new("an answer without `action`")),
                }
            }
        }
    }
}

/// A question under the server's key for it; one that could not be read says why.
pub type KeyedQuestion = (String, Result<Question, JsonError>);

/// A result that asks before it is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequired {
    /// What is asked, under the server's keys, in its order. One that could not be read says why.
    pub questions: Vec<KeyedQuestion>,
    /// The state that goes back as it is; none given, none sent.
    pub state: Option<Raw>,
    raw: Object,
}

impl InputRequired {
    /// Reads a result whose `resultType` is `input_required`.
    ///
    /// # Errors
    /// When neither questions nor a state are there, or the questions are no object.
    pub fn parse(object: Object) -> Result<Self, JsonError> {
        let questions = match object.get("inputRequests") {
            None => Vec::new(),
            Some(raw) => Self::read(raw)?,
        };
        let state = object.get("requestState").cloned();
        if state.is_none() && !object.contains("inputRequests") {
            return Err(JsonError::new(
                "`input_required` with neither `inputRequests` nor `requestState`",
            ));
        }
        Ok(Self {
            questions,
            state,
            raw: object,
        })
    }

    fn read(raw: &Raw) -> Result<Vec<KeyedQuestion>, JsonError> {
        let requests = raw
            .object()
            .map_err(|error| JsonError::new(format!("`inputRequests`: {error}")))?;
        let one = |request: &Raw| {
            let request = request.object()?;
            let method = request
                .string("method")
                .ok_or_else(|| JsonError::new("a question without `method`"))?;
            Question::parse(&method, &request.object("params").unwrap_or_default())
        };
        Ok(requests
            .iter()
            .map(|(key, request)| (key.to_owned(), one(request)))
            .collect())
    }

    /// A result of ours.
    #[must_use]
    pub fn new(questions: &[(String, Question)], state: Option<&str>) -> Self {
        let mut raw = Object::new().with("resultType", "input_required");
        if !questions.is_empty() {
            let requests: Object = questions
                .iter()
                .map(|(key, question)| {
                    let request = Object::new()
                        .with("method", question.method())
                        .with("params", question.params(true));
                    (key.clone(), Raw::from(request))
                })
                .collect();
            raw.set("inputRequests", requests);
        }
        if let Some(state) = state {
            raw.set("requestState", state);
        }
        let questions = questions
            .iter()
            .map(|(key, question)| (key.clone(), Ok(question.clone())))
            .collect();
        Self {
            questions,
            state: state.map(Raw::from),
            raw,
        }
    }

    /// The whole result.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Raw::parse(text).unwrap().object().unwrap()
    }

    #[test]
    fn a_question_is_the_same_from_a_request_and_from_a_round() {
        let params = r#"{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}"#;
        let asked = Question::parse("elicitation/create", &object(params)).unwrap();
        let round = InputRequired::parse(object(&format!(
            r#"{{"resultType":"input_required","inputRequests":{{"a":{{"method":"elicitation/create","params":{params}}}}}}}"#
        )))
        .unwrap();
        assert_eq!(round.questions, [("a".to_owned(), Ok(asked))]);
        assert_eq!(round.state, None);
    }

    #[test]
    fn one_question_that_cannot_be_read_leaves_the_others() {
        let round = InputRequired::parse(object(
            r#"{"inputRequests":{"x":{"method":"elicitation/create","params":{"mode":"hologram"}},"r":{"method":"roots/list"}},"requestState":"s"}"#,
        ))
        .unwrap();
        assert!(
            round.questions[0]
                .1
                .as_ref()
                .unwrap_err()
                .reason
                .contains("hologram")
        );
        assert_eq!(round.questions[1].1, Ok(Question::Roots));
        assert!(InputRequired::parse(object(r#"{"resultType":"input_required"}"#)).is_err());
    }

    #[test]
    fn an_answer_prints_nothing_of_its_content() {
        let answer = Answer::Accept(Some(Raw::from(Object::new().with("pin", "SENTINEL"))));
        assert!(!format!("{answer:?}").contains("SENTINEL"));
        assert_eq!(
            answer.into_result().unwrap().as_str(),
            r#"{"action":"accept","content":{"pin":"SENTINEL"}}"#
        );
    }

    #[test]
    fn what_a_client_answered_has_the_shape_of_its_question() {
        let form = Question::Form {
            message: String::new(),
            schema: Raw::from(Object::new()),
        };
        for (text, expected) in [
            (r#"{"action":"decline"}"#, Ok(Answer::Decline)),
            (
                r#"{"action":"accept","content":{"a":1}}"#,
                Ok(Answer::Accept(Some(Raw::parse(r#"{"a":1}"#).unwrap()))),
            ),
        ] {
            assert_eq!(Answer::parse(&form, &Raw::parse(text).unwrap()), expected);
        }
        assert!(Answer::parse(&form, &Raw::parse(r#"{"action":"maybe"}"#).unwrap()).is_err());
        assert!(Answer::parse(&Question::Roots, &Raw::parse("{}").unwrap()).is_err());
    }
}
