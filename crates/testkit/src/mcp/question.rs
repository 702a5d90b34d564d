//! What a server asks a client.

use serde_json::{Value, json};

/// A question of a server: the method and parameters that both eras share.
#[derive(Clone, Debug)]
pub struct Question {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

impl Question {
    /// Asks for a form. `schema` is the `requestedSchema`.
    pub fn form(message: &str, schema: &Value) -> Self {
        Self {
            method: "elicitation/create",
            params: json!({ "message": message, "requestedSchema": schema }),
        }
    }

    /// Asks for a form with one required boolean, `ok`.
    pub fn confirm(message: &str) -> Self {
        Self::form(
            message,
            &json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] }),
        )
    }

    /// Asks to open a URL. `elicitation_id` is for the legacy era.
    pub fn url(message: &str, url: &str, elicitation_id: Option<&str>) -> Self {
        let mut params = json!({ "mode": "url", "message": message, "url": url });
        if let Some(id) = elicitation_id {
            params["elicitationId"] = id.into();
        }
        Self {
            method: "elicitation/create",
            params,
        }
    }

    /// Asks for an answer of the client's model.
    pub fn sampling(text: &str) -> Self {
        let content = json!({ "type": "text", "text": text });
        Self {
            method: "sampling/createMessage",
            params: json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100 }),
        }
    }

    /// Asks for the client's roots.
    pub fn roots() -> Self {
        Self {
            method: "roots/list",
            params: json!({}),
        }
    }

    /// Returns the form that `inputRequests` holds.
    pub fn to_value(&self) -> Value {
        json!({ "method": self.method, "params": self.params })
    }
}
