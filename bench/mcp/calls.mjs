// Calls on the TypeScript SDK 2.x: `node calls.mjs FOLDER CALLERS CALLS TOOL ARGUMENTS URL`, or a program and its arguments
// instead of the URL; FOLDER holds `node_modules`. Prints {p50_us, p99_us, per_s}.
import { sdk } from '../../crates/testkit/peers/modules.mjs';

const [callers, calls, tool, input, target, ...rest] = process.argv.slice(3);
const { Client, StreamableHTTPClientTransport } = await sdk('@modelcontextprotocol/client');
const { StdioClientTransport } = await sdk('@modelcontextprotocol/client/stdio');
const client = new Client({ name: 'calls', version: '0' }, { versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5000 } } });
const stdio = { command: target, args: rest, env: process.env, stderr: 'ignore' };
await client.connect(/^http:/.test(target) ? new StreamableHTTPClientTransport(new URL(target)) : new StdioClientTransport(stdio));

async function run(count) {
  const times = [];
  await Promise.all(
    Array.from({ length: Number(callers) }, async () => {
      for (let number = 0; number < Math.floor(count / callers); number++) {
        const began = performance.now();
        const result = await client.callTool({ name: tool, arguments: JSON.parse(input) });
        times.push((performance.now() - began) * 1000);
        if (result.isError || result.content.length === 0) throw new Error(JSON.stringify(result));
      }
    })
  );
  return times;
}

await run(200);
const began = performance.now();
const times = (await run(Number(calls))).sort((a, b) => a - b);
const seconds = (performance.now() - began) / 1000;
const at = part => times[Math.min(Math.floor((times.length * part) / 100), times.length - 1)];
const told = { p50_us: at(50), p99_us: at(99), per_s: times.length / seconds };
await client.close();
process.stdout.write(`${JSON.stringify(told)}\n`, () => process.exit(0));
