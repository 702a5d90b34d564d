//! A hub of one's own: a home, a configuration, and the daemons that commands start there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use mcp_wire::Object;
use mcpx_api::client::Endpoint;
use mcpx_api::reply::{ServerStatus, Status};
use mcpx_api::{Caller, Client, Op, operation};
use mcpx_store::StateDir;
use mcpx_store::daemons::{DaemonRecord, Daemons};
use serde_json::{Value, json};
use testkit::mcp::CommandLine;
use testkit::{TempHome, wait_until};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mcpx");

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A home with a configuration. When it is dropped its daemons are stopped, and nothing of theirs may be left.
pub(crate) struct Hub {
    pub(crate) home: TempHome,
    /// Variables of its commands, besides those that each has.
    variables: Mutex<Vec<String>>,
}

/// A process of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Its command line, with spaces between the arguments.
    pub(crate) command: String,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Hub {
    /// A hub with these servers.
    pub(crate) fn new(servers: &Value) -> Self {
        let hub = Self {
            home: TempHome::new(),
            variables: Mutex::default(),
        };
        hub.home.write("stateful.py", include_str!("stateful.py"));
        hub.configure(servers);
        hub
    }

    /// Writes the configuration anew. Idle servers are looked for often.
    pub(crate) fn configure(&self, servers: &Value) {
        let config = json!({ "mcpServers": servers, "daemon": { "reapInterval": "100ms" } });
        self.home.write("mcpx.json", format!("{config:#}"));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Gives the commands that follow more variables.
    pub(crate) fn add_variables(&self, variables: &[(&str, &str)]) {
        let spelled = variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        self.variables.lock().unwrap().extend(spelled);
    }

    /// A command of the hub, for whoever starts it in whatever environment.
    pub(crate) fn line(&self, args: &[&str]) -> CommandLine {
        let config = self.path("mcpx.json");
        self.line_with(&[format!("MCPX_CONFIG={}", config.display())], args)
    }

    fn line_with(&self, more: &[String], args: &[&str]) -> CommandLine {
        let home = self.home.path().display();
        let mut all = vec![
            "-i".to_owned(),
            format!("PATH={}", std::env::var("PATH").unwrap()),
            format!("HOME={home}"),
            format!("MCPX_STATE_DIR={home}/state"),
        ];
        all.extend_from_slice(more);
        all.extend_from_slice(&self.variables.lock().unwrap());
        all.push(PROGRAM.to_owned());
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        CommandLine {
            program: "env".to_owned(),
            args: all,
        }
    }

    /// The same, ready to be started in the home.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.line(args).to_command();
        command.current_dir(self.home.path()).stdin(Stdio::null());
        command
    }

    /// A command in a folder, with the configuration that is found there.
    pub(crate) fn command_in(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.line_with(&[], args).to_command();
        command.current_dir(folder).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Runs a command that must do what it is told, and returns what it prints.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.out.trim_end().to_owned()
    }

    /// The same with its one JSON document.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(&[&["--json"], args].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Status {
        serde_json::from_value(self.json(&["status"])).unwrap()
    }

    /// What the daemon says of one server.
    #[track_caller]
    pub(crate) fn server(&self, name: &str) -> ServerStatus {
        let mut servers = self.status().servers.into_iter();
        servers.find(|server| server.name == name).unwrap()
    }

    pub(crate) fn records(&self) -> Vec<DaemonRecord> {
        Daemons::new(&StateDir::at(self.state())).list().records
    }

    /// The record of the one daemon.
    #[track_caller]
    pub(crate) fn record(&self) -> DaemonRecord {
        let mut records = self.records();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    /// A client of the running daemon, over its Unix socket.
    pub(crate) fn client(&self, caller: Caller) -> Client {
        Client::new(Endpoint::Unix(self.record().socket), caller, PATIENCE)
    }

    /// What the daemon says of itself, whatever the files are like now.
    pub(crate) fn asked_status(&self) -> Status {
        let client = self.client(Caller::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let nothing = Object::new();
        let answer = runtime.block_on(client.send(operation(Op::Status), &nothing));
        answer.unwrap().read().unwrap()
    }

    /// Everything that runs with this home: commands, daemons and servers. By process id.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let home = format!("HOME={}\0", self.home.path().display());
        processes_of(&home)
    }

    /// Those of which the command line holds this.
    pub(crate) fn processes_with(&self, part: &str) -> Vec<Process> {
        let all = self.processes().into_iter();
        all.filter(|process| process.command.contains(part))
            .collect()
    }

    /// The guardians of the daemons that have a record.
    pub(crate) fn guardians(&self) -> Vec<Process> {
        let daemons = self.records().into_iter();
        let of = |pid| processes_of(&format!("CHILD_PROCESS_TREE={pid}."));
        let all = daemons.flat_map(|daemon| of(daemon.pid));
        all.filter(|one| one.command.ends_with(" guard")).collect()
    }

    #[track_caller]
    pub(crate) fn wait_until_nothing_runs(&self) {
        wait_until("nothing of it runs", PATIENCE, || {
            self.processes().is_empty()
        });
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let guardians = self.guardians();
        drop(self.command(&["stop", "--all"]).output());
        // A killed daemon's guardian has seconds for what is left.
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        let left = || {
            let guardians = guardians.iter().filter(|one| runs(one.pid)).cloned();
            self.processes()
                .into_iter()
                .chain(guardians)
                .collect::<Vec<_>>()
        };
        while !left().is_empty() && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let left = left();
        for process in &left {
            signal("KILL", process.pid);
        }
        if !std::thread::panicking() {
            assert_eq!(left, Vec::new(), "processes outlived `mcpx stop`");
        }
    }
}

/// A Python server that keeps state; see `stateful.py`.
pub(crate) fn stateful(mcpx: Value) -> Value {
    json!({ "command": "python3", "args": ["-S", "-E", "-B", "${userHome}/stateful.py"], "mcpx": mcpx })
}

/// A server by its command line.
pub(crate) fn program(line: &CommandLine) -> Value {
    json!({ "command": line.program, "args": line.args })
}

pub(crate) fn signal(name: &str, pid: u32) {
    let killed = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .stderr(Stdio::null())
        .status();
    drop(killed);
}

/// Whether a process is there. One that is dying is, until its last thread has closed what it held open.
pub(crate) fn runs(pid: u32) -> bool {
    let folder = Path::new("/proc").join(pid.to_string());
    let Ok(stat) = fs::read_to_string(folder.join("stat")) else {
        return false;
    };
    let is_zombie = stat
        .rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']));
    let threads = fs::read_dir(folder.join("task")).map_or(0, Iterator::count);
    !is_zombie || threads > 1
}

fn command_of(pid: u32) -> String {
    let line = fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
    let line = String::from_utf8_lossy(&line.unwrap_or_default()).replace('\0', " ");
    line.trim_end().to_owned()
}

/// The processes whose environment holds this.
fn processes_of(entry: &str) -> Vec<Process> {
    let mut found: Vec<Process> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|folder| {
            let pid = folder.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(folder.path().join("environ")).ok()?;
            let mut parts = environment.windows(entry.len());
            let is_one = parts.any(|part| part == entry.as_bytes());
            let command = command_of(pid);
            is_one.then_some(Process { pid, command })
        })
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}
