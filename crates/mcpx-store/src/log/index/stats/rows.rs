//! One row of what was added up, for each dimension. Names and messages in it are text from outside.

use serde::Serialize;

/// The calls of one tool. A result with `isError` is a failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallStats {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How many.
    pub calls: u64,
    /// Of those, failed.
    pub failed: u64,
    /// All their time, in milliseconds.
    pub total_ms: f64,
    /// Half of them took no longer.
    pub p50_ms: f64,
    /// 95 of 100 took no longer.
    pub p95_ms: f64,
    /// 99 of 100 took no longer.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// When the last one ended.
    pub last: String,
}

/// One server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStats {
    /// The server.
    pub server: String,
    /// Calls.
    pub calls: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Tools that were called.
    pub tools: u64,
    /// Time of all calls, in milliseconds.
    pub total_ms: f64,
    /// Instances that started.
    pub starts: u64,
    /// Instances that stopped.
    pub stops: u64,
    /// Warnings.
    pub warnings: u64,
    /// When it last did something.
    pub last: String,
}

/// One instance of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStats {
    /// The instance.
    pub instance: String,
    /// Its server.
    pub server: Option<String>,
    /// When it started.
    pub started: Option<String>,
    /// When it stopped.
    pub stopped: Option<String>,
    /// Why it stopped.
    pub reason: Option<String>,
    /// Calls.
    pub calls: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Time of all calls, in milliseconds.
    pub total_ms: f64,
}

/// One kind of failure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorStats {
    /// The message without what varies.
    pub template: String,
    /// Its event.
    pub event: Option<String>,
    /// Its server.
    pub server: Option<String>,
    /// Its tool.
    pub tool: Option<String>,
    /// How often.
    pub count: u64,
    /// When first.
    pub first: String,
    /// When last.
    pub last: String,
    /// The last message.
    pub example: String,
}

/// One session of a caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionStats {
    /// The session.
    pub session: String,
    /// Calls.
    pub calls: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Servers that were called.
    pub servers: u64,
    /// Time of all calls, in milliseconds.
    pub total_ms: f64,
    /// When it first did something.
    pub first: String,
    /// When it last did something.
    pub last: String,
}

/// Records of one event.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeStats {
    /// The event; empty for records without.
    pub event: String,
    /// How many.
    pub records: u64,
    /// Their bytes in the files.
    pub bytes: u64,
    /// Of all bytes, from 0 to 1.
    pub share: f64,
}

/// One call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Slow {
    /// When it ended.
    pub ts: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// Whether it succeeded.
    pub ok: Option<bool>,
    /// The session.
    pub session: Option<String>,
    /// The trace.
    pub trace: Option<String>,
}
