"""An MCP server that does what its script says, over stdio or HTTP, and writes down what it receives.

    python3 -S -E -B chaos.py SCRIPT.json stdio|http

The standard library alone; shares no code with what it tests. `testkit::mcp::Chaos` writes the script.
"""

import json
import os
import signal
import sys
import threading
import time


class Record:
    """What was received, a line of JSON each, in the order it came."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.started = time.monotonic()

    def add(self, kind, **fields):
        fields.update(kind=kind, pid=os.getpid(), ms=int((time.monotonic() - self.started) * 1000))
        # One write of one line: lines of several threads and processes never mix.
        os.write(self.file, json.dumps(fields).encode() + b"\n")


class Stdio:
    """Where everything goes when the server is a child process. Messages are lines, each written under the lock."""

    def __init__(self):
        self.lock = threading.Lock()
        self.closed = False

    def send(self, body, _, chunk=None, last=False):
        self.write(body + b"\n", chunk)

    def write(self, data, chunk=None):
        size, pause = chunk or (len(data) or 1, 0)
        with self.lock:
            if self.closed:
                return
            try:
                for start in range(0, len(data), size):
                    part = data[start : start + size]
                    while part:
                        part = part[os.write(1, part) :]
                    time.sleep(pause / 1000)
            except OSError:
                self.closed = True

    def close(self):
        with self.lock:
            self.closed = True
            # Standard output stays a valid descriptor for whoever writes to it by mistake.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.close(null)

    def finish(self):
        pass


def stdio(server):
    sink = Stdio()
    server.broadcast_to(sink)
    for line in server.config["banner"]:
        sink.write(line.encode() + b"\n")
    for id in server.config["early_answers"]:
        server.say(sink, {"jsonrpc": "2.0", "id": id, "result": {"early": True}})
    for line in iter(sys.stdin.buffer.readline, b""):
        try:
            message = json.loads(line)
        except ValueError:
            server.record.add("garbage", text=line.decode("utf-8", "replace"))
            continue
        server.record.add("message", message=message)
        for one in message if isinstance(message, list) else [message]:
            server.receive(one, sink)
    server.record.add("eof")
    if server.config["outlives_stdin"]:
        threading.Event().wait()
    os._exit(0)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    record = Record(config["record"])
    grandchild = None

    def terminated(*_):
        record.add("sigterm")
        if not config["ignores_sigterm"]:
            os._exit(143)

    signal.signal(signal.SIGTERM, terminated)
    if config["grandchild"]:
        import subprocess  # slow to load, and seldom needed

        sleeper = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"]
        grandchild = subprocess.Popen(sleeper, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid
    record.add("started", grandchild=grandchild)
    for number in range(config["stderr_lines"]):
        os.write(2, b"chatter %d on standard error, which is not a protocol\n" % number)
    time.sleep(config["start_ms"] / 1000)
    from server import Server

    server = Server(config, record)
    if sys.argv[2] == "stdio":
        stdio(server)
    else:
        import web

        web.serve(server)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        os._exit(130)
