"""Calls on the Python SDK 2.x: `python calls.py CALLERS CALLS TOOL ARGUMENTS URL`, or a program and its arguments.

Prints {p50_us, p99_us, per_s}.
"""

import asyncio
import json
import os
import sys
import time

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

callers, calls, tool, arguments, target, *rest = sys.argv[1:]


async def run(client, count):
    times = []

    async def caller():
        for _ in range(count // int(callers)):
            began = time.perf_counter()
            result = await client.call_tool(tool, json.loads(arguments))
            times.append((time.perf_counter() - began) * 1e6)
            if result.is_error or not result.content:
                raise RuntimeError(str(result))

    await asyncio.gather(*(caller() for _ in range(int(callers))))
    return times


async def main():
    if target.startswith("http://"):
        server = target
    else:
        quiet = open(os.devnull, "w")
        server = stdio_client(StdioServerParameters(command=target, args=rest, env=dict(os.environ)), errlog=quiet)
    async with Client(server, mode="auto") as client:
        await run(client, 200)
        began = time.perf_counter()
        times = sorted(await run(client, int(calls)))
        seconds = time.perf_counter() - began

    def at(part):
        return times[min(len(times) * part // 100, len(times) - 1)]

    print(json.dumps({"p50_us": at(50), "p99_us": at(99), "per_s": len(times) / seconds}))


asyncio.run(main())
