// A client on the TypeScript SDK that tries what `server-everything` has: `node ts-tour.mjs FOLDER v1|v2 passed|own URL`.
// `own`: by the hub's own tool and names. Prints one JSON document: what came of each step, or {error}. Answers all questions.
import { sdk } from './modules.mjs';

const [version, way, url] = process.argv.slice(3);
const own = way === 'own';
const asked = [], lines = [], updated = [];
const value = field => field.default ?? field.enum?.[0] ?? field.oneOf?.[0].const ?? ({
  boolean: true, integer: field.minimum ?? 1, number: field.minimum ?? 1,
  array: [field.items?.enum?.[0] ?? field.items?.anyOf?.[0].const],
}[field.type] ?? { email: 'a@b.ch', uri: 'https://a.ch', date: '2026-01-01' }[field.format] ?? 'text');
const answers = {
  'elicitation/create': ({ params }) => {
    asked.push(params.mode ?? 'form');
    if (params.mode === 'url') return { action: 'accept' };
    const fields = Object.entries(params.requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(fields.map(([name, field]) => [name, value(field)])) };
  },
  'sampling/createMessage': () => (asked.push('sampling'), { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
  'roots/list': () => (asked.push('roots'), { roots: [{ uri: 'file:///tour', name: 'tour' }] }),
};
const heard = {
  'notifications/message': ({ params }) => lines.push(params.level),
  'notifications/resources/updated': ({ params }) => updated.push(params.uri),
};
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const info = { name: 'tour', version: '1' };

async function v1() {
  const { Client } = await sdk('@modelcontextprotocol/sdk/client/index.js');
  const types = await sdk('@modelcontextprotocol/sdk/types.js');
  const { StreamableHTTPClientTransport } = await sdk('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const client = new Client(info, { capabilities });
  const schemas = {
    'elicitation/create': types.ElicitRequestSchema, 'sampling/createMessage': types.CreateMessageRequestSchema, 'roots/list': types.ListRootsRequestSchema,
    'notifications/message': types.LoggingMessageNotificationSchema, 'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  };
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(schemas[method], async request => answer(request));
  for (const [method, hear] of Object.entries(heard)) client.setNotificationHandler(schemas[method], hear);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

async function v2() {
  const { Client, StreamableHTTPClientTransport } = await sdk('@modelcontextprotocol/client');
  const client = new Client(info, { capabilities, versionNegotiation: { mode: 'auto' } });
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, async request => answer(request));
  for (const [method, hear] of Object.entries(heard)) client.setNotificationHandler(method, hear);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

const client = await (version === 'v1' ? v1() : v2());
// A modern client over HTTP says with each request whose it is, and from which level on it wants log lines.
const _meta = version === 'v1' ? {} : { 'dev.mcpx/session': 'tour', 'io.modelcontextprotocol/logLevel': 'debug' };
const call = (name, args = {}, options = {}) => {
  const params = own ? { name: 'mcpx_call', arguments: { server: 'everything', tool: name, args } } : { name, arguments: args };
  return version === 'v1' ? client.callTool(params, undefined, options) : client.callTool({ ...params, _meta }, options);
};
const text = result => result.content.map(block => block.text ?? block.type).join('\n');
const until = async condition => {
  for (const deadline = Date.now() + 20000; !condition(); ) {
    if (Date.now() > deadline) return false;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  return true;
};
const said = {};
const step = async (name, work) => {
  said[name] = await work().catch(error => ({ error: `${error.code} ${error.message}` }));
};
const uri = `${own ? 'mcpx://everything/' : ''}demo://resource/dynamic/text/1`;
const prompt = name => (own ? 'everything_' : '') + name;

await step('tools', async () => (await client.listTools()).tools.map(tool => tool.name));
if (version === 'v1') await step('level', () => client.setLoggingLevel('debug'));
await step('progress', async () => {
  const seen = new Set();
  await call('trigger-long-running-operation', { duration: 0.5, steps: 3 }, { onprogress: note => seen.add(note.progress) });
  return [...seen];
});
await step('cancelled', async () => {
  const control = new AbortController();
  setTimeout(() => control.abort('enough'), 300);
  return text(await call('trigger-long-running-operation', { duration: 30, steps: 3 }, { signal: control.signal }));
});
await step('form', async () => text(await call('trigger-elicitation-request')));
await step('url', async () => text(await call('trigger-url-elicitation', { url: 'https://example.com/x' })));
await step('sampling', async () => text(await call('trigger-sampling-request', { prompt: 'hi' })));
await step('roots', async () => text(await call('get-roots-list')));
// A tool that is only ever a task: what the SDK refuses to call otherwise is asked of the hub's own tool.
if (own || version === 'v2') await step('task', async () => text(await call('simulate-research-query', { topic: 'python', ambiguous: true })));
await step('prompt', async () => (await client.getPrompt({ name: prompt('args-prompt'), arguments: { city: 'Bern' } })).messages[0].content.text);
await step('completion', async () => {
  const ref = { type: 'ref/prompt', name: prompt('completable-prompt') };
  return (await client.complete({ ref, argument: { name: 'department', value: 'E' } })).completion.values;
});
await step('resource', async () => (await client.readResource({ uri })).contents[0].uri);
await step('nothing', () => client.readResource({ uri: 'demo://nothing' }));
await step('updated', async () => {
  if (version === 'v1') await client.subscribeResource({ uri });
  else await client.listen({ resourceSubscriptions: [uri] });
  await call('toggle-subscriber-updates');
  return (await until(() => updated.length > 0)) && updated[0];
});
await step('logged', async () => {
  await call('toggle-simulated-logging');
  return until(() => lines.length > 0);
});
await client.close();
process.stdout.write(`${JSON.stringify({ ...said, asked })}\n`, () => process.exit(0));
