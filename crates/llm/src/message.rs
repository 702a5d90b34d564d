//! The conversation as every wire can say it.

use serde::{Deserialize, Serialize};

/// The API a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
}

/// One request for one answer.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// System texts in order.
    pub system: Vec<SystemPart>,
    /// The tools, in the order they are sent.
    pub tools: Vec<ToolDef>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Cap on the answer, in tokens.
    pub max_output_tokens: u32,
    /// How hard to think, where the model can be told.
    pub effort: Option<Effort>,
    /// A key that is the same for every request of a session, for providers that route by it.
    pub cache_key: Option<String>,
}

/// One system text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPart {
    /// The text.
    pub text: String,
    /// Whether the prompt cache may end here, on wires that have breakpoints.
    pub cache_breakpoint: bool,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDef {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: serde_json::Value,
}

/// How hard to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub blocks: Vec<Block>,
    /// Whether the prompt cache may end after this message, on wires that have breakpoints.
    pub cache_breakpoint: bool,
}

/// One block of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// An image; in user messages only.
    Image(Image),
    /// A tool call of the model.
    Call {
        /// The provider's name for the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as JSON text, exactly as the model wrote them; may be invalid.
        input: String,
    },
    /// The result of a call; in user messages only.
    Result {
        /// The provider's name for the call.
        id: String,
        /// Text of the result.
        text: String,
        /// Whether the call failed.
        is_error: bool,
        /// Images of the result.
        images: Vec<Image>,
    },
    /// A block that only its maker understands, such as signed thinking or encrypted reasoning.
    Opaque(OpaqueBlock),
}

/// A block that goes back unchanged to the wire and model that made it, and to no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueBlock {
    /// The wire that made it.
    pub wire: Wire,
    /// The model that made it.
    pub model: String,
    /// The block as JSON text.
    pub json: String,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The bytes, base64.
    pub base64: String,
}
