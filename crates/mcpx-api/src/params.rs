//! The parameters of one request: read from path, query and body, checked against the table, read by name.

use mcp_wire::json::{Kind as JsonKind, MAX_DEPTH};
use mcp_wire::{Object, Raw};

use crate::operation::{Kind, LARGEST, Operation, Param, Place};
use crate::{ApiError, Code};

/// What an operation was given. Every member is known to the table and of the right kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(Object);

impl Params {
    /// Checks what was given against the table.
    ///
    /// # Errors
    /// When a name is not of this operation, a value is not of its kind, or a required one is not there.
    pub fn check(operation: &Operation, given: Object) -> Result<Self, ApiError> {
        if let Some(name) = given.duplicate() {
            return Err(ApiError::bad(format!("`{name}` was given twice")));
        }
        for (name, value) in given.iter() {
            let Some(param) = operation.params.iter().find(|param| param.name == name) else {
                return Err(unknown(operation, name));
            };
            check_kind(param, value)?;
            check_choice(param, value)?;
        }
        let missing = operation
            .params
            .iter()
            .find(|param| param.required && !given.contains(param.name));
        if let Some(param) = missing {
            return Err(ApiError::bad(format!(
                "`{}` is missing: expected {}, {}",
                param.name,
                param.kind.word(),
                param.help
            )));
        }
        Ok(Self(given))
    }

    /// One value of a path or a query, read as its kind.
    ///
    /// # Errors
    /// When it cannot be read as that kind.
    pub fn read_text(param: &Param, text: &str) -> Result<Raw, ApiError> {
        let wrong = || {
            ApiError::bad(format!(
                "`{}` was `{}`, expected {}",
                param.name,
                shorten(text),
                param.kind.word()
            ))
        };
        Ok(match param.kind {
            Kind::Text => Raw::from(text),
            Kind::Number => {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                let number = text.parse::<i64>().ok().filter(|number| *number <= LARGEST);
                Raw::from(number.filter(|_| digits).ok_or_else(wrong)?)
            }
            Kind::Switch => Raw::from(match text {
                "" | "1" | "true" | "yes" => true,
                "0" | "false" | "no" => false,
                _ => return Err(wrong()),
            }),
            Kind::List => Raw::of(
                &text
                    .split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>(),
            ),
            Kind::Object | Kind::Objects | Kind::Any => {
                let raw = Raw::parse(text).map_err(|error| {
                    ApiError::bad(format!("`{}` is no JSON: {error}", param.name))
                })?;
                check_kind(param, &raw)?;
                raw
            }
        })
    }

    /// What was given, whole.
    #[must_use]
    pub fn object(&self) -> &Object {
        &self.0
    }

    /// One value as it came.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Raw> {
        self.0.get(name).filter(|raw| !raw.is_null())
    }

    /// Text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.string()
    }

    /// Text that has to be there and not be empty.
    ///
    /// # Errors
    /// When it is not.
    pub fn required(&self, name: &str) -> Result<String, ApiError> {
        self.text(name)
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| ApiError::bad(format!("`{name}` is missing or empty")))
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// When it is.
    pub fn count(&self, name: &str) -> Result<Option<usize>, ApiError> {
        let Some(raw) = self.get(name) else {
            return Ok(None);
        };
        raw.integer()
            .and_then(|number| usize::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| {
                ApiError::bad(format!(
                    "`{name}` was {}, expected a whole number from 0 on",
                    shorten(raw.as_str())
                ))
            })
    }

    /// Yes or no; no when it is not there.
    #[must_use]
    pub fn switch(&self, name: &str) -> bool {
        self.get(name).and_then(Raw::boolean).unwrap_or(false)
    }

    /// A list of text; empty when it is not there.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        self.get(name)
            .and_then(|raw| raw.read().ok())
            .unwrap_or_default()
    }

    /// An object.
    #[must_use]
    pub fn members(&self, name: &str) -> Option<Object> {
        self.get(name)?.object().ok()
    }

    /// A list of objects; empty when it is not there.
    #[must_use]
    pub fn objects(&self, name: &str) -> Vec<Object> {
        self.get(name)
            .and_then(|raw| raw.array().ok())
            .unwrap_or_default()
            .iter()
            .filter_map(|raw| raw.object().ok())
            .collect()
    }
}

fn unknown(operation: &Operation, name: &str) -> ApiError {
    let known: Vec<String> = operation
        .params
        .iter()
        .filter(|param| param.place != Place::Path)
        .map(|param| format!("`{}`", param.name))
        .collect();
    let takes = if known.is_empty() {
        "nothing".to_owned()
    } else {
        known.join(", ")
    };
    ApiError::new(
        Code::BadRequest,
        format!(
            "`{}` has no parameter `{}`; it takes {takes}",
            operation.name,
            shorten(name)
        ),
    )
}

fn check_kind(param: &Param, value: &Raw) -> Result<(), ApiError> {
    if value.is_null() && !param.required {
        return Ok(());
    }
    if value.depth() > MAX_DEPTH {
        return Err(ApiError::bad(format!(
            "`{}` is nested deeper than {MAX_DEPTH} levels",
            param.name
        )));
    }
    let right = match param.kind {
        Kind::Text => value.kind() == JsonKind::String,
        Kind::Number => value
            .integer()
            .is_some_and(|number| (0..=LARGEST).contains(&number)),
        Kind::Switch => value.boolean().is_some(),
        Kind::List => value.read::<Vec<String>>().is_ok(),
        Kind::Object => value.kind() == JsonKind::Object,
        Kind::Objects => value
            .array()
            .is_ok_and(|all| all.iter().all(|one| one.kind() == JsonKind::Object)),
        Kind::Any => true,
    };
    if right {
        return Ok(());
    }
    Err(ApiError::bad(format!(
        "`{}` was {}, expected {}",
        param.name,
        shorten(value.as_str()),
        param.kind.word()
    )))
}

fn check_choice(param: &Param, value: &Raw) -> Result<(), ApiError> {
    if param.choices.is_empty() || value.is_null() {
        return Ok(());
    }
    let text = value.string().unwrap_or_default();
    if param.choices.contains(&text.as_str()) {
        return Ok(());
    }
    let known: Vec<String> = param
        .choices
        .iter()
        .map(|word| format!("`{word}`"))
        .collect();
    Err(ApiError::bad(format!(
        "`{}` was `{}`, expected {}",
        param.name,
        shorten(&text),
        match known.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, before)) => format!("{} or {last}", before.join(", ")),
            None => String::new(),
        }
    )))
}

/// The beginning of what was received, for a message.
fn shorten(text: &str) -> String {
    const KEEP: usize = 60;
    let mut short: String = text.chars().take(KEEP).collect();
    short = short
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(KEEP).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
