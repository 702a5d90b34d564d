//! A form: the fields that a server asks for, in the order of its schema.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::field::Field;
use crate::schema::{self, MAX_LABEL, Unaskable};
use crate::shown::Shown;

/// Most fields of a form.
pub const MAX_FIELDS: usize = 64;
/// Longest message that is shown, in characters.
pub(crate) const MAX_MESSAGE: usize = 2_000;

/// Why a form cannot be put to a person. The server's fault; the request is declined, and nobody was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// The schema is no object, or its `type` is another.
    #[error(
        "the requested schema does not describe an object; expected `type` to be `object` and `properties`"
    )]
    NotAnObject,
    /// `required` is no list of names.
    #[error("the requested schema's `required` is not a list of names")]
    Required,
    /// A required name that is not among the properties.
    #[error("the field `{field}` is required and not described")]
    Undescribed {
        /// The name of the field.
        field: Shown,
    },
    /// More fields than anybody would fill in.
    #[error("the form has {count} fields, the most is {MAX_FIELDS}")]
    TooManyFields {
        /// How many it has.
        count: usize,
    },
    /// A required field that cannot be asked.
    #[error("the field `{field}` cannot be asked: {why}")]
    Field {
        /// The name of the field.
        field: Shown,
        /// Why it cannot be asked.
        why: Unaskable,
    },
}

/// An optional field that cannot be asked, and so is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub(crate) name: String,
    /// The name of the field.
    pub field: Shown,
    /// Why it cannot be asked.
    pub why: Unaskable,
}

/// The fields that a server asks for.
#[derive(Clone, Debug)]
pub struct Form {
    message: Shown,
    fields: Vec<Field>,
    left_out: Vec<LeftOut>,
    unchecked: Vec<Shown>,
}

impl Form {
    /// Reads the schema of a request.
    ///
    /// # Errors
    ///
    /// [`FormError`] if a person cannot be asked what it requires; names the field and the reason.
    pub fn parse(message: &str, requested_schema: &Value) -> Result<Self, FormError> {
        let schema = requested_schema.as_object().ok_or(FormError::NotAnObject)?;
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) if is_object => properties,
            // A form without fields: only to be agreed to.
            None if schema.contains_key("type") && is_object => &serde_json::Map::new(),
            _ => return Err(FormError::NotAnObject),
        };
        if properties.len() > MAX_FIELDS {
            return Err(FormError::TooManyFields {
                count: properties.len(),
            });
        }
        let required = required(schema.get("required"))?;
        if let Some(name) = required
            .iter()
            .find(|name| !properties.contains_key(**name))
        {
            return Err(FormError::Undescribed {
                field: Shown::line(name, MAX_LABEL),
            });
        }
        let required: HashSet<_> = required.into_iter().collect();
        let mut form = Self {
            message: Shown::paragraph(message, MAX_MESSAGE),
            fields: Vec::new(),
            left_out: Vec::new(),
            unchecked: Vec::new(),
        };
        for keyword in [
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "$ref",
            "dependentRequired",
            "dependentSchemas",
            "minProperties",
        ] {
            if schema.contains_key(keyword) {
                form.unchecked.push(Shown::line(keyword, MAX_LABEL));
            }
        }
        for (name, property) in properties {
            let is_required = required.contains(name.as_str());
            let field = Shown::line(name, MAX_LABEL);
            match schema::read(requested_schema, name, property, is_required) {
                Ok(field) => form.fields.push(field),
                Err(why) if is_required => return Err(FormError::Field { field, why }),
                Err(why) => form.left_out.push(LeftOut {
                    name: name.clone(),
                    field,
                    why,
                }),
            }
        }
        form.tell_fields_apart();
        Ok(form)
    }

    /// Puts the name behind a title that another field has too.
    fn tell_fields_apart(&mut self) {
        let mut uses: HashMap<Shown, usize> = HashMap::new();
        for field in &self.fields {
            *uses.entry(field.label().clone()).or_default() += 1;
        }
        for field in &mut self.fields {
            if !field.title.is_empty() && uses.get(&field.title).is_some_and(|uses| *uses > 1) {
                field.title = field.title.with(&format!(" ({})", field.name_shown));
            }
        }
    }

    /// Returns what the server says about its question.
    pub fn message(&self) -> &Shown {
        &self.message
    }

    /// Returns the fields in the order of the schema; none if the form is only to be agreed to.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the field with this name on the wire.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name() == name)
    }

    /// Returns the optional fields that cannot be asked.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Returns what the schema demands of the fields together; none of it is checked here.
    pub fn unchecked(&self) -> &[Shown] {
        &self.unchecked
    }
}

fn required(value: Option<&Value>) -> Result<Vec<&str>, FormError> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().ok_or(FormError::Required))
            .collect(),
        Some(_) => Err(FormError::Required),
    }
}
