// Made by mcpx from the tools of the configured servers: what a script finds without importing it. Changes here are lost.
// A script has no browser around it: `"lib": ["es2023"]` in the tsconfig leaves out the browser's names, which a namespace may share.

type Envelope = { content?: unknown[]; structuredContent?: unknown; isError?: boolean; [key: string]: unknown };
type ToolResult = any;
type Attached<T> = T extends object ? "raw" extends keyof T ? Envelope extends T["raw"] ? T & { readonly raw: Envelope } : T : T & { readonly raw: Envelope } : T;

/** What a failed call throws. */
declare class ToolError extends Error {
  readonly server: string;
  readonly tool: string;
  readonly raw: Envelope;
  readonly diagnostics: unknown[];
}

/** Calls a tool by its path, as `call("demo.echo", { message: "hi" })`. */
declare function call(path: string, args?: Record<string, unknown>): Promise<ToolResult>;
/** Reads a resource of a server. */
declare function readResource(server: string, uri: string): Promise<ToolResult>;
/** Adds a value to what the script gives back. */
declare function emit(value: unknown): void;
/** The tools that fit the words, best first. */
declare function search(words: string): { path: string; description: string }[];
/** The signature of a tool. */
declare function describe(path: string): string;
