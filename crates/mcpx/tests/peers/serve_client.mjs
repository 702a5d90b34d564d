// A client on the TypeScript SDK that stays: `node serve_client.mjs FOLDER v1|v2 PROGRAM ARGS…`, where FOLDER holds the
// `node_modules` of the SDKs. Each line of standard input is a call, `{"tool": …, "arguments": …}`; each line
// of standard output is what came of it: `{"text": …}` or `{"error": …, "data": …}`. The first line is `{"era": …}`.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, version, command, ...args] = process.argv.slice(2);
const find = createRequire(`${folder}/`);
const sdk = name => import(pathToFileURL(find.resolve(name)).href);
const say = said => process.stdout.write(`${JSON.stringify(said)}\n`);
const info = { name: `typescript-${version}`, version: '1.0.0' };
const stdio = { command, args, env: process.env, stderr: 'ignore' };

async function connect() {
  if (version === 'v1') {
    const { Client } = await sdk('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await sdk('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client(info, { capabilities: {} });
    await client.connect(new StdioClientTransport(stdio));
    return [client, 'legacy'];
  }
  const { Client } = await sdk('@modelcontextprotocol/client');
  const { StdioClientTransport } = await sdk('@modelcontextprotocol/client/stdio');
  const client = new Client(info, { capabilities: {}, versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5000 } } });
  await client.connect(new StdioClientTransport(stdio));
  return [client, client.getProtocolEra()];
}

const [client, era] = await connect();
say({ era });
for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: given } = JSON.parse(line);
  try {
    const result = await client.callTool({ name: tool, arguments: given });
    say({ text: result.content[0]?.text ?? null });
  } catch (error) {
    say({ error: error.message, data: error.data ?? null });
  }
}
await client.close();
