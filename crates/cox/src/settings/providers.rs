//! One provider's table, read and checked.

use crate::{exit::Failure, settings::Settings};

/// Longest silence within an answer unless the configuration says another, in seconds.
const IDLE_TIMEOUT_S: u64 = 120;
/// The same for a server of this machine.
const LOCAL_IDLE_TIMEOUT_S: u64 = 600;

/// A provider as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProviderSettings {
    /// Its configured name.
    pub(crate) name: String,
    /// Where it listens.
    pub(crate) base_url: String,
    /// What it speaks: `messages`, `responses` or `chat`.
    pub(crate) api: String,
    /// The variable that holds its key; none for a server without one.
    pub(crate) api_key_env: Option<String>,
    /// Its model; may be empty.
    pub(crate) model: String,
    /// Its context window in tokens; none takes what is known about the model.
    pub(crate) context_window: Option<u64>,
    /// Longest wait for the start of an answer, in seconds.
    pub(crate) timeout_s: u64,
    /// Longest silence within an answer, in seconds.
    pub(crate) idle_timeout_s: u64,
    /// How often a failed request is tried again.
    pub(crate) max_retries: u32,
}

impl ProviderSettings {
    /// Reads the table of this name.
    pub(crate) fn read(settings: &Settings, name: &str) -> Result<Self, Failure> {
        let names = settings.merged.names("providers");
        if !names.contains(&name) {
            let origin = settings.origin("core.provider");
            let message = format!(
                "{origin}: there is no provider `{name}`\nhint: there are {}; `[providers.{name}]` in the configuration adds it",
                names.join(", ")
            );
            return Err(if origin.starts_with("--") {
                Failure::usage(message)
            } else {
                Failure::error(message)
            });
        }
        let key = |field: &str| format!("providers.{name}.{field}");
        let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let window = settings.count(&key("context_window"));
        let base_url = settings.text(&key("base_url")).to_owned();
        if base_url.is_empty() {
            return Err(Failure::error(format!(
                "the provider `{name}` has no address\nhint: set `providers.{name}.base_url`"
            )));
        }
        let idle_timeout_s = match settings.count(&key("idle_timeout_s")) {
            // A small machine may think long between two words.
            0 if llm::is_on_this_machine(&base_url) => LOCAL_IDLE_TIMEOUT_S,
            0 => IDLE_TIMEOUT_S,
            seconds => seconds,
        };
        Ok(Self {
            name: name.to_owned(),
            idle_timeout_s,
            base_url,
            api: settings.text(&key("api")).to_owned(),
            api_key_env: filled(settings.text(&key("api_key_env"))),
            model: settings.text(&key("model")).to_owned(),
            context_window: (window > 0).then_some(window),
            timeout_s: settings.count(&key("timeout_s")),
            max_retries: u32::try_from(settings.count(&key("max_retries"))).unwrap_or(u32::MAX),
        })
    }
}
