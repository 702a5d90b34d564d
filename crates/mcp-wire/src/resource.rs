//! Resources and their templates, as a server described them, and what reading one gave.

use crate::content::{self, Block};
use crate::json::{JsonError, Object, Raw};

/// One element of `resources/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Text from outside.
    pub uri: String,
    /// The name for programs; the URI when none was given.
    pub name: String,
    raw: Object,
}

impl Resource {
    /// Reads one.
    ///
    /// # Errors
    /// When it is no object or has no URI.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let raw = raw.object()?;
        let uri = raw
            .string("uri")
            .ok_or_else(|| JsonError::new("a resource without `uri`"))?;
        Ok(Self {
            name: raw.string("name").unwrap_or_else(|| uri.clone()),
            uri,
            raw,
        })
    }

    /// The whole description.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }
}

/// One element of `resources/templates/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceTemplate {
    /// An RFC 6570 template; text from outside.
    pub uri_template: String,
    /// The name for programs; the template when none was given.
    pub name: String,
    raw: Object,
}

impl ResourceTemplate {
    /// Reads one.
    ///
    /// # Errors
    /// When it is no object or has no template.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        let raw = raw.object()?;
        let uri_template = raw
            .string("uriTemplate")
            .ok_or_else(|| JsonError::new("a resource template without `uriTemplate`"))?;
        Ok(Self {
            name: raw.string("name").unwrap_or_else(|| uri_template.clone()),
            uri_template,
            raw,
        })
    }

    /// The whole description.
    #[must_use]
    pub fn raw(&self) -> &Object {
        &self.raw
    }
}

/// The contents that `resources/read` gave, one by one; one that could not be read says why.
///
/// # Errors
/// When `contents` is missing or no array.
pub fn contents(result: &Object) -> Result<Vec<Result<Block, JsonError>>, JsonError> {
    let contents = result
        .get("contents")
        .ok_or_else(|| JsonError::new("a resource's answer without `contents`"))?;
    Ok(contents
        .array()?
        .iter()
        .map(|raw| content::resource(&raw.object()?))
        .collect())
}
