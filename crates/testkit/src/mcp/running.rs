//! Runs the chaos server: as a child of the program under test, or on a loopback port.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{CommandLine, Received};
use crate::wait_until;

const FILES: [(&str, &str); 6] = [
    ("chaos.py", include_str!("chaos/chaos.py")),
    ("server.py", include_str!("chaos/server.py")),
    ("call.py", include_str!("chaos/call.py")),
    ("tasks.py", include_str!("chaos/tasks.py")),
    ("outcome.py", include_str!("chaos/outcome.py")),
    ("web.py", include_str!("chaos/web.py")),
];

/// The script's files. They go away when it is dropped.
#[derive(Debug)]
struct Files {
    dir: TempDir,
}

impl Files {
    fn write(mut config: Value) -> Self {
        let dir = tempfile::Builder::new().prefix("chaos-").tempdir().unwrap();
        for (name, text) in FILES {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let record = dir.path().join("received.jsonl");
        config["record"] = record.to_str().unwrap().into();
        fs::write(&record, "").unwrap();
        fs::write(dir.path().join("script.json"), config.to_string()).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, transport: &str) -> CommandLine {
        let [program, script] =
            ["chaos.py", "script.json"].map(|name| self.path(name).display().to_string());
        // No site packages, no environment, no compiled files: it starts in some 100 ms.
        CommandLine::new("python3", &["-S", "-E", "-B", &program, &script, transport])
    }

    fn received(&self) -> Received {
        Received::parse(&fs::read_to_string(self.path("received.jsonl")).unwrap())
    }

    #[track_caller]
    fn wait_for(&self, what: &str, condition: impl Fn(&Received) -> bool) -> Received {
        wait_until(what, Duration::from_secs(20), || {
            condition(&self.received())
        });
        self.received()
    }
}

/// A server that the program under test starts itself.
#[derive(Debug)]
pub struct StdioChaos {
    files: Files,
}

impl StdioChaos {
    pub(super) fn new(config: Value) -> Self {
        Self {
            files: Files::write(config),
        }
    }

    /// Returns what starts it. Every start adds to the same record.
    pub fn command(&self) -> CommandLine {
        self.files.command("stdio")
    }

    /// Returns what it received so far.
    pub fn received(&self) -> Received {
        self.files.received()
    }

    /// Waits until what it received is like this, and returns it.
    ///
    /// # Panics
    ///
    /// When that does not come true within 20 seconds.
    #[track_caller]
    pub fn wait_for(&self, what: &str, condition: impl Fn(&Received) -> bool) -> Received {
        self.files.wait_for(what, condition)
    }
}

/// A server on a loopback port. Killed when it is dropped; ends by itself when the test's process does.
#[derive(Debug)]
pub struct HttpChaos {
    files: Files,
    child: Child,
    url: String,
}

impl HttpChaos {
    #[track_caller]
    pub(super) fn start(config: Value) -> Self {
        let files = Files::write(config);
        let mut child = files
            .command("http")
            .to_command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("python3: {error}"));
        let mut url = String::new();
        let read = BufReader::new(child.stdout.take().unwrap()).read_line(&mut url);
        assert!(
            read.is_ok() && url.starts_with("http://"),
            "the chaos server named no address: {url:?}"
        );
        Self {
            files,
            child,
            url: url.trim().to_owned(),
        }
    }

    /// Returns `http://127.0.0.1:PORT/mcp`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns what it received so far.
    pub fn received(&self) -> Received {
        self.files.received()
    }

    /// Waits until what it received is like this, and returns it.
    ///
    /// # Panics
    ///
    /// When that does not come true within 20 seconds.
    #[track_caller]
    pub fn wait_for(&self, what: &str, condition: impl Fn(&Received) -> bool) -> Received {
        self.files.wait_for(what, condition)
    }
}

impl Drop for HttpChaos {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
