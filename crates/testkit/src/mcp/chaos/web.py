"""HTTP on a loopback port, written on plain sockets so that every byte and every close is ours to choose."""

import itertools
import json
import os
import select
import socket
import threading
import time

from outcome import Stop

REASONS = {200: "OK", 202: "Accepted", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
STATUS = {-32601: 404, -32602: 400, -32020: 400, -32021: 400, -32022: 400}


class Web:
    def __init__(self, server):
        self.server, self.config = server, server.config["http"]
        self.sessions = {}  # id -> calls so far
        self.streams = {}  # id -> Stream that can be resumed
        self.ids = itertools.count(1)


class Stream:
    """The answer to one request: one JSON document, or events when something comes before it."""

    def __init__(self, web, connection, modern, headers=()):
        self.web, self.connection, self.modern = web, connection, modern
        self.headers = list(headers)
        self.lock = threading.RLock()
        self.over = threading.Event()
        self.open = self.responded = False  # open: as a stream of events
        self.resumable, self.id, self.events = False, next(web.ids), []

    def send(self, body, message, chunk=None, last=False):
        with self.lock:
            if self.over.is_set() and not self.resumable:
                return
            if last and not self.open and not self.web.config["events"]:
                code = (message.get("error") or {}).get("code")
                status = STATUS.get(code, 200) if self.modern else 200
                self.responded = True
                self.connection.respond(status, body, self.headers, "application/json", chunk)
            else:
                self.begin()
                self.event(body, chunk, last)
            if last:
                self.finish()

    def begin(self):
        if not self.open:
            self.open = True
            self.connection.begin_events(self.headers)

    def event(self, body, chunk, last):
        if not self.resumable:
            return self.connection.write(b"data: " + body + b"\n\n", chunk)
        self.events.append((body, last))
        if self.connection:
            self.connection.write(b"id: %d-%d\ndata: %s\n\n" % (self.id, len(self.events), body), chunk)

    def write(self, data, chunk=None):
        with self.lock:
            self.begin()
            self.connection.write(data, chunk)

    def respond(self, step):
        headers = list(step["headers"].items()) + [("X-Filler", "x" * step["filler"])] * (step["filler"] > 0)
        self.responded = True
        self.connection.respond(step["status"], step["body"].encode(), headers, step["content_type"])
        self.finish()
        raise Stop

    def resume_later(self, retry_ms):
        """Ends the connection in mid-call; what comes later waits for a GET with the id of the last event."""
        with self.lock:
            self.resumable = True
            self.web.streams[str(self.id)] = self
            self.begin()
            self.connection.write(b"id: %d-0\nretry: %d\ndata: \n\n" % (self.id, retry_ms))
            self.connection.end()
            self.connection = None
            self.over.set()

    def attach(self, connection, after):
        with self.lock:
            self.connection, self.over = connection, threading.Event()
            connection.begin_events(self.headers)
            for number, (body, _) in enumerate(self.events, 1):
                if number > after:
                    connection.write(b"id: %d-%d\ndata: %s\n\n" % (self.id, number, body))
            if self.events and self.events[-1][1]:
                self.finish()
        return self

    def finish(self):
        with self.lock:
            if self.connection and not self.over.is_set() and (self.open or not self.responded):
                self.connection.end()
            self.over.set()

    def close(self):
        with self.lock:
            if self.connection:
                self.connection.abort()
            self.over.set()


class Connection(threading.Thread):
    def __init__(self, web, sock, number):
        super().__init__(daemon=True)
        self.web, self.sock, self.number = web, sock, number
        self.alive, self.buffer = True, b""

    # --- out --------------------------------------------------------------------------------------------------------

    def write(self, data, chunk=None):
        chunk = chunk or self.web.config["slow"]
        size, pause = chunk or (len(data) or 1, 0)
        try:
            for start in range(0, len(data), size):
                self.sock.sendall(data[start : start + size])
                time.sleep(pause / 1000)
        except OSError:
            self.alive = False

    def respond(self, status, body, headers=(), content_type=None, chunk=None):
        lines = ["HTTP/1.1 %d %s" % (status, REASONS.get(status, "Chaos")), "Content-Length: %d" % len(body)]
        if content_type and body:
            lines.append("Content-Type: " + content_type)
        lines += ["%s: %s" % pair for pair in headers]
        self.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body, chunk)

    def begin_events(self, headers):
        # Without a length: the end of the stream is the end of the connection.
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Cache-Control: no-cache", "Connection: close"]
        lines += ["%s: %s" % pair for pair in headers]
        self.write("\r\n".join(lines).encode() + b"\r\n\r\n")

    def end(self):
        self.alive = False
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def abort(self):
        """Closes with a reset, as from a server that died."""
        self.alive = False
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    # --- in ---------------------------------------------------------------------------------------------------------

    def fill(self):
        data = self.sock.recv(1 << 16)
        if not data:
            raise OSError("closed")
        self.buffer += data

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode("latin-1")

    def request(self):
        verb, path, _ = self.line().split(" ", 2)
        headers = {}
        while True:
            line = self.line()
            if not line:
                break
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        body = self.take(int(headers.get("content-length", 0)))
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while True:
                size = int(self.line().split(";")[0], 16)
                body += self.take(size)
                self.line()
                if not size:
                    break
        return verb, path, headers, body

    def run(self):
        try:
            while self.alive:
                verb, path, headers, body = self.request()
                last = headers.get("connection", "").lower() == "close"
                self.handle(verb, path, headers, body)
                self.alive = self.alive and not last
        except (OSError, ValueError):
            pass
        finally:
            self.sock.close()

    def handle(self, verb, path, headers, body):
        fields = {"connection": self.number, "verb": verb, "path": path, "headers": headers}
        record = self.web.server.record
        if verb != "POST":
            record.add("http", **fields)
            return self.without_body(verb, headers)
        try:
            message = json.loads(body)
        except ValueError:
            record.add("garbage", text=body.decode("utf-8", "replace"), **fields)
            return self.respond(400, b"")
        record.add("message", message=message, **fields)
        if not isinstance(message, dict):
            return self.respond(400, b"")
        self.post(message, headers)

    def post(self, message, headers):
        server = self.web.server
        meta = (message.get("params") or {}).get("_meta") or {}
        modern = "io.modelcontextprotocol/protocolVersion" in meta and bool(server.config["modern"])
        extra = []
        if self.web.config["sessions"] and not modern and "method" in message and message["method"] != "server/discover":
            status = self.session(message, headers, extra)
            if status:
                return self.respond(status, b"", extra)
        if "id" not in message or "method" not in message:
            server.receive(message, None)
            return self.notified(message, extra)
        stream = Stream(self.web, self, modern or not server.config["legacy"], extra)
        call = server.receive(message, stream)
        self.watch(stream, call, message)

    def notified(self, message, extra):
        for step in self.web.server.steps(message["method"], None) if "method" in message else []:
            if step["do"] == "sleep":
                time.sleep(step["ms"] / 1000)
            if step["do"] == "http":
                return self.respond(step["status"], step["body"].encode(), step["headers"].items(), step["content_type"])
        self.respond(202, b"", extra)

    def session(self, message, headers, extra):
        """Returns the status to refuse with, if any."""
        sessions, id = self.web.sessions, headers.get("mcp-session-id")
        if message["method"] == "initialize":
            id = "session-%s" % os.urandom(6).hex()
            sessions[id] = 0
            extra.append(("Mcp-Session-Id", id))
            return None
        if not id:
            return 400
        if id not in sessions:
            return 404
        if message["method"] == "tools/call":
            limit = self.web.config["session_calls"]
            if limit is not None and sessions[id] >= limit:
                del sessions[id]
                return 404
            sessions[id] += 1
        return None

    def without_body(self, verb, headers):
        config = self.web.config
        for step in self.web.server.steps(verb, None):
            if step["do"] == "http":
                return self.respond(step["status"], step["body"].encode(), step["headers"].items(), step["content_type"])
        if verb == "DELETE" and config["sessions"]:
            known = self.web.sessions.pop(headers.get("mcp-session-id"), None) is not None
            return self.respond(200 if known else 404, b"")
        if verb != "GET":
            return self.respond(405, b"")
        stream, _, after = headers.get("last-event-id", "").partition("-")
        if stream in self.web.streams:
            return self.watch(self.web.streams[stream].attach(self, int(after or 0)), None, None)
        if not config["get"]:
            return self.respond(405, b"", [("Allow", "POST")])
        stream = Stream(self.web, self, False)
        self.web.server.broadcast_to(stream)
        stream.begin()
        self.watch(stream, None, None)
        self.web.server.broadcast.remove(stream)

    def watch(self, stream, call, message):
        """Waits for the end of the answer, or for the client to go away."""
        while not stream.over.wait(0.01):
            readable, _, _ = select.select([self.sock], [], [], 0)
            if readable and not self.buffer:
                try:
                    gone = not self.sock.recv(1, socket.MSG_PEEK)
                except OSError:
                    gone = True
                if gone:
                    self.alive = False
                    self.web.server.record.add("closed", connection=self.number, id=(message or {}).get("id"))
                    if call and call.modern:
                        call.cancelled.set()
                    if not stream.resumable:
                        stream.over.set()
                    return


def serve(server):
    web = Web(server)
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=end_with_parent, daemon=True).start()
    print("http://127.0.0.1:%d/mcp" % listener.getsockname()[1], flush=True)
    for number in itertools.count(1):
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(web, sock, number).start()


def end_with_parent():
    while os.read(0, 4096):
        pass
    os._exit(0)
