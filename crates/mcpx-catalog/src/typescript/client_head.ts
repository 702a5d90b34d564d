// Made by mcpx from the tools of the configured servers; changes here are lost.

export type Envelope = { content?: unknown[]; structuredContent?: unknown; isError?: boolean; [key: string]: unknown };
export type ToolResult = any;
export type Attached<T> = T extends object ? T & { readonly raw: Envelope } : T;
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

let $connection: Connection | undefined;

/** Says what carries calls; once, before the first call. */
export function connect(connection: Connection): void {
  $connection = connection;
}

function $texts(raw: Envelope): string[] {
  const texts: string[] = [];
  for (const block of Array.isArray(raw.content) ? raw.content : []) {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown };
    if (type !== "text" || typeof text !== "string") return [];
    texts.push(text);
  }
  return texts;
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
  if (texts.length === 0) return $attach(raw.content ?? [], raw);
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
  if ($connection === undefined) throw new Error("not connected: call `connect` before the first tool");
  const raw = await $connection(server, tool, (args ?? {}) as Record<string, unknown>);
  if (raw.isError === true) {
    throw new ToolError(server, tool, $texts(raw).join("\n") || `${server}.${tool} failed`, raw);
  }
  return $unwrap(raw);
}

