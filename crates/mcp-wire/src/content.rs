//! A block of content, in a tool's result or a prompt's message. Unknown types are kept as they came.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::{JsonError, Object, Raw};

/// What a block says, as far as this build knows its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// An image: media type and bytes.
    Image {
        /// As the server named it; not checked against the bytes.
        media_type: String,
        /// Decoded.
        bytes: Vec<u8>,
    },
    /// A sound: media type and bytes.
    Audio {
        /// As the server named it.
        media_type: String,
        /// Decoded.
        bytes: Vec<u8>,
    },
    /// Where a resource is.
    Link {
        /// Text from outside.
        uri: String,
        /// The name given with it.
        name: Option<String>,
        /// The media type given with it.
        media_type: Option<String>,
    },
    /// A resource with its text.
    ResourceText {
        /// Text from outside.
        uri: String,
        /// The media type given with it.
        media_type: Option<String>,
        /// The text.
        text: String,
    },
    /// A resource with its bytes.
    ResourceBytes {
        /// Text from outside.
        uri: String,
        /// The media type given with it.
        media_type: Option<String>,
        /// Decoded.
        bytes: Vec<u8>,
    },
    /// A type that this build does not know.
    Unknown {
        /// Its name, when it had one.
        kind: String,
    },
}

/// One block: its view and the whole of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// What it says.
    pub block: Block,
    /// As it came.
    pub raw: Raw,
}

impl Content {
    /// Reads a block.
    ///
    /// # Errors
    /// When it is no object, or of a known type without what that type needs.
    pub fn parse(raw: &Raw) -> Result<Self, JsonError> {
        Ok(Self {
            block: read(&raw.object()?)?,
            raw: raw.clone(),
        })
    }

    /// A block of text, ours.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let raw = Raw::from(Object::new().with("type", "text").with("text", text));
        Self {
            block: Block::Text(text.to_owned()),
            raw,
        }
    }
}

fn read(object: &Object) -> Result<Block, JsonError> {
    let kind = object.string("type").unwrap_or_default();
    let need = |name: &str| {
        object
            .string(name)
            .ok_or_else(|| JsonError::new(format!("content of type `{kind}` without `{name}`")))
    };
    Ok(match kind.as_str() {
        "text" => Block::Text(need("text")?),
        "image" => Block::Image {
            media_type: need("mimeType")?,
            bytes: decode(&need("data")?)?,
        },
        "audio" => Block::Audio {
            media_type: need("mimeType")?,
            bytes: decode(&need("data")?)?,
        },
        "resource_link" => Block::Link {
            uri: need("uri")?,
            name: object.string("name"),
            media_type: object.string("mimeType"),
        },
        "resource" => {
            let inner = object
                .object("resource")
                .ok_or_else(|| JsonError::new("a resource block without `resource`"))?;
            resource(&inner)?
        }
        _ => Block::Unknown { kind },
    })
}

/// Reads the contents of a resource: `uri` with `text` or `blob`.
///
/// # Errors
/// When the URI, or both text and bytes, are missing.
pub fn resource(object: &Object) -> Result<Block, JsonError> {
    let uri = object
        .string("uri")
        .ok_or_else(|| JsonError::new("a resource without `uri`"))?;
    let media_type = object.string("mimeType");
    if let Some(text) = object.string("text") {
        return Ok(Block::ResourceText {
            uri,
            media_type,
            text,
        });
    }
    let blob = object
        .string("blob")
        .ok_or_else(|| JsonError::new("a resource with neither `text` nor `blob`"))?;
    Ok(Block::ResourceBytes {
        uri,
        media_type,
        bytes: decode(&blob)?,
    })
}

fn decode(text: &str) -> Result<Vec<u8>, JsonError> {
    let compact: String = text
        .chars()
        .filter(|character| !character.is_ascii_whitespace())
        .collect();
    STANDARD
        .decode(compact)
        .map_err(|error| JsonError::new(format!("not base64: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Result<Block, JsonError> {
        Content::parse(&Raw::parse(text).unwrap()).map(|content| content.block)
    }

    #[test]
    fn each_type_is_read_and_an_unknown_one_kept() {
        assert_eq!(
            block(r#"{"type":"text","text":"a"}"#).unwrap(),
            Block::Text("a".into())
        );
        assert!(
            matches!(block(r#"{"type":"image","mimeType":"image/png","data":"AAEC"}"#).unwrap(),
            Block::Image { bytes, .. } if bytes == [0, 1, 2])
        );
        assert!(
            matches!(block(r#"{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}"#).unwrap(),
            Block::ResourceBytes { bytes, .. } if bytes == [0])
        );
        assert_eq!(
            block(r#"{"type":"hologram","v":1}"#).unwrap(),
            Block::Unknown {
                kind: "hologram".into()
            }
        );
        assert!(
            block(r#"{"type":"image","mimeType":"image/png","data":"*"}"#)
                .unwrap_err()
                .reason
                .contains("base64")
        );
        assert!(
            block(r#"{"type":"text"}"#)
                .unwrap_err()
                .reason
                .contains("without `text`")
        );
    }
}
