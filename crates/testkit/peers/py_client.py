"""A client on the Python SDK: `python py_client.py auto|legacy|2026-07-28 TOOL ARGUMENTS URL`, or a program and its arguments.

Prints one JSON document: {era, version, server, tools, resources, prompts, result, questions, progress}. Accepts every
question with true for each property. TOOL may be empty: then nothing is called.
"""

import asyncio
import json
import os
import sys

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

mode, tool, arguments, target, *rest = sys.argv[1:]
questions, progress = [], []


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def answer(_context, params):
    questions.append(plain(params))
    if params.mode == "url":
        return types.ElicitResult(action="accept")
    fields = params.requested_schema.get("properties", {})
    return types.ElicitResult(action="accept", content={field: True for field in fields})


async def note(value, _total, _message):
    progress.append(value)


async def main():
    if target.startswith(("http://", "https://")):
        server = target
        if token := os.environ.get("MCP_CLIENT_TOKEN"):
            headers = {"Authorization": f"Bearer {token}"}
            server = streamable_http_client(target, http_client=create_mcp_http_client(headers=headers))
    else:
        quiet = open(os.devnull, "w")
        server = stdio_client(StdioServerParameters(command=target, args=rest, env=dict(os.environ)), errlog=quiet)
    async with Client(server, mode=mode, elicitation_callback=answer) as client:
        version, has = client.protocol_version, client.server_capabilities
        said = {"era": "modern" if version >= "2026-07-28" else "legacy", "version": version}
        said["server"] = plain(client.server_info) if client.server_info else None
        said["tools"] = [one.name for one in (await client.list_tools()).tools] if has.tools else []
        said["resources"] = [str(one.uri) for one in (await client.list_resources()).resources] if has.resources else []
        said["prompts"] = [one.name for one in (await client.list_prompts()).prompts] if has.prompts else []
        if tool:
            try:
                said["result"] = plain(await client.call_tool(tool, json.loads(arguments), progress_callback=note))
            except MCPError as error:
                said["error"] = {"code": error.error.code, "message": error.error.message}
    print(json.dumps(dict(said, questions=questions, progress=progress)))


asyncio.run(main())
