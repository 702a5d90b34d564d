//! Runs the binary in an environment that holds nothing but what a test gives it.

use std::{
    fmt,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use testkit::{FakeModel, TempHome};

/// A home, a working folder that is a repository, and what the binary is run with.
pub(crate) struct Cox {
    /// The person's home; cox's own is `.cox` in it.
    pub(crate) home: TempHome,
    /// The working folder.
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

impl Cox {
    pub(crate) fn new() -> Self {
        let work = TempHome::new();
        work.write(".git/HEAD", "ref: refs/heads/main\n");
        Self {
            home: TempHome::new(),
            work,
            variables: Vec::new(),
            stdin: None,
        }
    }

    /// Makes one whose provider is a fake model that speaks Chat Completions.
    pub(crate) fn with_model(model: &FakeModel) -> Self {
        let cox = Self::new();
        cox.home.write(
            ".cox/config.toml",
            format!(
                "[core]\nprovider = \"fake\"\n\n[providers.fake]\nbase_url = \"{}/v1\"\napi = \"chat\"\nmodel = \"fake-1\"\n",
                model.url()
            ),
        );
        cox
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        self.stdin = Some(text.to_owned());
        self
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cox"));
        command
            .args(args)
            .current_dir(self.work.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        let stdin = if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut child = command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(text) = &self.stdin {
            // A binary that does not read its stdin closes it; that is for the test to see in other ways.
            drop(child.stdin.take().unwrap().write_all(text.as_bytes()));
        }
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: self.filtered(&String::from_utf8(output.stdout).unwrap()),
            stderr: self.filtered(&String::from_utf8(output.stderr).unwrap()),
        }
    }

    /// Replaces what varies from run to run.
    pub(crate) fn filtered(&self, text: &str) -> String {
        let real = |path: &Path| path.canonicalize().unwrap().display().to_string();
        text.replace(&real(self.home.path()), "[home]")
            .replace(&real(self.work.path()), "[work]")
    }
}

impl Ran {
    /// Returns stdout as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Returns stdout as lines of JSON.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}\n{self}"))
            })
            .collect()
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "exit code {}\n--- stdout\n{}--- stderr\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}
