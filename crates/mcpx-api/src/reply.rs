//! The shapes of replies that more than one place reads: the daemon writes them, the commands print them.

use serde::{Deserialize, Serialize};

/// `GET /v1/health`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `ok`, or `stopping`.
    pub status: String,
    /// The daemon's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_sec: u64,
    /// Its TCP endpoint, when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// One row of `GET /v1/namespaces`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Namespace {
    /// The identifier.
    pub namespace: String,
    /// The configured name.
    pub server: String,
    /// How many tools; absent when they were never read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// How many resources; absent when they were never read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<usize>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many instances run.
    pub live: usize,
    /// `shared` or `exclusive`.
    pub sharing: String,
    /// The scope's word.
    pub scope: String,
    /// `ready`, `unread`, `error`, `untrusted`, `unavailable` or `disabled`.
    pub state: String,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Whether the counts come from an earlier reading and no instance confirmed them since the daemon began.
    pub cached: bool,
    /// Names of the variables it cannot do without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires_secrets: Vec<String>,
}

/// One row of `GET /v1/search`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// `namespace.function`, as a call is written.
    pub function: String,
    /// The namespace.
    pub namespace: String,
    /// The configured server.
    pub server: String,
    /// The tool's own name.
    pub tool: String,
    /// The first line of its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `exact`, `prefix` or `words`.
    pub matched: String,
    /// How well, among those of one kind.
    pub score: f64,
}

/// One server of `GET /v1/status`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// The configured name.
    pub name: String,
    /// The identifier.
    pub namespace: String,
    /// The pool's identity; servers with the same one share its instances.
    pub pool: String,
    /// `shared` or `exclusive`.
    pub sharing: String,
    /// The scope's word.
    pub scope: String,
    /// Instances at most.
    pub max: usize,
    /// Instances kept.
    pub min: usize,
    /// Other names of what runs: entries that are launched in the same way, and views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares_with: Vec<String>,
    /// Callers that wait for one.
    pub waiting: usize,
    /// Tools; absent when never read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// Seconds since they were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_age_sec: Option<u64>,
    /// As in [`Namespace`].
    pub state: String,
    /// Whether the last list of its tools succeeded; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthy: Option<bool>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What was left out of its list of tools, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// How it is reached, resolved, without secrets.
    pub reached: String,
    /// The deadlines that apply, in milliseconds: start, call, idle, queue.
    pub timeouts_ms: TimeoutsMs,
    /// Where these and the sizes come from.
    #[serde(default)]
    pub sizes_from: SizesFrom,
    /// What runs.
    pub instances: Vec<InstanceStatus>,
}

/// Where the sizes and times of a server come from, in words: a file and a line, or a setting and its source.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SizesFrom {
    /// The time to become ready.
    pub start: String,
    /// The time of one call.
    pub call: String,
    /// The life of an unused instance.
    pub idle: String,
    /// The wait for room.
    pub queue: String,
    /// The most instances.
    pub max: String,
    /// The instances kept.
    pub min: String,
}

/// What it spares that clients share what runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Saving {
    /// Clients that are connected.
    pub clients: usize,
    /// Servers that can be used, each program and address once.
    pub servers: usize,
    /// Instances that run.
    pub instances: usize,
    /// Calls that they have answered.
    pub calls: u64,
    /// Instances there would be, if each client ran every server by itself.
    pub apart: usize,
}

/// The deadlines of a server, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
pub struct TimeoutsMs {
    /// To become ready.
    pub start: u64,
    /// One call.
    pub call: u64,
    /// Unused before it ends.
    pub idle: u64,
    /// Waiting for room.
    pub queue: u64,
}

/// One instance of `GET /v1/status`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// `name#seq`.
    pub id: String,
    /// Its process, when it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Calls that hold it.
    pub holders: usize,
    /// Whose it is.
    pub key: String,
    /// Calls so far.
    pub calls: u64,
    /// Seconds since its start.
    pub uptime_sec: u64,
    /// Seconds since its last call.
    pub idle_sec: u64,
    /// The revision that is spoken.
    pub protocol: String,
    /// The log's span of its life, `srv-…`.
    pub trace: String,
}

/// `GET /v1/status`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The daemon's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// Seconds since its start.
    pub uptime_sec: u64,
    /// Its TCP endpoint, when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Its Unix socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// The configuration files, nearest first.
    pub config: Vec<String>,
    /// What is wrong with the configuration, when it could not be taken up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_error: Option<String>,
    /// What to know about the configuration besides, such as that its files are others than those the daemon was started
    /// for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_note: Option<String>,
    /// How the log fares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogStatus>,
    /// Clients that are connected and share what runs.
    pub clients: usize,
    /// What that spares.
    #[serde(default)]
    pub saving: Saving,
    /// The servers.
    pub servers: Vec<ServerStatus>,
}

/// How the log fares.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LogStatus {
    /// Records that were written.
    pub written: u64,
    /// Records that were lost, because too many waited or the disk refused them.
    pub lost: u64,
    /// What the disk says, while it refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<String>,
}
