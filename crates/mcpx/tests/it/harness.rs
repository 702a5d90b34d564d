//! Runs the binary in an environment that holds nothing but what a test gives it, and ends the daemons it started.

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::TempHome;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcpx");

/// A home, a working folder, and what the binary is run with. Its daemons end with it.
pub(crate) struct Mcpx {
    pub(crate) home: TempHome,
    pub(crate) work: TempHome,
    variables: Vec<(String, String)>,
    stdin: Option<String>,
}

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; -1 for a signal.
    pub(crate) code: i32,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it said to people.
    pub(crate) stderr: String,
}

impl Mcpx {
    pub(crate) fn new() -> Self {
        Self {
            home: TempHome::new(),
            work: TempHome::new(),
            variables: Vec::new(),
            stdin: None,
        }
    }

    /// With this configuration as the person's own, which needs no trust.
    pub(crate) fn with(config: &Value) -> Self {
        let mcpx = Self::new();
        mcpx.home
            .write(".config/mcpx/config.json", config.to_string());
        mcpx
    }

    /// With servers of these names, each the demo server.
    pub(crate) fn with_demos(names: &[&str]) -> Self {
        let servers: serde_json::Map<String, Value> = names
            .iter()
            .map(|name| ((*name).to_owned(), demo()))
            .collect();
        Self::with(&json!({"mcpServers": servers}))
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(args)
            .current_dir(self.work.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, None)
    }

    #[track_caller]
    pub(crate) fn run_with(&self, args: &[&str], stdin: Option<&str>) -> Ran {
        let mut command = self.command(args);
        if stdin.is_some() || self.stdin.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        if let Some(text) = stdin.or(self.stdin.as_deref()) {
            // A binary that does not read its stdin closes it; that is for the test to see in other ways.
            drop(child.stdin.take().unwrap().write_all(text.as_bytes()));
        }
        self.ran(child.wait_with_output().unwrap())
    }

    pub(crate) fn ran(&self, output: std::process::Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: self.filtered(&String::from_utf8(output.stdout).unwrap()),
            stderr: self.filtered(&String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Runs it and expects that it worked.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}\n{ran}");
        ran
    }

    /// Runs it with `--json`, expects one document whatever happens, and returns it with the exit code.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> (i32, Value) {
        let ran = self.run(&[&["--json"], args].concat());
        (ran.code, ran.json())
    }

    /// Replaces what varies from run to run.
    pub(crate) fn filtered(&self, text: &str) -> String {
        let real = |path: &Path| path.canonicalize().unwrap().display().to_string();
        text.replace(&real(self.home.path()), "[home]")
            .replace(&real(self.work.path()), "[work]")
            .replace(PROGRAM, "[mcpx]")
    }

    /// The process of the daemon that runs.
    #[track_caller]
    pub(crate) fn daemons(&self) -> Vec<u64> {
        let (_, document) = self.json(&["daemons"]);
        let rows = document["daemons"].as_array().unwrap().clone();
        rows.iter()
            .filter(|row| row["state"] == "answers")
            .map(|row| row["pid"].as_u64().unwrap())
            .collect()
    }
}

/// The demo server as an entry of a list.
pub(crate) fn demo() -> Value {
    json!({"command": PROGRAM, "args": ["demo-server"]})
}

impl Drop for Mcpx {
    fn drop(&mut self) {
        // Without the configuration, which may be one that the test broke.
        drop(self.command(&["--demo", "stop", "--all"]).output());
    }
}

impl Ran {
    /// Returns stdout as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Expects these pieces on stderr.
    #[track_caller]
    pub(crate) fn says(&self, pieces: &[&str]) -> &Self {
        for piece in pieces {
            assert!(self.stderr.contains(piece), "`{piece}` is missing:\n{self}");
        }
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}
