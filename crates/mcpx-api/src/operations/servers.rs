//! Which servers there are, and the settings.

use crate::operation::{Effect, Kind, Method, Operation, Output, Param};
use crate::operations::Op;

const WHERE: &str = "`project` or `user`; without it the person's own file";
const FILES: &[&str] = &["project", "user"];
const PERSIST: &[&str] = &["runtime", "project", "user"];
const PATH: Param = Param::path("path", "the setting, `pool.idleTimeout`");

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        id: Op::ServersList,
        name: "servers_list",
        method: Method::Get,
        path: "/v1/servers",
        summary: "The configured servers: where each comes from, how it is reached, names of its secrets only.",
        params: &[],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("servers list"),
    },
    Operation {
        id: Op::ServersAdd,
        name: "servers_add",
        method: Method::Post,
        path: "/v1/servers",
        summary: "Writes a server into a configuration file and takes it up.",
        params: &[
            Param::body("name", Kind::Text, "its name").required(),
            Param::body("command", Kind::Text, "its program"),
            Param::body("args", Kind::List, "the program's arguments"),
            Param::body("env", Kind::Object, "its environment: name to text"),
            Param::body("cwd", Kind::Text, "its folder"),
            Param::body("url", Kind::Text, "its URL, instead of a program"),
            Param::body("headers", Kind::Object, "headers for the URL: name to text"),
            Param::body("transport", Kind::Text, "`http` or `sse`").one_of(&["http", "sse"]),
            Param::body("mcpx", Kind::Object, "sharing, scope, max, …"),
            Param::body("scope", Kind::Text, WHERE).one_of(FILES),
            Param::body(
                "replace",
                Kind::Switch,
                "whether one of this name may be replaced",
            ),
        ],
        effect: Effect::Changes,
        idempotent: false,
        output: Output::Json,
        tool: None,
        word: Some("servers add"),
    },
    Operation {
        id: Op::ServersRemove,
        name: "servers_remove",
        method: Method::Delete,
        path: "/v1/servers/{name}",
        summary: "Takes a server out of a configuration file, and ends it.",
        params: &[
            Param::path("name", "its name"),
            Param::query(
                "scope",
                Kind::Text,
                "`project` or `user`; without it the file it is in",
            )
            .one_of(FILES),
        ],
        effect: Effect::Destroys,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("servers remove"),
    },
    Operation {
        id: Op::SettingsList,
        name: "settings_list",
        method: Method::Get,
        path: "/v1/settings",
        summary: "The daemon's settings: value, where it comes from, what it displaced.",
        params: &[
            Param::query("scope", Kind::Text, "`daemon`, `client` or `call`")
                .one_of(&["daemon", "client", "call"]),
            Param::query(
                "changed",
                Kind::Switch,
                "only those that are not at their default",
            ),
            Param::query("plumbing", Kind::Switch, "with the internal ones"),
        ],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("settings list"),
    },
    Operation {
        id: Op::SettingsGet,
        name: "settings_get",
        method: Method::Get,
        path: "/v1/settings/{path}",
        summary: "One setting.",
        params: &[PATH],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("settings get"),
    },
    Operation {
        id: Op::SettingsSet,
        name: "settings_set",
        method: Method::Put,
        path: "/v1/settings/{path}",
        summary: "Sets a setting, now or in a configuration file.",
        params: &[
            PATH,
            Param::body("value", Kind::Any, "the value").required(),
            Param::body(
                "persist",
                Kind::Text,
                "`runtime` (until the daemon ends), `project` or `user`",
            )
            .one_of(PERSIST),
        ],
        effect: Effect::Changes,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("settings set"),
    },
    Operation {
        id: Op::SettingsUnset,
        name: "settings_unset",
        method: Method::Delete,
        path: "/v1/settings/{path}",
        summary: "Takes a setting back.",
        params: &[
            PATH,
            Param::query(
                "persist",
                Kind::Text,
                "`runtime` (until the daemon ends), `project` or `user`",
            )
            .one_of(PERSIST),
        ],
        effect: Effect::Changes,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("settings unset"),
    },
];
