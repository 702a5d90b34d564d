//! The rows. What a row says is true for the file, the variable, the flag, the API and the page.

use super::{Key, Kind, Setting, SettingScope, of};
use crate::server::PROTOCOL_ALIASES;

const LEVELS: &[&str] = &["debug", "info", "warn", "error"];
const SCOPES: &[&str] = &[
    "global",
    "repo",
    "worktree",
    "cwd",
    "session",
    "parent-session",
    "pid",
    "call",
];

macro_rules! settings {
    ($($name:ident: $kind:ident $path:literal = $default:literal, $scope:ident, $help:literal $(, $method:ident($($argument:expr)?))*;)*) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "spelled as the constants that they number")]
        enum Row { $($name),* }

        /// Every setting, in the order of the page.
        pub const SETTINGS: &[Setting] = &[$(
            Setting::new($path, Kind::$kind, $default, SettingScope::$scope, $help)$(.$method($($argument)?))*
        ),*];

        pub(super) mod keys {
            use super::{Key, Row, of};
            $(
                #[doc = concat!("`", $path, "`: ", $help, ".")]
                pub const $name: Key<of::$kind> = Key::new(Row::$name as usize);
            )*
        }
    };
}

settings! {
    AUTOSTART_ARGS: List "autostart.args" = "daemon,--detached", Client, "arguments of a daemon that a command starts", plumbing(), guarded();
    AUTOSTART_BIN: Text "autostart.bin" = "", Client, "program to start as the daemon; empty: this one", guarded();
    AUTOSTART_CONNECT_TIMEOUT: Duration "autostart.connectTimeout" = "20s", Client, "wait for a daemon that was started", positive();
    AUTOSTART_IDLE_EXIT: Duration "autostart.idleExit" = "4h", Client, "idle life of a daemon that a command starts";
    AUTOSTART_LOG_TAIL: Bytes "autostart.logTail" = "2000", Client, "bytes of its log that are shown when a start fails", plumbing();
    AUTOSTART_PING_TIMEOUT: Duration "autostart.pingTimeout" = "2s", Client, "wait for an answer to a health check", plumbing(), positive();

    CATALOG_BIAS: List "catalog.bias" = "", Call, "words that raise matching tools", hot(), flags(&["--bias"]);
    CATALOG_BUDGET: Int "catalog.budget" = "2000", Call, "most tokens of the listing", hot(), flags(&["--budget"]);
    CATALOG_INSTRUCTIONS: Bool "catalog.instructions" = "true", Call, "print the servers' own guidance", hot();

    DAEMON_ADDRESS: Text "daemon.address" = "127.0.0.1", Daemon, "address to listen on", flags(&["--address"]), guarded();
    DAEMON_AUTOSTART: Bool "daemon.autostart" = "true", Client, "start a daemon when none answers";
    DAEMON_ENDPOINT: Text "daemon.endpoint" = "", Client, "the daemon to use: an http URL, or unix:// and a path", guarded();
    DAEMON_IDLE_EXIT: Duration "daemon.idleExit" = "0s", Daemon, "end after this time without work; 0: never", hot(), flags(&["--idle-exit"]);
    DAEMON_LEASE_TTL: Duration "daemon.leaseTTL" = "30m", Daemon, "when the instances of a silent caller are released", hot(), plumbing(), positive();
    DAEMON_PORT: Int "daemon.port" = "0", Daemon, "TCP port; 0: any free one", flags(&["--port"]), at_most(65_535), guarded();
    DAEMON_PROBE_TIMEOUT: Duration "daemon.probeTimeout" = "200ms", Client, "wait for another daemon's socket", plumbing(), positive();
    DAEMON_REAP_INTERVAL: Duration "daemon.reapInterval" = "30s", Daemon, "pause between two looks for idle instances and edited files", hot(), plumbing(), positive();
    DAEMON_REFRESH_TIMEOUT: Duration "daemon.refreshTimeout" = "3m", Daemon, "longest refresh", hot(), positive();
    DAEMON_SAVE_INTERVAL: Duration "daemon.saveInterval" = "5m", Daemon, "pause between two writes of the schema cache", hot(), plumbing(), positive();
    DAEMON_WARM: Bool "daemon.warm" = "true", Daemon, "read all schemas in the background after the start", flags(&["--warm"]);
    DAEMON_WARM_TIMEOUT: Duration "daemon.warmTimeout" = "3m", Daemon, "longest background read", plumbing(), positive();
    DAEMON_WATCH_CONFIG: Bool "daemon.watchConfig" = "true", Daemon, "take edited configuration files", hot();

    DOCTOR_TIMEOUT: Duration "doctor.timeout" = "20s", Client, "wait for the daemon in `doctor`", positive();

    EVENTS_HISTORY: Int "events.history" = "1024", Daemon, "events kept for those who come back";
    EVENTS_RECONNECT: Duration "events.reconnect" = "2s", Client, "pause before a dropped stream is resumed", positive();

    HTTP_BODY_LIMIT: Bytes "http.bodyLimit" = "1MiB", Daemon, "largest ordinary request", hot(), plumbing(), guarded(), positive();
    HTTP_CALL_BODY_LIMIT: Bytes "http.callBodyLimit" = "64MiB", Daemon, "largest request with a tool call", hot(), guarded(), positive();
    HTTP_READ_HEADER_TIMEOUT: Duration "http.readHeaderTimeout" = "10s", Daemon, "time for the head of a request", hot(), plumbing(), guarded(), positive();
    HTTP_REQUEST_TIMEOUT: Duration "http.requestTimeout" = "10m", Client, "longest request of a command", positive();
    HTTP_SHUTDOWN_GRACE: Duration "http.shutdownGrace" = "5s", Daemon, "time for open work when the daemon stops", hot();
    HTTP_SSE_PING: Duration "http.ssePing" = "15s", Daemon, "pause between comments on a quiet stream", hot(), plumbing(), positive();
    HTTP_SSE_RETRY: Duration "http.sseRetry" = "2s", Daemon, "when subscribers are told to come back", hot(), plumbing();

    LOGGING_FORMAT: Enum "logging.format" = "text", Client, "how records are printed", choices(&["text", "logfmt", "json", "json-pretty", "compact", "bare"]), flags(&["--format"]);
    LOGGING_INCLUDE: List "logging.include" = "host,user,process,version", Daemon, "context that records of starts and stops carry", hot(), flags(&["--include"]);
    LOGGING_KEEP: Int "logging.keep" = "8", Daemon, "old log files kept", flags(&["--keep"]), guarded();
    LOGGING_LEVEL: Enum "logging.level" = "info", Daemon, "lowest level kept", hot(), choices(LEVELS), flags(&["--log-level"]), vars(&["MCPX_LOG_LEVEL"]), guarded();
    LOGGING_MAX_AGE: Duration "logging.maxAge" = "24h", Daemon, "age at which a log file is closed", guarded(), positive();
    LOGGING_MAX_BYTES: Bytes "logging.maxBytes" = "16MB", Daemon, "size at which a log file is closed", guarded(), positive();
    LOGGING_MAX_LINES: Int "logging.maxLines" = "0", Daemon, "records at which a log file is closed; 0: any number", guarded();

    LOGSTORE_FOLLOW_BACKLOG: Int "logstore.followBacklog" = "1000", Client, "records of one look while following", plumbing(), positive();
    LOGSTORE_QUERY_LIMIT: Int "logstore.queryLimit" = "100", Call, "records of a query", hot(), positive();

    MCP_PASSTHROUGH: List "mcp.passthrough" = "", Client, "servers offered under their tools' own names", flags(&["--passthrough"]);

    OUTPUT_COLOR: Enum "output.color" = "auto", Client, "colour", choices(&["auto", "always", "never"]);
    OUTPUT_JSON: Bool "output.json" = "false", Client, "print one JSON document", flags(&["--json"]);

    PATHS_CONFIG: Paths "paths.config" = "", Client, "files and folders to read instead of walking up from the current folder", not_in_file();
    PATHS_CONFIG_FILE: Text "paths.configFile" = "", Client, "the one configuration file to read", flags(&["--config"]), vars(&["MCPX_CONFIG"]), not_in_file();
    PATHS_STATE: Text "paths.state" = "", Client, "folder of sockets, records and logs", vars(&["MCPX_STATE_DIR"]), not_in_file();

    PLUMBING_STRICT_UNKNOWN_KEYS: Bool "plumbing.strictUnknownKeys" = "false", Client, "refuse keys that mean nothing", plumbing();

    POOL_CALL_TIMEOUT: Duration "pool.callTimeout" = "2m", Daemon, "longest call of a tool; 0: no limit", hot();
    POOL_GLOBAL_MAX: Int "pool.globalMax" = "64", Daemon, "most instances of all servers together", hot(), guarded(), positive();
    POOL_IDLE_TIMEOUT: Duration "pool.idleTimeout" = "5m", Daemon, "life of an unused instance; 0: for ever", hot();
    POOL_MAX: Int "pool.max" = "4", Daemon, "most instances of a server", hot(), positive();
    POOL_MIN: Int "pool.min" = "0", Daemon, "instances of a server that are started ahead and stay", hot();
    POOL_QUEUE_TIMEOUT: Duration "pool.queueTimeout" = "30s", Daemon, "wait for a free instance", hot(), positive();
    POOL_SCOPE: Enum "pool.scope" = "global", Daemon, "what an instance belongs to", hot(), choices(SCOPES), guarded();
    POOL_SHARING: Enum "pool.sharing" = "shared", Daemon, "how many callers an instance serves at a time", hot(), choices(&["shared", "exclusive"]), guarded_unless("exclusive");
    POOL_START_TIMEOUT: Duration "pool.startTimeout" = "60s", Daemon, "time for a server to become ready", hot(), positive();

    PRESET: List "preset" = "", Client, "presets to apply, in this order", guarded();
    PRESETS: Json "presets" = "", Client, "presets: a name and a list of flags each", guarded();

    PROFILE_ALL: Bool "profile.all" = "false", Client, "all servers, whatever their groups", flags(&["--all-profiles"]);
    PROFILE_NAMES: List "profile.names" = "", Client, "groups of servers that come in addition", flags(&["--profile"]), vars(&["MCPX_PROFILE"]);
    PROFILE_SKIP_DEFAULT: Bool "profile.skipDefault" = "false", Client, "the named groups alone", flags(&["--skip-default"]);

    PROTO_ASK_ROUNDS: Int "proto.askRounds" = "8", Daemon, "how often one request may come back with a question";
    PROTO_ASK_TTL: Duration "proto.askTTL" = "15m", Daemon, "how long a call that waits for an answer is kept", hot(), plumbing(), positive();
    PROTO_ASK_TIMEOUT: Duration "proto.askTimeout" = "10m", Daemon, "how long a request is held", positive();
    PROTO_MCP_PATH: Text "proto.mcpPath" = "/mcp", Daemon, "path of the MCP server", guarded();
    PROTO_SERVE_MCP: Bool "proto.serveMCP" = "true", Daemon, "offer MCP over HTTP", guarded_unless("false");
    PROTO_SESSION_IDLE: Duration "proto.sessionIdle" = "30m", Daemon, "life of an unused HTTP session", plumbing(), positive();
    PROTO_STATE_TTL: Duration "proto.stateTTL" = "30m", Daemon, "how long the state of a question is valid", plumbing(), positive();
    PROTO_MESSAGES_LIST_MAX_AGE: Duration "protoMessages.listMaxAge" = "1m", Daemon, "how long clients may keep a list", hot();
    PROTO_MESSAGES_READ_MAX_AGE: Duration "protoMessages.readMaxAge" = "0s", Daemon, "how long clients may keep a resource", hot();
    PROTO_MESSAGES_TASK_AFTER: Duration "protoMessages.taskAfter" = "2s", Daemon, "when a call becomes a task", hot();
    PROTO_TASKS_POLL_INTERVAL: Duration "protoTasks.pollInterval" = "1s", Daemon, "how often clients should look for a task", hot(), positive();

    RESULTS_INLINE_MAX_BYTES: Bytes "results.inlineMaxBytes" = "64KiB", Call, "larger results become handles", hot(), positive();
    RESULTS_KEEP: Duration "results.keep" = "24h", Daemon, "how long the result behind a handle is kept", hot(), guarded();
    RESULTS_QUOTA: Bytes "results.quota" = "256MiB", Daemon, "most bytes of kept results", hot(), guarded();

    SEARCH_LIMIT: Int "search.limit" = "20", Call, "results of a search", hot(), flags(&["--limit", "--n", "-n"]), positive();
    SOCKET_PATH: Text "socketPath" = "", Daemon, "path of the Unix socket; empty: in the state folder", guarded();
    STATS_TOP: Int "stats.top" = "20", Call, "rows of a ranking", hot(), positive();

    TASKS_RESULT_WAIT: Duration "tasks.resultWait" = "2m", Call, "wait for the result of a task", hot();
    TASKS_TTL: Duration "tasks.ttl" = "10m", Daemon, "how long a finished task is kept", hot(), positive();

    TRANSPORT_ALLOWED_ORIGINS: List "transport.allowedOrigins" = "", Daemon, "web origins that may call", guarded();
    TRANSPORT_SSE_KEEP_ALIVE: Duration "transport.sseKeepAlive" = "15s", Daemon, "pause between comments on MCP streams", positive();
    TRANSPORT_STDIO_DRAIN: Duration "transport.stdioDrain" = "30s", Client, "time for open work when stdin ends";

    UPSTREAM_ERA_CACHE: Bool "upstream.eraCache" = "true", Daemon, "remember which era a server speaks";
    UPSTREAM_PROBE_TIMEOUT: Duration "upstream.probeTimeout" = "10s", Daemon, "wait for an answer of the newer era, at most half of the start time", positive();
    UPSTREAM_PROTOCOL: Enum "upstream.protocol" = "prefer-discover", Daemon, "which era is tried first", hot(), choices(&["prefer-discover", "prefer-initialize", "force-discover", "force-initialize", "follow"]), also(PROTOCOL_ALIASES);
}
