//! What there is: namespaces, tools, signatures, resources, prompts.

use crate::operation::{Effect, Kind, Method, Operation, Output, Param};
use crate::operations::Op;

const PROFILE: Param = Param::query("profile", Kind::List, "servers of these profiles too");
const SKIP_DEFAULT: Param = Param::query("skipDefault", Kind::Switch, "only the named profiles");
const ALL_PROFILES: Param = Param::query("allProfiles", Kind::Switch, "every server");
const NS: Param = Param::query(
    "ns",
    Kind::List,
    "only these: `namespace` or `namespace.tool`",
);

const fn reads(
    id: Op,
    name: &'static str,
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
) -> Operation {
    Operation {
        id,
        name,
        method: Method::Get,
        path,
        summary,
        params,
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: None,
    }
}

const TYPESCRIPT: Output = Output::Text("application/typescript");

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        tool: Some("mcpx_namespaces"),
        word: Some("ls"),
        ..reads(
            Op::Namespaces,
            "namespaces",
            "/v1/namespaces",
            "The servers: how many tools, whether one runs, what is wrong. Starts none.",
            &[PROFILE, SKIP_DEFAULT, ALL_PROFILES],
        )
    },
    Operation {
        word: Some("tools"),
        ..reads(
            Op::Tools,
            "tools",
            "/v1/tools",
            "The tools as their servers describe them, schemas and all.",
            &[NS, PROFILE, SKIP_DEFAULT, ALL_PROFILES],
        )
    },
    Operation {
        tool: Some("mcpx_search"),
        word: Some("search"),
        ..reads(
            Op::Search,
            "search",
            "/v1/search",
            "Finds tools by words: exact names first, then by what their descriptions and parameters say.",
            &[
                Param::query("q", Kind::Text, "the words").required(),
                Param::query("limit", Kind::Number, "how many at most"),
                PROFILE,
                SKIP_DEFAULT,
                ALL_PROFILES,
            ],
        )
    },
    Operation {
        tool: Some("mcpx_types"),
        word: Some("types"),
        output: TYPESCRIPT,
        ..reads(
            Op::Types,
            "types",
            "/v1/types",
            "Signatures of a namespace or of single tools, as TypeScript.",
            &[
                Param::query("ns", Kind::List, "`namespace` or `namespace.tool`").required(),
                Param::query(
                    "instructions",
                    Kind::Switch,
                    "with what the server says of itself (on by default)",
                ),
            ],
        )
    },
    Operation {
        tool: Some("mcpx_catalog"),
        word: Some("catalog"),
        output: Output::Text("text/plain"),
        ..reads(
            Op::Catalog,
            "catalog",
            "/v1/catalog",
            "Every namespace, and as many signatures as a budget of tokens allows.",
            &[
                Param::query("budget", Kind::Number, "tokens at most"),
                Param::query("bias", Kind::List, "words whose tools come first"),
                NS,
                PROFILE,
                SKIP_DEFAULT,
                ALL_PROFILES,
            ],
        )
    },
    Operation {
        word: Some("client"),
        output: TYPESCRIPT,
        ..reads(
            Op::Client,
            "client_module",
            "/v1/client.ts",
            "A TypeScript module with one function for each tool.",
            &[NS, PROFILE, SKIP_DEFAULT, ALL_PROFILES],
        )
    },
    Operation {
        word: Some("globals"),
        output: TYPESCRIPT,
        ..reads(
            Op::Globals,
            "globals",
            "/v1/globals.d.ts",
            "The types of the namespaces as globals of a script.",
            &[NS, PROFILE, SKIP_DEFAULT, ALL_PROFILES],
        )
    },
    Operation {
        word: Some("schema"),
        ..reads(
            Op::Schema,
            "schema",
            "/v1/schema",
            "The tools' schemas as one document.",
            &[
                Param::query(
                    "format",
                    Kind::Text,
                    "`json-schema` (without it), `openapi`, `typescript` or `mcp`",
                )
                .one_of(&["json-schema", "openapi", "typescript", "mcp"]),
                NS,
                PROFILE,
                SKIP_DEFAULT,
                ALL_PROFILES,
            ],
        )
    },
    Operation {
        word: Some("history"),
        ..reads(
            Op::History,
            "catalog_history",
            "/v1/catalog/history",
            "How the tools changed since they were first read.",
            &[
                Param::query(
                    "tool",
                    Kind::Text,
                    "only this one: `namespace.tool`, or a namespace",
                ),
                Param::query(
                    "since",
                    Kind::Text,
                    "only changes from this time on: `10m`, `7d`, or a date",
                ),
                Param::query("limit", Kind::Number, "how many at most"),
            ],
        )
    },
    Operation {
        word: Some("resources"),
        ..reads(
            Op::Resources,
            "resources",
            "/v1/resources",
            "The resources of the servers.",
            &[NS, PROFILE, SKIP_DEFAULT, ALL_PROFILES],
        )
    },
    Operation {
        word: Some("resources templates"),
        ..reads(
            Op::ResourceTemplates,
            "resource_templates",
            "/v1/resource-templates",
            "The resource templates of the servers.",
            &[NS, PROFILE, SKIP_DEFAULT, ALL_PROFILES],
        )
    },
    Operation {
        word: Some("prompts"),
        ..reads(
            Op::Prompts,
            "prompts",
            "/v1/prompts",
            "The prompts of the servers.",
            &[NS, PROFILE, SKIP_DEFAULT, ALL_PROFILES],
        )
    },
];
