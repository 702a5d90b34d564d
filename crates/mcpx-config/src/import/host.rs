//! The hosts whose lists are read.

/// A program that keeps a list of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// `~/.claude.json`, its part for the current project, and `.mcp.json`.
    ClaudeCode,
    /// `claude_desktop_config.json`.
    ClaudeDesktop,
    /// `~/.cursor/mcp.json` and the project's.
    Cursor,
    /// `.vscode/mcp.json`, the one of the user profile, and what older versions kept in `settings.json`.
    VsCode,
    /// `~/.codex/config.toml` and the project's.
    Codex,
    /// `opencode.json` or `opencode.jsonc`.
    OpenCode,
    /// `~/.codeium/windsurf/mcp_config.json`.
    Windsurf,
    /// `~/.gemini/settings.json` and the project's.
    Gemini,
    /// `settings.json` of Zed and the project's.
    Zed,
    /// `cline_mcp_settings.json`.
    Cline,
    /// `~/.copilot/mcp-config.json`.
    Copilot,
}

impl Host {
    /// Every host.
    pub const ALL: [Self; 11] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::OpenCode,
        Self::Windsurf,
        Self::Gemini,
        Self::Zed,
        Self::Cline,
        Self::Copilot,
    ];

    /// What a person types: `claude-code`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Windsurf => "windsurf",
            Self::Gemini => "gemini",
            Self::Zed => "zed",
            Self::Cline => "cline",
            Self::Copilot => "copilot",
        }
    }

    /// The host that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.word() == word)
    }
}
