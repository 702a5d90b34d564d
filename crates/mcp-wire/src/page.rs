//! One page of a list: its elements, where the next one begins, how long it may be kept.

use crate::json::{JsonError, Object, Raw};

/// Who may share a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only the caller it was made for. The default.
    Private,
}

/// How long a result may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    /// Milliseconds; 0 when nothing was said.
    pub ttl_ms: u64,
    /// Who may share it.
    pub scope: CacheScope,
}

impl CacheHint {
    /// Not to be kept.
    pub const NONE: Self = Self {
        ttl_ms: 0,
        scope: CacheScope::Private,
    };

    /// Reads `ttlMs` and `cacheScope`; a negative or missing time is 0, an unknown scope private.
    #[must_use]
    pub fn parse(result: &Object) -> Self {
        let ttl_ms = result
            .get("ttlMs")
            .and_then(Raw::number)
            .unwrap_or(0.0)
            .max(0.0);
        let scope = match result.string("cacheScope").as_deref() {
            Some("public") => CacheScope::Public,
            _ => CacheScope::Private,
        };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and saturating"
        )]
        Self {
            ttl_ms: ttl_ms as u64,
            scope,
        }
    }

    /// Puts both members into a result.
    pub fn put(self, result: &mut Object) {
        result.set("ttlMs", i64::try_from(self.ttl_ms).unwrap_or(i64::MAX));
        result.set(
            "cacheScope",
            if self.scope == CacheScope::Public {
                "public"
            } else {
                "private"
            },
        );
    }
}

/// One page of `tools/list`, `resources/list`, `resources/templates/list` or `prompts/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The elements, as they came.
    pub elements: Vec<Raw>,
    /// Where the next page begins. An empty string is a cursor like any other.
    pub next_cursor: Option<String>,
    /// How long the page may be kept.
    pub cache: CacheHint,
}

impl Page {
    /// Reads the page whose elements are in `member`: `tools`, `resources`, `resourceTemplates`, `prompts`, `tasks`.
    ///
    /// # Errors
    /// When the result is no object, or `member` no array, or `nextCursor` neither a string nor null.
    pub fn parse(result: &Raw, member: &str) -> Result<Self, JsonError> {
        let object = result.object()?;
        let elements = object
            .get(member)
            .ok_or_else(|| JsonError::new(format!("a list without `{member}`")))?
            .array()
            .map_err(|error| JsonError::new(format!("`{member}`: {error}")))?;
        let next_cursor = match object.get("nextCursor") {
            None => None,
            Some(cursor) if cursor.is_null() => None,
            Some(cursor) => Some(cursor.string().ok_or_else(|| {
                JsonError::new(format!(
                    "`nextCursor` is a string, got {}",
                    cursor.kind().word()
                ))
            })?),
        };
        Ok(Self {
            elements,
            next_cursor,
            cache: CacheHint::parse(&object),
        })
    }
}

/// An element of a list that could not be read; the others of the list stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Its place in the list, counted from 0.
    pub index: usize,
    /// Its name, when that much could be read.
    pub name: Option<String>,
    /// Why.
    pub reason: String,
    /// As it came.
    pub raw: Raw,
}

/// Reads each element by itself; what cannot be read is set aside, as is a second one of the same name.
pub fn sort_out<T>(
    elements: &[Raw],
    key: &str,
    mut read: impl FnMut(&Raw) -> Result<T, JsonError>,
) -> (Vec<T>, Vec<SetAside>) {
    let (mut good, mut aside) = (Vec::new(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    for (index, raw) in elements.iter().enumerate() {
        let name = raw.object().ok().and_then(|object| object.string(key));
        let read = read(raw).and_then(|element| match &name {
            Some(name) if !seen.insert(name.clone()) => Err(JsonError::new(format!(
                "a second one with the same `{key}`"
            ))),
            _ => Ok(element),
        });
        match read {
            Ok(element) => good.push(element),
            Err(error) => aside.push(SetAside {
                index,
                name,
                reason: error.reason,
                raw: raw.clone(),
            }),
        }
    }
    (good, aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cursor_is_a_cursor() {
        let page = Page::parse(
            &Raw::parse(r#"{"tools":[],"nextCursor":"","ttlMs":-5}"#).unwrap(),
            "tools",
        )
        .unwrap();
        assert_eq!(page.next_cursor.as_deref(), Some(""));
        assert_eq!(page.cache, CacheHint::NONE);
        let last = Page::parse(
            &Raw::parse(r#"{"tools":[],"nextCursor":null}"#).unwrap(),
            "tools",
        )
        .unwrap();
        assert_eq!(last.next_cursor, None);
        assert!(Page::parse(&Raw::parse(r#"{"tools":{}}"#).unwrap(), "tools").is_err());
    }
}
