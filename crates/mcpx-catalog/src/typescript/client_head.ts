// Made by mcpx from the tools of the configured servers; changes here are lost.

export type Envelope = { content?: unknown[]; structuredContent?: unknown; isError?: boolean; [key: string]: unknown };
export type ToolResult = any;
export type Attached<T> = T extends object ? "raw" extends keyof T ? Envelope extends T["raw"] ? T & { readonly raw: Envelope } : T : T & { readonly raw: Envelope } : T;
export type Connection = (server: string, tool: string, args: Record<string, unknown>) => Promise<Envelope>;

export class ToolError extends Error {
  readonly server: string;
  readonly tool: string;
  readonly raw: Envelope;
  readonly diagnostics: unknown[];

  constructor(server: string, tool: string, message: string, raw: Envelope, diagnostics: unknown[] = []) {
    super(message);
    this.name = "ToolError";
    this.server = server;
    this.tool = tool;
    this.raw = raw;
    this.diagnostics = diagnostics;
  }
}

/** What carries calls to the daemon of the hub. What is left out comes from the environment. */
type $Hub = {
  /** `unix://PATH` or `http://HOST:PORT`; else `MCPX_DAEMON_ENDPOINT`. */
  endpoint?: string | undefined;
  /** For `http://`; else `MCPX_TOKEN`. */
  token?: string | undefined;
  /** The session that the calls belong to; else `MCPX_SESSION_ID`. */
  session?: string | undefined;
  /** How long each call may take. */
  timeoutMs?: number | undefined;
  /** Gives up the calls that are under way, and those after. */
  signal?: $Signal | undefined;
};
type $Signal = {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
};

let $connection: Connection | undefined;

/** Says what carries calls. Without it, and what it is not told, the environment says which daemon does. */
export function connect(connection: Connection | $Hub): void {
  $connection = typeof connection === "function" ? connection : $hub(connection);
}

function $hub(options: $Hub): Connection {
  const process = (globalThis as any).process;
  const variable = (name: string): string | undefined => process?.env?.[name] || undefined;
  const endpoint = options.endpoint ?? variable("MCPX_DAEMON_ENDPOINT");
  const token = options.token ?? variable("MCPX_TOKEN");
  const context = {
    cwd: variable("MCPX_CWD") ?? process?.cwd?.(),
    sessionId: options.session ?? variable("MCPX_SESSION_ID"),
    parentSessionId: variable("MCPX_PARENT_SESSION_ID"),
    pid: process?.pid,
  };
  return async (server, tool, args) => {
    if (endpoint === undefined) {
      throw new Error("not connected: set MCPX_DAEMON_ENDPOINT to `unix://` and the socket that `mcpx --json status` shows, or call `connect`");
    }
    const body = JSON.stringify({ server, tool, args, raw: true, timeoutMs: options.timeoutMs, context });
    const { status, text } = await $post(endpoint, token, body, options.signal);
    let answer: any;
    try {
      answer = JSON.parse(text);
    } catch {
      throw new Error(`the hub at ${endpoint} answered ${status} with what is no JSON`);
    }
    const raw: Envelope = answer.result ?? answer;
    const fail = (message: string) => new ToolError(server, tool, message, raw, answer.diagnostics ?? []);
    if (typeof answer.error === "string") {
      throw fail(answer.hint === undefined ? answer.error : `${answer.error}\nhint: ${answer.hint}`);
    }
    if (answer.result === undefined) {
      throw fail(answer.task === undefined ? "it asks something in mid-call, which a script cannot answer" : "it goes on as a task");
    }
    if (raw.isError === true) throw fail($texts(raw).join("\n") || `${server}.${tool} failed`);
    return raw;
  };
}

async function $post(endpoint: string, token: string | undefined, body: string, signal: $Signal | undefined): Promise<{ status: number; text: string }> {
  const load = (name: string): Promise<any> => import(name);
  const http = await load("node:http");
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  const to = endpoint.startsWith("unix://") ? { socketPath: endpoint.slice(7), host: "mcpx" } : $address(endpoint);
  return new Promise((resolve, reject) => {
    const request = http.request({ ...to, path: "/v1/call", method: "POST", headers });
    const giveUp = () => request.destroy(signal?.reason ?? new Error("the call was given up"));
    const end = (error: unknown) => {
      signal?.removeEventListener("abort", giveUp);
      reject(error);
    };
    request.on("error", (error: any) => {
      const isAway = error?.code === "ECONNREFUSED" || error?.code === "ENOENT";
      end(isAway ? new Error(`the hub does not answer at ${endpoint}: \`mcpx daemon --detached\` starts it`, { cause: error }) : error);
    });
    request.on("response", (response: any) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => (text += piece));
      response.on("error", end);
      response.on("end", () => {
        signal?.removeEventListener("abort", giveUp);
        resolve({ status: response.statusCode, text });
      });
    });
    if (signal?.aborted) giveUp();
    else signal?.addEventListener("abort", giveUp);
    request.end(body);
  });
}

function $address(endpoint: string): { host: string; port: number } {
  try {
    const { protocol, hostname, port } = new (globalThis as any).URL(endpoint);
    if (protocol === "http:") return { host: hostname.replace("[", "").replace("]", ""), port: Number(port || 80) };
  } catch {
    // It is told below.
  }
  throw new Error(`the hub's endpoint is ${JSON.stringify(endpoint)}, expected unix://PATH or http://HOST:PORT`);
}

function $blocks(raw: Envelope): { type?: unknown; text?: unknown }[] {
  return Array.isArray(raw.content) ? raw.content.map((block) => (block ?? {}) as object) : [];
}

/** What is said in text, whatever stands beside it. */
function $texts(raw: Envelope): string[] {
  return $blocks(raw).flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
}

function $attach(value: any, raw: Envelope): any {
  if (typeof value === "object" && value !== null && !Object.hasOwn(value, "raw")) {
    Object.defineProperty(value, "raw", { value: raw, enumerable: false });
  }
  return value;
}

function $unwrap(raw: Envelope): any {
  if (raw.structuredContent !== undefined) return $attach(raw.structuredContent, raw);
  const texts = $texts(raw);
  if (texts.length === 0 || texts.length < $blocks(raw).length) return $attach(raw.content ?? [], raw);
  const text = texts.join("\n");
  if (/^\s*[\[{]/.test(text)) {
    try {
      return $attach(JSON.parse(text), raw);
    } catch {
      return text;
    }
  }
  return text;
}

async function $call<T>(server: string, tool: string, args?: unknown): Promise<T> {
  $connection ??= $hub({});
  const raw = await $connection(server, tool, (args ?? {}) as Record<string, unknown>);
  if (raw.isError === true) {
    throw new ToolError(server, tool, $texts(raw).join("\n") || `${server}.${tool} failed`, raw);
  }
  return $unwrap(raw);
}

