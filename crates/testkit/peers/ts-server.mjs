// A server on the TypeScript SDK: `node ts-server.mjs FOLDER v1|v2 stdio|http`. v1 speaks the eras of `initialize`; v2 both.
// Over HTTP the first line of standard output is its URL. `modules.mjs` says what FOLDER is.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { sdk } from './modules.mjs';

const [version, transport] = process.argv.slice(3);
const { z } = await sdk('zod');
const text = value => ({ content: [{ type: 'text', text: value }] });
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));
const confirmation = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };

/** Adds what both versions have; `ask` and `progress` are where they differ. */
function furnish(server, { ask, progress }) {
  server.registerTool('echo', { description: 'Says it back', inputSchema: shape({ text: z.string() }) }, async args => text(args.text));
  server.registerTool('add', { description: 'Adds', inputSchema: shape({ a: z.number(), b: z.number() }) }, async args => text(String(args.a + args.b)));
  server.registerTool('slow', { description: 'Reports progress', inputSchema: shape({ steps: z.number() }) }, async (args, context) => {
    for (let step = 1; step <= args.steps; step++) {
      await progress(context, step, args.steps);
      await sleep(20);
    }
    return text('done');
  });
  server.registerTool('ask', { description: 'Asks', inputSchema: shape({ question: z.string() }) }, ask);
  server.registerTool('fail', { description: 'Fails', inputSchema: shape({}) }, async () => ({ ...text('it failed'), isError: true }));
  server.registerTool('big', { description: 'Says much', inputSchema: shape({ bytes: z.number() }) }, async args => text('x'.repeat(args.bytes)));
  server.registerResource('greeting', 'test://greeting', { mimeType: 'text/plain' }, async uri => ({ contents: [{ uri: uri.href, text: 'hello' }] }));
  server.registerPrompt('greet', { description: 'Greets', argsSchema: shape({ name: z.string() }) }, args => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${args.name}` } }]
  }));
  return server;
}

const shape = fields => (version === 'v1' ? fields : z.object(fields));
const info = { name: `typescript-${version}`, version: '1.0.0' };
const answered = result => text(JSON.stringify(result.content ? { action: result.action, content: result.content } : { action: result.action }));

async function v1() {
  const { McpServer } = await sdk('@modelcontextprotocol/sdk/server/mcp.js');
  const make = () => {
    const server = new McpServer(info);
    return furnish(server, {
      ask: async args => answered(await server.server.elicitInput({ message: args.question, requestedSchema: confirmation })),
      progress: async (context, step, total) => {
        const token = context._meta?.progressToken;
        if (token !== undefined) {
          await context.sendNotification({ method: 'notifications/progress', params: { progressToken: token, progress: step, total } });
        }
      }
    });
  };
  if (transport === 'stdio') {
    const { StdioServerTransport } = await sdk('@modelcontextprotocol/sdk/server/stdio.js');
    return make().connect(new StdioServerTransport());
  }
  const { StreamableHTTPServerTransport } = await sdk('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const sessions = new Map();
  listen(async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response);
    if (request.headers['mcp-session-id']) return response.writeHead(404).end();
    const session = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => sessions.set(id, session),
      onsessionclosed: id => sessions.delete(id)
    });
    await make().connect(session);
    await session.handleRequest(request, response);
  });
}

async function v2() {
  const { McpServer, createMcpHandler, inputRequired, inputResponse } = await sdk('@modelcontextprotocol/server');
  const make = () =>
    furnish(new McpServer(info), {
      ask: async (args, context) => {
        const given = context.mcpReq.inputResponses?.answer;
        if (given) return answered(given);
        const question = inputRequired.elicit({ message: args.question, requestedSchema: confirmation });
        return inputRequired({ inputRequests: { answer: question } });
      },
      progress: async (context, step, total) => {
        const token = context.mcpReq._meta?.progressToken;
        if (token !== undefined) {
          await context.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: step, total } });
        }
      }
    });
  if (transport === 'stdio') {
    const { serveStdio } = await sdk('@modelcontextprotocol/server/stdio');
    return serveStdio(make);
  }
  const { toNodeHandler } = await sdk('@modelcontextprotocol/node');
  listen(toNodeHandler(createMcpHandler(make)));
}

/** Serves on a free loopback port, and ends with the process that started it. */
function listen(handler) {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
  process.stdin.resume().on('end', () => process.exit(0));
}

await (version === 'v1' ? v1() : v2());
