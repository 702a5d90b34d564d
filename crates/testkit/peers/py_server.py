"""A server on the Python SDK, or on FastMCP: `python py_server.py sdk|fastmcp stdio|http`. Both eras.

Over HTTP the first line of standard output is its URL.
"""

import asyncio
import json
import os
import socket
import sys
import threading

from pydantic import BaseModel

kind, transport = sys.argv[1:3]
if kind == "sdk":
    from mcp.server.mcpserver import Context, MCPServer as Server
else:
    from fastmcp import Context, FastMCP as Server

server = Server("python-" + kind)


class Confirmation(BaseModel):
    ok: bool


@server.tool()
def echo(text: str) -> str:
    """Says it back."""
    return text


@server.tool()
def add(a: float, b: float) -> str:
    """Adds."""
    return "%g" % (a + b)


@server.tool()
async def slow(steps: int, context: Context) -> str:
    """Reports progress."""
    for step in range(1, steps + 1):
        await context.report_progress(step, steps)
        await asyncio.sleep(0.02)
    return "done"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it failed")


@server.tool()
def big(bytes: int) -> str:
    """Says much."""
    return "x" * bytes


@server.resource("test://greeting")
def greeting() -> str:
    return "hello"


@server.prompt()
def greet(name: str) -> str:
    """Greets."""
    return "Greet " + name


if kind == "sdk":
    from typing import Annotated

    from mcp.server.mcpserver import Elicit, Resolve
    from mcp.server.mcpserver.resolve import ElicitationResult

    def confirm(question: str) -> Elicit[Confirmation]:
        return Elicit(question, Confirmation)

    # A resolver asks in either era: by a request, or by `input_required`.
    @server.tool()
    def ask(question: str, answer: Annotated[ElicitationResult[Confirmation], Resolve(confirm)]) -> str:
        """Asks."""
        said = {"action": answer.action}
        if answer.action == "accept":
            said["content"] = answer.data.model_dump()
        return json.dumps(said)

else:

    @server.tool()
    async def ask(question: str, context: Context) -> str:
        """Asks."""
        answer = await context.elicit(question, response_type=Confirmation)
        said = {"action": answer.action}
        if answer.action == "accept":
            said["content"] = answer.data.model_dump()
        return json.dumps(said)


def end_with_parent():
    while os.read(0, 4096):
        pass
    os._exit(0)


if transport == "stdio":
    server.run("stdio") if kind == "sdk" else server.run("stdio", show_banner=False)
else:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print("http://127.0.0.1:%d/mcp" % listener.getsockname()[1], flush=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    app = server.streamable_http_app() if kind == "sdk" else server.http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
