"""The server behind both transports: what it normally answers, its pages, its listeners."""

import itertools
import json
import threading

from call import Call
from outcome import Refused
from tasks import Tasks

SERVER = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LEGACY_ONLY = ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
CACHED = ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
LIST_CHANGED = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}


class Server:
    def __init__(self, config, record):
        self.config, self.record = config, record
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.calls = {}  # the id of a running request -> its Call; the last one, when a peer repeats ids
        self.waiting = {}  # the id of our request -> [event, response]
        self.parked = {}  # requestState -> (index of the question, answers so far)
        self.seen = {}  # (method, name) -> how often it came
        self.broadcast = []  # where messages of no request go, legacy
        self.listeners = []  # (sink, id of the listen request, filter), modern
        self.rejected = 0
        self.tasks = Tasks()

    # --- in ---------------------------------------------------------------------------------------------------------

    def receive(self, message, sink):
        """Takes one message. Returns its Call when it is a request."""
        if not isinstance(message, dict):
            return None
        if "method" not in message:
            waiting = self.waiting.pop(str(message.get("id")), None)
            if waiting:
                waiting[1] = message
                waiting[0].set()
            return None
        if "id" not in message:
            if message["method"] == "notifications/cancelled":
                call = self.calls.get(str((message.get("params") or {}).get("requestId")))
                if call:
                    call.cancelled.set()
            return None
        call = Call(self, message, sink)
        self.calls[str(message["id"])] = call
        threading.Thread(target=call.run, daemon=True).start()
        return call

    def steps(self, method, name):
        """Returns the script for this request, which counts as one more of its kind."""
        with self.lock:
            count = self.seen[(method, name)] = self.seen.get((method, name), 0) + 1
        found = []
        for script in self.config["scripts"]:
            if script["method"] != method or script.get("name") not in (None, name):
                continue
            if script.get("nth") == count:
                return script["steps"]
            if script.get("nth") is None:
                found = script["steps"]
        return found

    # --- out --------------------------------------------------------------------------------------------------------

    def ask(self, sink, method, params, timeout=60):
        """Sends a request to the client and returns the whole response, or None when none comes."""
        id = "chaos-%d" % next(self.ids)
        waiting = self.waiting[id] = [threading.Event(), None]
        self.say(sink, {"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        waiting[0].wait(timeout)
        return waiting[1]

    def say(self, sink, message):
        sink.send(json.dumps(message).encode(), message)

    def broadcast_to(self, sink):
        self.broadcast.append(sink)

    def announce(self, method, params):
        """Sends a notification that belongs to no request to all who may get it."""
        message = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = params
        if not self.listeners:
            for sink in list(self.broadcast):
                self.say(sink, message)
        with self.lock:
            listeners = list(self.listeners)
        for sink, id, wanted in listeners:
            uri = params.get("uri") in wanted.get("resourceSubscriptions", [])
            if wanted.get(LIST_CHANGED.get(method)) or uri or params.get("taskId") in wanted.get("taskIds", []):
                self.say(sink, dict(message, params=dict(params, _meta={SUBSCRIPTION: id})))

    # --- what a server normally answers -----------------------------------------------------------------------------

    def normal(self, call):
        method, params = call.method, call.params
        if call.modern and call.version not in self.config["modern"]:
            data = {"supported": self.config["modern"], "requested": call.version}
            raise Refused(-32022, "unsupported protocol version", data)
        if method.startswith("tasks/"):
            return self.tasks.answer(call)
        answer = ANSWERS.get(method)
        if not self.knows(call, method) or not answer:
            raise Refused(-32601, "method not found: " + method)
        if not call.modern and not self.config["legacy"]:
            raise Refused(-32602, "missing _meta")
        return answer(self, call, params)

    def knows(self, call, method):
        if method == "server/discover":
            return self.config["discovered"]
        if method in LEGACY_ONLY:
            return self.config["legacy"] and not call.modern
        return method != "subscriptions/listen" or call.modern

    def dress(self, call, result):
        """Adds what every result of the modern era has."""
        if call.modern and isinstance(result, dict):
            result = dict({"resultType": "complete"}, **result)
            if call.method in CACHED:
                result = dict({"ttlMs": 0, "cacheScope": "private"}, **result)
            result["_meta"] = dict(result.get("_meta") or {}, **{SERVER: self.config["info"]})
        return result

    def capabilities(self, call):
        return self.config["capabilities_modern" if call.modern else "capabilities_legacy"]

    def initialize(self, call, params):
        asked = params.get("protocolVersion")
        version = asked if asked in self.config["legacy"] else self.config["legacy"][0]
        result = {"protocolVersion": version, "capabilities": self.capabilities(call), "serverInfo": self.config["info"]}
        if self.config["instructions"]:
            result["instructions"] = self.config["instructions"]
        return result

    def discover(self, call, _):
        result = {"supportedVersions": self.config["discovered"], "capabilities": self.capabilities(call)}
        if self.config["instructions"]:
            result["instructions"] = self.config["instructions"]
        return result

    def list_tools(self, call, params):
        tools, size, kind = self.config["tools"], self.config["page_size"], self.config["cursors"]
        cursor = params.get("cursor")
        if not size:
            if cursor is not None:
                raise Refused(-32602, "invalid cursor")
            return {"tools": tools}
        if kind == "rejected" and cursor is not None and self.rejected < self.config["rejections"]:
            self.rejected += 1
            raise Refused(-32602, "invalid cursor")
        if kind == "stuck":
            return {"tools": tools[:size], "nextCursor": "again"}
        if kind == "endless":
            number = int(cursor or 0)
            tool = dict(tools[0], name="%s_%d" % (tools[0]["name"], number))
            return {"tools": [tool], "nextCursor": str(number + 1)}
        start = 0 if cursor is None else size if cursor == "" else int(cursor)
        result = {"tools": tools[start : start + size]}
        if start + size < len(tools):
            result["nextCursor"] = "" if kind == "empty" and start == 0 else str(start + size)
        return result

    def call_tool(self, call, params):
        if params.get("name") not in [tool.get("name") for tool in self.config["tools"] if isinstance(tool, dict)]:
            raise Refused(-32602, "unknown tool: %s" % params.get("name"))
        said = {"tool": params["name"], "arguments": params.get("arguments"), "answers": call.answers}
        return {"content": [{"type": "text", "text": json.dumps(said)}]}

    def read(self, call, params):
        for resource in self.config["resources"]:
            if resource["uri"] == params.get("uri"):
                return {"contents": [{"uri": resource["uri"], "mimeType": "text/plain", "text": resource["text"]}]}
        raise Refused(-32602 if call.modern else -32002, "resource not found", {"uri": params.get("uri")})

    def prompt(self, call, params):
        for prompt in self.config["prompts"]:
            if prompt["name"] == params.get("name"):
                return {"messages": [{"role": "user", "content": {"type": "text", "text": prompt["text"]}}]}
        raise Refused(-32602, "unknown prompt: %s" % params.get("name"))

    def listen(self, call, params):
        wanted = params.get("notifications") or {}
        note = {"notifications": wanted, "_meta": {SUBSCRIPTION: call.id}}
        # Nothing comes before the acknowledgement, and nothing after it is missed.
        with self.lock:
            call.notify("notifications/subscriptions/acknowledged", note)
            self.listeners.append((call.sink, call.id, wanted))
        call.cancelled.wait()
        self.listeners = [entry for entry in self.listeners if entry[1] != call.id]
        return None


def listed(key, fields):
    def answer(self, call, _):
        return {key: [{field: entry[field] for field in fields if field in entry} for entry in self.config[key]]}

    return answer


ANSWERS = {
    "initialize": Server.initialize,
    "server/discover": Server.discover,
    "ping": lambda *_: {},
    "logging/setLevel": lambda *_: {},
    "resources/subscribe": lambda *_: {},
    "resources/unsubscribe": lambda *_: {},
    "tools/list": Server.list_tools,
    "tools/call": Server.call_tool,
    "resources/list": listed("resources", ("uri", "name")),
    "resources/templates/list": lambda *_: {"resourceTemplates": []},
    "resources/read": Server.read,
    "prompts/list": listed("prompts", ("name",)),
    "prompts/get": Server.prompt,
    "completion/complete": lambda *_: {"completion": {"values": []}},
    "subscriptions/listen": Server.listen,
}
