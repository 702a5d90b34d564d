"""A legacy server over stdio that keeps state, and tells when it serves two calls at once.

Tools: `put {value}` and `get` (an error when another call is open), `hold {until}` (answers when that file exists),
`grow {name}` (has one more tool, and says so), `who`. Every answer of `hold` and `who` is the process's number.
"""

import json
import os
import sys
import threading
import time

PATIENCE = 60
writing, counting = threading.Lock(), threading.Lock()
state = {"open": 0, "value": "nothing", "tools": ["put", "get", "hold", "grow", "who"]}


def send(message):
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def work(name, arguments):
    if name == "put":
        state["value"] = arguments["value"]
        time.sleep(0.001)
        return "put"
    if name == "get":
        time.sleep(0.001)
        return state["value"]
    if name == "hold":
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(arguments["until"]) and time.monotonic() < deadline:
            time.sleep(0.005)
    if name == "grow":
        state["tools"].append(arguments["name"])
        send({"method": "notifications/tools/list_changed"})
    return str(os.getpid())


def call(message):
    params = message["params"]
    name = params["name"]
    with counting:
        state["open"] += 1
        crowded = state["open"] > 1
    text = work(name, params.get("arguments") or {})
    with counting:
        crowded = crowded or state["open"] > 1
        state["open"] -= 1
    failed = crowded and name in ("put", "get")
    if failed:
        text = "two calls at once"
    send({"id": message["id"], "result": {"content": [{"type": "text", "text": text}], "isError": failed}})


def tool(name):
    return {"name": name, "description": f"the {name} tool", "inputSchema": {"type": "object"}}


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    if method == "tools/call":
        threading.Thread(target=call, args=(message,), daemon=True).start()
    elif method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "stateful", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
        send({"id": message["id"], "result": result})
    elif method == "tools/list":
        send({"id": message["id"], "result": {"tools": [tool(name) for name in state["tools"]]}})
    elif method == "ping":
        send({"id": message["id"], "result": {}})
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
