//! Calls, and what they leave behind.

use crate::operation::{Effect, Kind, Method, Operation, Output, Param};
use crate::operations::Op;

const SERVER: Param = Param::body("server", Kind::Text, "the server's name or namespace");
const CONTEXT: Param = Param::body(
    "context",
    Kind::Object,
    "who asks: cwd, sessionId, parentSessionId, pid, callId, ephemeral; instead of the headers",
);
const SESSION: Param = Param::body(
    "session",
    Kind::Text,
    "the session alone, instead of `context`",
);
const TASK_ID: Param = Param::path("id", "the task, `task-…`");

const fn posts(
    id: Op,
    name: &'static str,
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
) -> Operation {
    Operation {
        id,
        name,
        method: Method::Post,
        path,
        summary,
        params,
        effect: Effect::Destroys,
        idempotent: false,
        output: Output::Json,
        tool: None,
        word: None,
    }
}

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        tool: Some("mcpx_call"),
        word: Some("call"),
        ..posts(
            Op::Call,
            "call",
            "/v1/call",
            "Calls one tool and answers with its result.",
            &[
                SERVER,
                Param::body("tool", Kind::Text, "the tool, or `namespace.tool`").required(),
                Param::body("args", Kind::Object, "its arguments"),
                Param::body(
                    "task",
                    Kind::Object,
                    "answer at once with a task; `{\"ttlMs\": …}`",
                ),
                Param::body("timeoutMs", Kind::Number, "how long it may take"),
                Param::body("raw", Kind::Switch, "do not put a large result aside"),
                CONTEXT,
                SESSION,
            ],
        )
    },
    Operation {
        word: None,
        ..posts(
            Op::CallPath,
            "call_path",
            "/v1/call/{server}/{tool}",
            "Calls one tool; the body is its arguments.",
            &[
                Param::path("server", "the server's name or namespace"),
                Param::path("tool", "the tool"),
                Param::whole("args", Kind::Object, "its arguments"),
                Param::query("session", Kind::Text, "the caller's session"),
            ],
        )
    },
    Operation {
        tool: Some("mcpx_batch"),
        word: Some("batch"),
        ..posts(
            Op::Batch,
            "batch",
            "/v1/batch",
            "Calls several tools, one after the other or at the same time.",
            &[
                Param::body("calls", Kind::Objects, "each `{server?, tool, args?}`").required(),
                Param::body(
                    "stopOnError",
                    Kind::Switch,
                    "whether a failure skips the rest (on by default)",
                ),
                Param::body("parallel", Kind::Switch, "at the same time"),
                CONTEXT,
                SESSION,
            ],
        )
    },
    Operation {
        id: Op::ResultRead,
        name: "result_read",
        method: Method::Get,
        path: "/v1/results/{id}",
        summary: "Reads a piece of a result that was too large to be answered whole.",
        params: &[
            Param::path("id", "the handle, `res-…`"),
            Param::query("offset", Kind::Number, "from which byte on"),
            Param::query("length", Kind::Number, "how many bytes at most"),
            Param::query("pointer", Kind::Text, "only the part at this JSON pointer"),
        ],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: Some("mcpx_read"),
        word: Some("read"),
    },
    Operation {
        word: Some("resources read"),
        effect: Effect::Reads,
        idempotent: true,
        ..posts(
            Op::ResourceRead,
            "resource_read",
            "/v1/resource",
            "Reads one resource.",
            &[
                SERVER,
                Param::body("uri", Kind::Text, "its URI").required(),
                CONTEXT,
                SESSION,
            ],
        )
    },
    Operation {
        word: Some("prompts get"),
        effect: Effect::Reads,
        idempotent: true,
        ..posts(
            Op::PromptGet,
            "prompt_get",
            "/v1/prompt",
            "Renders one prompt of a server.",
            &[
                SERVER,
                Param::body("name", Kind::Text, "the prompt").required(),
                Param::body("arguments", Kind::Object, "its arguments, all text"),
                CONTEXT,
                SESSION,
            ],
        )
    },
    Operation {
        word: Some("complete"),
        effect: Effect::Reads,
        idempotent: true,
        ..posts(
            Op::Complete,
            "complete",
            "/v1/complete",
            "Completes an argument of a prompt or of a resource template.",
            &[
                SERVER,
                Param::body("ref", Kind::Object, "`{type, name}` or `{type, uri}`").required(),
                Param::body("argument", Kind::Object, "`{name, value}`").required(),
                Param::body("arguments", Kind::Object, "what is filled in already"),
                CONTEXT,
            ],
        )
    },
    Operation {
        id: Op::TasksList,
        name: "tasks_list",
        method: Method::Get,
        path: "/v1/tasks",
        summary: "The calls that run as tasks, and those that are done.",
        params: &[],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("task list"),
    },
    Operation {
        id: Op::TaskGet,
        name: "task_get",
        method: Method::Get,
        path: "/v1/tasks/{id}",
        summary: "The state of a task.",
        params: &[TASK_ID],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("task get"),
    },
    Operation {
        id: Op::TaskResult,
        name: "task_result",
        method: Method::Get,
        path: "/v1/tasks/{id}/result",
        summary: "Waits for a task's result.",
        params: &[
            TASK_ID,
            Param::query("waitMs", Kind::Number, "how long to wait"),
        ],
        effect: Effect::Reads,
        idempotent: true,
        output: Output::Json,
        tool: None,
        word: Some("task result"),
    },
    Operation {
        word: Some("task cancel"),
        idempotent: true,
        ..posts(
            Op::TaskCancel,
            "task_cancel",
            "/v1/tasks/{id}/cancel",
            "Cancels a task.",
            &[TASK_ID],
        )
    },
    Operation {
        word: Some("tool"),
        ..posts(
            Op::ToolInvoke,
            "tool_invoke",
            "/v1/tools/{tool}",
            "Calls one of the hub's own MCP tools; the body is its arguments.",
            &[
                Param::path("tool", "the tool, `mcpx_…`"),
                Param::whole("arguments", Kind::Object, "its arguments"),
            ],
        )
    },
];
