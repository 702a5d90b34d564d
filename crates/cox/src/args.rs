//! What may be typed. What it means is decided in `settings` and in each command.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, value_parser};

pub(crate) mod mcp;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "cox",
    version,
    about = "A terminal coding agent",
    long_about = "A terminal coding agent: give it a prompt, it reads, searches, edits and runs commands in your \
                  repository, inside a sandbox and under your permission rules.",
    after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Flags that every command takes.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "Exit codes: 0 done, 1 error, 2 denied, 3 budget, 4 interrupted, 5 usage, 129 SIGHUP, 143 SIGTERM.\n\
                          Try `cox demo` to see it work without a key.";

/// Flags that every command takes.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Provider to ask: a `[providers.NAME]` of the configuration
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Model to ask
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What commands may change
    #[arg(long, global = true, value_name = "MODE", value_parser = ["read-only", "workspace-write", "danger-full-access"])]
    pub(crate) sandbox: Option<String>,
    /// What runs without a question
    #[arg(long, global = true, value_name = "MODE", value_parser = ["plan", "default", "auto", "bypass"])]
    pub(crate) permission_mode: Option<String>,
    /// When to ask. `cox run` asks by event and reads the answers from stdin; with `never` an ask is a deny
    #[arg(long, global = true, value_name = "POLICY", value_parser = ["untrusted", "on-request", "on-failure", "never"])]
    pub(crate) approve: Option<String>,
    /// Spend cap of the session in US dollars; 0 is no cap
    #[arg(long, global = true, value_name = "USD", allow_negative_numbers = true)]
    pub(crate) budget: Option<String>,
    /// Work in this folder instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Another folder that may be read and changed; may be repeated
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Home of cox: configuration and sessions (default `~/.cox`)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print more on stderr: what commands print while they run, thinking, tokens and time of each request
    #[arg(short, long, global = true, overrides_with = "verbose")]
    pub(crate) verbose: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give a prompt, see it through, print the answer
    Run(Run),
    /// Print an archived output again
    Expand(Expand),
    /// List the tools, or run one without a session
    Tool(Tool),
    /// List sessions, show one, or search them
    Sessions(Sessions),
    /// Show what was used and what it cost
    Stats(Stats),
    /// Show and change the configuration
    Config(Config),
    /// Say what would become of a call, and which rules there are
    Permissions(Permissions),
    /// Connect to MCP servers
    Mcp(mcp::Mcp),
    /// Check that everything that cox needs is there
    Doctor(Doctor),
    /// Watch a scripted model repair a small repository with the real tools
    Demo,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
    /// Prints a reference page in Markdown.
    #[command(name = "__reference", hide = true)]
    Reference {
        /// The page
        page: ReferencePage,
    },
}

/// A generated reference page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferencePage {
    /// Commands and flags, with the exit codes.
    Cli,
    /// Configuration keys.
    Config,
}

/// `cox run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// What to do; `-` reads it from stdin
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true, value_parser = prompt_text)]
    prompt: Option<String>,
    /// What to do, without `-p`
    #[arg(
        value_name = "PROMPT",
        conflicts_with = "prompt",
        required_unless_present = "prompt"
    )]
    words: Option<String>,
    /// What stdout holds: the answer, one JSON document, or every event as a line of JSON
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) output_format: Option<OutputFormat>,
    /// Most requests to the model
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_turns: Option<String>,
    /// How hard the model thinks
    #[arg(long, value_name = "LEVEL", value_parser = ["low", "medium", "high"])]
    pub(crate) effort: Option<String>,
    /// Rules to allow in this run, such as `Edit,Bash(cargo test:*)`; may be repeated
    #[arg(long, value_name = "RULES")]
    pub(crate) allowed_tools: Vec<String>,
    /// An image for the prompt (PNG, JPEG, GIF or WebP); may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) image: Vec<PathBuf>,
    /// Continue the last session of this folder
    #[arg(long = "continue", conflicts_with = "resume")]
    pub(crate) continue_last: bool,
    /// Continue this session; the start of its id is enough
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
}

impl Run {
    /// Returns the prompt as it was given; `-` stands for stdin.
    pub(crate) fn prompt(&self) -> &str {
        let given = self.prompt.as_ref().or(self.words.as_ref());
        given.map_or("", String::as_str)
    }
}

/// Takes a prompt that begins with a dash, such as a list, but not a flag that stands where a prompt should.
fn prompt_text(text: &str) -> Result<String, String> {
    let is_flag = text.len() > 1 && text.starts_with('-') && !text.contains(char::is_whitespace);
    if is_flag {
        Err(format!(
            "a prompt was expected, and `{text}` looks like a flag"
        ))
    } else {
        Ok(text.to_owned())
    }
}

/// What stdout of `cox run` holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The final answer.
    #[default]
    Text,
    /// One JSON document at the end.
    Json,
    /// Every event as one line of JSON, then the result.
    StreamJson,
}

/// `cox expand`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Expand {
    /// The archived output, as a pointer in a result names it
    pub(crate) id: String,
    /// Only these lines, such as `10-25`, counted from 1
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    pub(crate) lines: Option<String>,
}

/// `cox tool`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Tool {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ToolCommand,
}

/// What `cox tool` may do.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    /// List the tools with what they do
    List,
    /// Run one tool as a session would, and print its result
    Run {
        /// The tool, such as `read`
        name: String,
        /// Its arguments as a JSON object; `-` reads them from stdin
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
        /// Rules to allow in this run, such as `Edit,Bash(cargo test:*)`; may be repeated
        #[arg(long, value_name = "RULES")]
        allowed_tools: Vec<String>,
    },
}

/// `cox sessions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Sessions {
    /// Show this session; the start of its id is enough
    #[arg(value_name = "ID", conflicts_with = "grep")]
    pub(crate) id: Option<String>,
    /// Search prompts, answers and tool results for all of these words
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub(crate) grep: Option<String>,
    /// Most rows to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) limit: u32,
}

/// `cox doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// Finish a change of files that was cut off
    #[arg(long, value_name = "ID", conflicts_with_all = ["undo_write_set", "forget_write_set"])]
    pub(crate) finish_write_set: Option<String>,
    /// Undo a change of files that was cut off
    #[arg(long, value_name = "ID", conflicts_with = "forget_write_set")]
    pub(crate) undo_write_set: Option<String>,
    /// Leave the files of a change that was cut off as they are
    #[arg(long, value_name = "ID")]
    pub(crate) forget_write_set: Option<String>,
    /// Leave files that were changed since as they are, and finish or undo the others
    #[arg(long, conflicts_with = "forget_write_set")]
    pub(crate) skip_changed: bool,
}

/// `cox stats`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Stats {
    /// Only this session, by model; the start of its id is enough
    #[arg(long, value_name = "ID", conflicts_with_all = ["day", "month"])]
    pub(crate) session: Option<String>,
    /// By day of UTC
    #[arg(long, conflicts_with_all = ["month", "by_model"])]
    pub(crate) day: bool,
    /// By month of UTC
    #[arg(long, conflicts_with = "by_model")]
    pub(crate) month: bool,
    /// By provider and model
    #[arg(long)]
    pub(crate) by_model: bool,
}

/// `cox config`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Config {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// `cox permissions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Permissions {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PermissionsCommand,
}

/// What `cox permissions` may do.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Judge a shell line, or a use of a tool, without running it
    Test(PermissionsTest),
    /// Print every rule with where it comes from
    List,
}

/// `cox permissions test`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PermissionsTest {
    /// The shell line
    #[arg(
        value_name = "LINE",
        conflicts_with = "tool",
        allow_hyphen_values = true
    )]
    pub(crate) line: Option<String>,
    /// A tool, such as `edit`
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// What the tool is used on: a path, a URL or another subject
    #[arg(long, value_name = "PATH", requires = "tool")]
    pub(crate) path: Option<String>,
}

/// What `cox config` may do.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every key with its value
    Show {
        /// Say where each value comes from
        #[arg(long)]
        sources: bool,
    },
    /// Print the value of a key
    Get {
        /// The key, such as `core.max_turns`
        key: String,
    },
    /// Set a key in your configuration file, keeping its comments
    Set {
        /// The key, such as `core.provider`
        key: String,
        /// The value; lists as `["a", "b"]`
        value: String,
    },
    /// Print where the configuration files lie
    Path,
}

impl Args {
    /// Returns the settings that were given as flags, as key and text.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let global = &self.global;
        let mut given = Vec::new();
        let mut push = |key, value: &Option<String>| {
            if let Some(value) = value {
                given.push((key, value.clone()));
            }
        };
        push("core.provider", &global.provider);
        push("core.model", &global.model);
        push("sandbox.mode", &global.sandbox);
        push("permissions.mode", &global.permission_mode);
        push("permissions.approval", &global.approve);
        push("budget.session_usd", &global.budget);
        if let Some(Command::Run(run)) = &self.command {
            push("core.max_turns", &run.max_turns);
            push("core.effort", &run.effort);
        }
        given
    }

    /// Returns the rules that were given with `--allowed-tools`.
    pub(crate) fn allowed_tools(&self) -> Vec<String> {
        let texts = match &self.command {
            Some(Command::Run(run)) => &run.allowed_tools,
            Some(Command::Tool(Tool {
                command: ToolCommand::Run { allowed_tools, .. },
            })) => allowed_tools,
            _ => return Vec::new(),
        };
        texts.iter().flat_map(|text| split_rules(text)).collect()
    }
}

/// Splits rules at commas and spaces outside parentheses: `Edit, Bash(git log:*)` is two rules.
pub(crate) fn split_rules(text: &str) -> Vec<String> {
    let mut rules = Vec::new();
    let mut current = String::new();
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (character == ',' || character.is_whitespace()) {
            rules.push(std::mem::take(&mut current));
        } else {
            current.push(character);
        }
    }
    rules.push(current);
    rules.retain(|rule| !rule.is_empty());
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }

    #[test]
    fn a_prompt_may_begin_with_a_dash_and_needs_no_flag() {
        #[track_caller]
        fn check(line: &[&str], expect: Option<&str>) {
            let args = Args::try_parse_from([&["cox", "run"], line].concat());
            let prompt = args.ok().and_then(|args| match args.command {
                Some(Command::Run(run)) => Some(run.prompt().to_owned()),
                _ => None,
            });
            assert_eq!(prompt.as_deref(), expect, "{line:?}");
        }
        check(&["-p", "x"], Some("x"));
        check(&["x"], Some("x"));
        check(&["-"], Some("-"));
        check(&["-p", "-"], Some("-"));
        check(&["-p", "- a list\n- of two"], Some("- a list\n- of two"));
        check(&["--json", "x"], Some("x"));
        check(&["x", "--json"], Some("x"));
        check(&["--", "-x"], Some("-x"));
        check(&["-p", "--json"], None);
        check(&["-p", "x", "y"], None);
        check(&["x", "y"], None);
        check(&[], None);
    }

    #[test]
    fn rules_are_split_outside_parentheses_only() {
        #[track_caller]
        fn check(text: &str, expect: &[&str]) {
            assert_eq!(split_rules(text), expect);
        }
        check("", &[]);
        check("Edit", &["Edit"]);
        check("Edit,Read", &["Edit", "Read"]);
        check("Edit Read", &["Edit", "Read"]);
        check(
            "Edit, Bash(git log:*), Read(a,b)",
            &["Edit", "Bash(git log:*)", "Read(a,b)"],
        );
        check("Bash(echo (a b) c) Edit", &["Bash(echo (a b) c)", "Edit"]);
        check("Bash(never closed", &["Bash(never closed"]);
    }
}
