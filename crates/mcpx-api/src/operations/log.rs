//! What happened.

use crate::operation::{Effect, Kind, Method, Operation, Output, Param};
use crate::operations::Op;

const LEVELS: &[&str] = &["debug", "info", "warn", "error"];
const SINCE: Param = Param::query(
    "since",
    Kind::Text,
    "from this time on: `10m`, `2h`, `7d`, a date, or a whole timestamp; dates are in UTC",
);
const UNTIL: Param = Param::query("until", Kind::Text, "up to this time");
const SERVER: Param = Param::query("server", Kind::Text, "only this server");
const TOOL: Param = Param::query("tool", Kind::Text, "only this tool");
const SESSION: Param = Param::query("session", Kind::Text, "only this session");

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        id: Op::LogQuery,
        name: "log_query",
        method: Method::Get,
        path: "/v1/log",
        summary: "Records of the log.",
        params: &[
            SINCE,
            UNTIL,
            Param::query(
                "level",
                Kind::Text,
                "from this level on: `debug`, `info`, `warn`, `error`",
            )
            .one_of(LEVELS),
            Param::query(
                "event",
                Kind::Text,
                "only these events: `mcp.call`, `server.*`",
            ),
            SERVER,
            TOOL,
            SESSION,
            Param::query("trace", Kind::Text, "only this span"),
            Param::query(
                "chain",
                Kind::Text,
                "this span and those it belongs to, as a tree; with no other filter",
            ),
            Param::query("grep", Kind::Text, "only records with this text"),
            Param::query(
                "limit",
                Kind::Number,
                "how many at most, the newest of them; 10,000 are the most",
            ),
            Param::query("reverse", Kind::Switch, "newest first"),
            Param::query(
                "after",
                Kind::Text,
                "all that came after this place: the `cursor` of the answer before; `limit` does not cut it",
            ),
        ],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: Some("mcpx_log"),
        word: Some("log"),
    },
    Operation {
        id: Op::LogRecord,
        name: "log_record",
        method: Method::Post,
        path: "/v1/log",
        summary: "Writes a record into the log.",
        params: &[
            Param::body("msg", Kind::Text, "what happened").required(),
            Param::body("level", Kind::Text, "`debug`, `info`, `warn` or `error`").one_of(LEVELS),
            Param::body("event", Kind::Text, "its kind"),
            Param::body("server", Kind::Text, "the server it is about"),
            Param::body("tool", Kind::Text, "the tool it is about"),
            Param::body("durationMs", Kind::Number, "how long it took"),
            Param::body("attributes", Kind::Object, "more of it"),
        ],
        effect: Effect::Changes,
        idempotent: false,
        output: Output::Json,
        tool: None,
        word: Some("log record"),
    },
    Operation {
        id: Op::StatsQuery,
        name: "stats_query",
        method: Method::Get,
        path: "/v1/stats",
        summary: "Calls counted: by tool, server, instance, error or session.",
        params: &[
            Param::query(
                "by",
                Kind::Text,
                "`calls`, `servers`, `instances`, `errors`, `sessions`, `volume` or `slowest`",
            )
            .one_of(&[
                "calls",
                "servers",
                "instances",
                "errors",
                "sessions",
                "volume",
                "slowest",
            ]),
            SINCE,
            UNTIL,
            SERVER,
            TOOL,
            SESSION,
            Param::query("top", Kind::Number, "how many rows"),
        ],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("stats"),
    },
];
