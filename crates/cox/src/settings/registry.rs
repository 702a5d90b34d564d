//! Every setting, declared once: key, kind, default, flag, what a project may do with it, and help.
//!
//! The environment variable of a key is `COX_` and the key in capitals with `_` for every `.`. A key that changes nothing
//! does not exist.

use layered_config::{KeySpec, Kind, Project, Value};

/// One setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Its key, such as `core.max_turns`.
    pub(crate) key: &'static str,
    /// What values it takes.
    pub(crate) kind: Kind,
    /// Its default, as TOML.
    pub(crate) default: &'static str,
    /// The flag that sets it, if there is one.
    pub(crate) flag: Option<&'static str>,
    /// What a project file may do with it.
    pub(crate) project: Project,
    /// What it is, in one line.
    pub(crate) help: &'static str,
}

/// A list of permission rules, each with or without examples.
const RULES: Kind = Kind::AddedRecords {
    text: "rule",
    lists: &["match", "not_match"],
};

const MODES: &[&str] = &["plan", "default", "auto", "bypass"];

/// Every setting outside the provider tables, in the order they are shown.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        key: "core.provider",
        kind: Kind::Text,
        default: "\"anthropic\"",
        flag: Some("--provider"),
        project: Project::No,
        help: "provider to ask: a `[providers.NAME]`",
    },
    Setting {
        key: "core.model",
        kind: Kind::Text,
        default: "\"\"",
        flag: Some("--model"),
        project: Project::No,
        help: "model to ask; empty takes the provider's",
    },
    Setting {
        key: "core.effort",
        kind: Kind::Choice(&["", "low", "medium", "high"]),
        default: "\"\"",
        flag: Some("--effort"),
        project: Project::No,
        help: "how hard the model thinks; empty leaves it to the model",
    },
    Setting {
        key: "core.max_turns",
        kind: Kind::Count {
            min: 1,
            max: 10_000,
        },
        default: "200",
        flag: Some("--max-turns"),
        project: Project::NarrowOnly,
        help: "most requests to the model for one prompt",
    },
    Setting {
        key: "core.parallel_tools",
        kind: Kind::Count { min: 1, max: 64 },
        default: "4",
        flag: None,
        project: Project::NarrowOnly,
        help: "most tool calls at the same time",
    },
    Setting {
        key: "context.compact_at",
        kind: Kind::Number { min: 0.1, max: 1.0 },
        default: "0.75",
        flag: None,
        project: Project::Yes,
        help: "part of the context window at which old tool results become pointers",
    },
    Setting {
        key: "context.keep_turns",
        kind: Kind::Count { min: 0, max: 1_000 },
        default: "2",
        flag: None,
        project: Project::Yes,
        help: "newest turns whose tool results stay whole",
    },
    Setting {
        key: "context.tool_output_visible_bytes",
        kind: Kind::Count {
            min: 512,
            max: 1_000_000,
        },
        default: "8192",
        flag: None,
        project: Project::Yes,
        help: "most bytes of a tool result that the model sees; the rest is archived",
    },
    Setting {
        key: "context.tool_output_head_lines",
        kind: Kind::Count {
            min: 0,
            max: 10_000,
        },
        default: "60",
        flag: None,
        project: Project::Yes,
        help: "lines shown from the start of a cut result",
    },
    Setting {
        key: "context.tool_output_tail_lines",
        kind: Kind::Count {
            min: 0,
            max: 10_000,
        },
        default: "20",
        flag: None,
        project: Project::Yes,
        help: "lines shown from the end of a cut result",
    },
    Setting {
        key: "context.instruction_budget_tokens",
        kind: Kind::Count {
            min: 0,
            max: 200_000,
        },
        default: "8000",
        flag: None,
        project: Project::NarrowOnly,
        help: "most tokens of `AGENTS.md` and `CLAUDE.md` together",
    },
    Setting {
        key: "permissions.mode",
        kind: Kind::Choice(MODES),
        default: "\"default\"",
        flag: Some("--permission-mode"),
        project: Project::NarrowOnly,
        help: "what runs without a question; `bypass` by flag only",
    },
    Setting {
        key: "permissions.approval",
        kind: Kind::Choice(&["never", "on-request", "on-failure", "untrusted"]),
        default: "\"never\"",
        flag: Some("--approve"),
        project: Project::No,
        help: "when `cox run` asks on stdout and waits for an answer on stdin; `never` makes an ask a deny",
    },
    Setting {
        key: "permissions.allow",
        kind: RULES,
        default: "[]",
        flag: Some("--allowed-tools"),
        project: Project::No,
        help: "rules that allow, such as `Bash(cargo test:*)`",
    },
    Setting {
        key: "permissions.ask",
        kind: RULES,
        default: "[]",
        flag: None,
        project: Project::Yes,
        help: "rules that ask; they outrank allow rules",
    },
    Setting {
        key: "permissions.deny",
        kind: RULES,
        default: "[\"Read(~/.ssh/**)\", \"Read(~/.aws/**)\", \"Bash(rm -rf /*)\"]",
        flag: None,
        project: Project::Yes,
        help: "rules that deny; they outrank everything",
    },
    Setting {
        key: "permissions.import_claude_settings",
        kind: Kind::Switch,
        default: "true",
        flag: None,
        project: Project::No,
        help: "whether the rules of `.claude/settings.json` count, yours and the project's",
    },
    Setting {
        key: "sandbox.mode",
        kind: Kind::Choice(&["read-only", "workspace-write", "danger-full-access"]),
        default: "\"workspace-write\"",
        flag: Some("--sandbox"),
        project: Project::No,
        help: "what commands may change; `danger-full-access` runs them bare",
    },
    Setting {
        key: "sandbox.network",
        kind: Kind::Switch,
        default: "false",
        flag: None,
        project: Project::No,
        help: "whether commands reach the network",
    },
    Setting {
        key: "sandbox.writable",
        kind: Kind::AddedList,
        default: "[]",
        flag: None,
        project: Project::No,
        help: "more folders that may be changed, absolute or `~/…`",
    },
    Setting {
        key: "sandbox.readonly_in_workspace",
        kind: Kind::List,
        default: "[\".git\", \".cox\", \".claude\"]",
        flag: None,
        project: Project::No,
        help: "what stays read-only for commands inside the workspace",
    },
    Setting {
        key: "sandbox.linux_backend",
        kind: Kind::Choice(&["auto", "bwrap", "namespaces", "landlock", "none"]),
        default: "\"auto\"",
        flag: None,
        project: Project::No,
        help: "how commands are confined on Linux; `none` refuses them",
    },
    Setting {
        key: "budget.session_usd",
        kind: Kind::Number {
            min: 0.0,
            max: 1_000_000.0,
        },
        default: "5.0",
        flag: Some("--budget"),
        project: Project::NarrowOnly,
        help: "spend cap of a session in US dollars; 0 is no cap",
    },
];

/// The keys of every provider table, `providers.NAME.KEY`.
pub(crate) const PROVIDER_SETTINGS: &[Setting] = &[
    Setting {
        key: "providers.*.base_url",
        kind: Kind::Text,
        default: "\"\"",
        flag: None,
        project: Project::No,
        help: "where it listens; `/v1/messages` is added for `messages`, nothing but the endpoint's name for the others",
    },
    Setting {
        key: "providers.*.api",
        kind: Kind::Choice(&["messages", "responses", "chat"]),
        default: "\"chat\"",
        flag: None,
        project: Project::No,
        help: "what it speaks: Anthropic Messages, OpenAI Responses, or OpenAI Chat Completions",
    },
    Setting {
        key: "providers.*.api_key_env",
        kind: Kind::Text,
        default: "\"\"",
        flag: None,
        project: Project::No,
        help: "environment variable that holds the key; empty for a server without one",
    },
    Setting {
        key: "providers.*.model",
        kind: Kind::Text,
        default: "\"\"",
        flag: None,
        project: Project::No,
        help: "model to ask unless `core.model` names one",
    },
    Setting {
        key: "providers.*.context_window",
        kind: Kind::Count {
            min: 0,
            max: 100_000_000,
        },
        default: "0",
        flag: None,
        project: Project::No,
        help: "context window in tokens; 0 takes what is known about the model",
    },
    Setting {
        key: "providers.*.timeout_s",
        kind: Kind::Count {
            min: 1,
            max: 86_400,
        },
        default: "120",
        flag: None,
        project: Project::No,
        help: "longest wait for the start of an answer, in seconds",
    },
    Setting {
        key: "providers.*.idle_timeout_s",
        kind: Kind::Count {
            min: 0,
            max: 86_400,
        },
        default: "0",
        flag: None,
        project: Project::No,
        help: "longest silence within an answer, in seconds; 0 takes 120, and 600 for a server of this machine",
    },
    Setting {
        key: "providers.*.max_retries",
        kind: Kind::Count { min: 0, max: 100 },
        default: "4",
        flag: None,
        project: Project::No,
        help: "how often a failed request is tried again",
    },
];

/// The provider tables that are there from the start, as TOML.
pub(crate) const SEED_PROVIDERS: &str = r#"
[providers.anthropic]
base_url = "https://api.anthropic.com"
api = "messages"
api_key_env = "ANTHROPIC_API_KEY"
model = "claude-sonnet-5"

[providers.openai]
base_url = "https://api.openai.com/v1"
api = "responses"
api_key_env = "OPENAI_API_KEY"

[providers.local]
base_url = "http://localhost:11434/v1"
api = "chat"
model = "qwen3-coder"
context_window = 32768
timeout_s = 600

[providers.lmstudio]
base_url = "http://localhost:1234/v1"
api = "chat"
timeout_s = 600

[providers.openrouter]
base_url = "https://openrouter.ai/api/v1"
api = "chat"
api_key_env = "OPENROUTER_API_KEY"

[providers.deepseek]
base_url = "https://api.deepseek.com/v1"
api = "chat"
api_key_env = "DEEPSEEK_API_KEY"

[providers.gemini]
base_url = "https://generativelanguage.googleapis.com/v1beta/openai"
api = "chat"
api_key_env = "GEMINI_API_KEY"

[providers.moonshot]
base_url = "https://api.moonshot.ai/v1"
api = "chat"
api_key_env = "MOONSHOT_API_KEY"

[providers.z-ai]
base_url = "https://api.z.ai/api/paas/v4"
api = "chat"
api_key_env = "ZHIPU_API_KEY"
"#;

/// Returns every key as the configuration layers know it.
pub(crate) fn specs() -> Vec<KeySpec> {
    SETTINGS
        .iter()
        .chain(PROVIDER_SETTINGS)
        .map(|setting| KeySpec {
            path: setting.key,
            kind: setting.kind,
            project: setting.project,
        })
        .collect()
}

impl Setting {
    /// Returns its default.
    pub(crate) fn default_value(&self) -> Value {
        let table: Option<toml::Table> = format!("value = {}", self.default).parse().ok();
        table
            .and_then(|mut table| table.remove("value"))
            .expect("a default is TOML, which a test checks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_toml_of_its_kind() {
        for setting in SETTINGS.iter().chain(PROVIDER_SETTINGS) {
            assert_eq!(
                setting.kind.check(&setting.default_value()),
                Ok(()),
                "{}",
                setting.key
            );
        }
    }
}
