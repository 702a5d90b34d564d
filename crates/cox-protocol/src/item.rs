//! The conversation as it stands: what the next request to a model is built from.
//!
//! Items are stored whole and already redacted, so that a resumed session builds the same request byte for byte.

use serde::{Deserialize, Serialize};

use crate::{ArchiveId, CallId};

/// One entry of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    /// What the person wrote, with the context that goes with it.
    User {
        /// Blocks placed before the text, such as the environment of the session.
        context: Vec<String>,
        /// The person's words.
        text: String,
        /// Images.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageData>,
    },
    /// What the model answered.
    Assistant {
        /// Its blocks in order; may be empty for an answer cut before its first block.
        blocks: Vec<AssistantBlock>,
        /// False for an answer that was cut: interrupted, or broken on the wire.
        complete: bool,
    },
    /// All results of the assistant message before it, in the order of its calls.
    ToolResults {
        /// One result for each call.
        results: Vec<ToolResult>,
    },
}

/// One block of an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AssistantBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool call.
    Call {
        /// Our name for the call.
        call: CallId,
        /// The provider's name for it, sent back with the result.
        wire_id: String,
        /// The tool.
        name: String,
        /// The arguments as JSON text, as the model wrote them; may be invalid JSON.
        input: String,
    },
    /// A block that only its maker understands (thinking, reasoning), sent back unchanged to the same kind of wire.
    Opaque {
        /// The wire that made it: `messages`, `responses` or `chat`.
        wire: String,
        /// The model that made it.
        model: String,
        /// The block as it came, as JSON text.
        json: String,
    },
}

/// The result of one call, as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Our name for the call.
    pub call: CallId,
    /// The provider's name for it.
    pub wire_id: String,
    /// The visible text, capped, with its pointer into the archive.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// Images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// Where the whole output lies.
    pub archive: Option<ArchiveId>,
}

/// An image inside an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageData {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The bytes, base64.
    pub base64: String,
}
