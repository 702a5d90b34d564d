//! The requests beside tools: resources, prompts, completion, logging.

use mcp_wire::content::Block;
use mcp_wire::prompt::{self, Message};
use mcp_wire::{Era, JsonError, Object, Raw, method, resource};

use crate::call::CallOptions;
use crate::connection::Connection;
use crate::failure::Failure;

/// What a resource holds.
#[derive(Debug, Clone)]
pub struct ReadResource {
    /// Its contents, one by one; one that could not be read says why.
    pub contents: Vec<Result<Block, JsonError>>,
    /// The whole answer.
    pub raw: Object,
}

/// A prompt, rendered.
#[derive(Debug, Clone)]
pub struct GotPrompt {
    /// Its messages.
    pub messages: Vec<Message>,
    /// The whole answer.
    pub raw: Object,
}

impl Connection {
    /// Reads a resource.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn read_resource(
        &self,
        uri: &str,
        options: &CallOptions,
    ) -> Result<ReadResource, Failure> {
        let raw = self
            .inner
            .request(
                method::RESOURCES_READ,
                Object::new().with("uri", uri),
                options,
            )
            .await?;
        let contents =
            resource::contents(&raw).map_err(|error| self.inner.unreadable(&error.reason))?;
        Ok(ReadResource { contents, raw })
    }

    /// Renders a prompt.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Object,
        options: &CallOptions,
    ) -> Result<GotPrompt, Failure> {
        let mut params = Object::new().with("name", name);
        if !arguments.is_empty() {
            params.set("arguments", arguments);
        }
        let raw = self
            .inner
            .request(method::PROMPTS_GET, params, options)
            .await?;
        let messages =
            prompt::messages(&raw).map_err(|error| self.inner.unreadable(&error.reason))?;
        Ok(GotPrompt { messages, raw })
    }

    /// The values that a server proposes for an argument. `reference` is `{"type":"ref/prompt","name":…}` or
    /// `{"type":"ref/resource","uri":…}`; `context` holds the arguments that are known already.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn complete(
        &self,
        reference: Object,
        (argument, value): (&str, &str),
        context: Object,
        options: &CallOptions,
    ) -> Result<Vec<String>, Failure> {
        let argument = Object::new().with("name", argument).with("value", value);
        let mut params = Object::new()
            .with("ref", reference)
            .with("argument", argument);
        if !context.is_empty() {
            params.set("context", Object::new().with("arguments", context));
        }
        let raw = self
            .inner
            .request(method::COMPLETE, params, options)
            .await?;
        let values = raw
            .object("completion")
            .and_then(|completion| completion.get("values")?.array().ok());
        let values =
            values.ok_or_else(|| self.inner.unreadable("a completion without `values`"))?;
        Ok(values.iter().filter_map(Raw::string).collect())
    }

    /// From which severity on the server shall log. In the modern era that is said with each call instead
    /// ([`CallOptions::log_level`]), and this does nothing.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn set_log_level(&self, level: &str, options: &CallOptions) -> Result<(), Failure> {
        if self.era() == Era::Modern {
            return Ok(());
        }
        self.inner
            .request(
                method::SET_LEVEL,
                Object::new().with("level", level),
                options,
            )
            .await?;
        self.inner.remember_level(level);
        Ok(())
    }

    /// Whether it was opened for one caller at a time: then what the server says during a call is about that call.
    #[must_use]
    pub fn serves_one_at_a_time(&self) -> bool {
        self.inner.spec.single_caller
    }

    /// Legacy: whether the server still answers. The modern era has no such question; there it asks what the server is.
    ///
    /// # Errors
    /// When there is no result.
    pub async fn ping(&self, options: &CallOptions) -> Result<(), Failure> {
        let method = if self.era() == Era::Modern {
            method::DISCOVER
        } else {
            method::PING
        };
        self.inner
            .request(method, Object::new(), options)
            .await
            .map(|_| ())
    }
}
