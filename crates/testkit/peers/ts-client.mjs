// A client on the TypeScript SDK: `node ts-client.mjs FOLDER v1|v2 TOOL ARGUMENTS URL`, or a program and its arguments
// instead of the URL. Prints one JSON document: {era, version, server, tools, resources, prompts, result, questions, progress}. Accepts every
// question with true for each property. TOOL may be empty: then nothing is called.
import { sdk } from './modules.mjs';

const [version, tool, input, target, ...rest] = process.argv.slice(3);
const questions = [];
const answer = request => {
  questions.push(request.params);
  if (request.params.mode === 'url') return { action: 'accept' };
  const fields = Object.keys(request.params.requestedSchema?.properties ?? {});
  return { action: 'accept', content: Object.fromEntries(fields.map(field => [field, true])) };
};
const capabilities = { elicitation: { form: {}, url: {} } };
const stdio = { command: target, args: rest, env: process.env, stderr: 'ignore' };
const http = /^https?:/.test(target);
const token = process.env.MCP_CLIENT_TOKEN;
const asWhom = token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : undefined;
const info = { name: `typescript-${version}`, version: '1.0.0' };

async function v1() {
  const { Client } = await sdk('@modelcontextprotocol/sdk/client/index.js');
  const { ElicitRequestSchema } = await sdk('@modelcontextprotocol/sdk/types.js');
  const client = new Client(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, async request => answer(request));
  const { StdioClientTransport } = await sdk('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = await sdk('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const transport = http ? new StreamableHTTPClientTransport(new URL(target), asWhom) : new StdioClientTransport(stdio);
  await client.connect(transport);
  return { client, era: 'legacy', version: client.getNegotiatedProtocolVersion?.() ?? null };
}

async function v2() {
  const { Client, StreamableHTTPClientTransport } = await sdk('@modelcontextprotocol/client');
  const { StdioClientTransport } = await sdk('@modelcontextprotocol/client/stdio');
  const client = new Client(info, { capabilities, versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5000 } } });
  client.setRequestHandler('elicitation/create', async request => answer(request));
  await client.connect(http ? new StreamableHTTPClientTransport(new URL(target), asWhom) : new StdioClientTransport(stdio));
  return { client, era: client.getProtocolEra(), version: client.getNegotiatedProtocolVersion() };
}

const { client, ...protocol } = await (version === 'v1' ? v1() : v2());
const declared = client.getServerCapabilities() ?? {};
const progress = [];
const said = { ...protocol, server: client.getServerVersion() ?? null };
said.tools = declared.tools ? (await client.listTools()).tools.map(one => one.name) : [];
said.resources = declared.resources ? (await client.listResources()).resources.map(one => one.uri) : [];
said.prompts = declared.prompts ? (await client.listPrompts()).prompts.map(one => one.name) : [];
if (tool) {
  const options = { onprogress: note => progress.push(note.progress) };
  const call = { name: tool, arguments: JSON.parse(input) };
  try {
    said.result = await (version === 'v1' ? client.callTool(call, undefined, options) : client.callTool(call, options));
  } catch (error) {
    said.error = { code: error.code ?? null, message: error.message };
  }
}
await client.close();
process.stdout.write(`${JSON.stringify({ ...said, questions, progress })}\n`, () => process.exit(0));
