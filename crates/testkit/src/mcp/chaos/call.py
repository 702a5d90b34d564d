"""One request and the script that answers it. A script that sends no answer gets the normal one at its end."""

import json
import os
import threading
import time
import traceback

from outcome import Refused, Stop


class Call:
    def __init__(self, server, message, sink):
        self.server, self.message, self.sink = server, message, sink
        self.id, self.method = message["id"], message["method"]
        self.params = message.get("params") or {}
        meta = self.params.get("_meta") or {}
        self.version = meta.get("io.modelcontextprotocol/protocolVersion")
        self.modern = self.version is not None and bool(server.config["modern"])
        self.client = meta.get("io.modelcontextprotocol/clientCapabilities") or {}
        self.token = meta.get("progressToken")
        self.cancelled = threading.Event()
        self.answered = self.deaf = False
        self.answers = {}
        self.chunk = self.task = None

    def run(self):
        steps = self.server.steps(self.method, self.params.get("name") or self.params.get("uri"))
        try:
            for index in range(self.resume(steps), len(steps)):
                STEPS[steps[index]["do"]](self, steps[index], index)
            if not self.answered:
                self.answer_normally()
        except Stop:
            pass
        except Exception:
            self.server.record.add("failed", error=traceback.format_exc())
        finally:
            self.sink.finish()

    # --- answers ----------------------------------------------------------------------------------------------------

    def answer_normally(self):
        try:
            result = self.server.normal(self)
            if result is not None:
                self.answer(result)
        except Refused as refused:
            self.refuse(refused.code, refused.message, refused.data)

    def answer(self, result, id=None, raw=None):
        self.answered = True
        if self.task:
            return self.task.finish(result=self.server.dress(self, result))
        message = {"jsonrpc": "2.0", "id": self.id if id is None else id, "result": self.server.dress(self, result)}
        self.send(message, raw)

    def refuse(self, code, text, data=None):
        self.answered = True
        error = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        if self.task:
            return self.task.finish(error=error)
        self.send({"jsonrpc": "2.0", "id": self.id, "error": error})

    def send(self, message, raw=None):
        body = json.dumps(message).encode()
        for placeholder, data in (raw or {}).items():
            body = body.replace(placeholder, data)
        self.sink.send(body, message, self.chunk, last="method" not in message and message["id"] == self.id)

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def text(self, text):
        return {"content": [{"type": "text", "text": text}]}

    def wait(self, ms):
        """Sleeps. A call that is cancelled meanwhile is over, unless it is deaf to that."""
        if self.deaf:
            time.sleep(ms / 1000)
        elif self.cancelled.wait(ms / 1000):
            raise Stop

    # --- questions --------------------------------------------------------------------------------------------------

    def resume(self, steps):
        """Returns the step to begin with: behind the question that this request answers."""
        given, state = self.params.get("inputResponses"), self.params.get("requestState")
        if not self.modern or given is None and state is None:
            return 0
        if state is not None:
            if state not in self.server.parked:
                self.refuse(-32602, "unknown requestState")
                raise Stop
            index, self.answers = self.server.parked[state]
            self.answers = dict(self.answers, **(given or {}))
        else:
            self.answers = dict(given)
            asked = [index for index, step in enumerate(steps) if step["do"] == "ask" and step["questions"]]
            answered = [index for index in asked if set(steps[index]["questions"]) <= set(self.answers)]
            if not answered:
                return asked[0] if asked else 0
            index = answered[-1]
        return index + 1 if set(steps[index]["questions"]) <= set(self.answers) else index

    def ask(self, step, index):
        questions = step["questions"]
        if self.task and self.modern:
            self.answers.update(self.task.ask(questions))
        elif self.modern:
            open = {key: value for key, value in questions.items() if key not in self.answers}
            result = {"resultType": "input_required"}
            if open:
                result["inputRequests"] = open
            if step["state"]:
                state = result["requestState"] = "chaos/%d/%s" % (index, os.urandom(8).hex())
                self.server.parked[state] = (index, self.answers)
            self.answer(result)
            raise Stop
        else:
            sink = self.server.broadcast[0] if self.task and self.server.broadcast else self.sink
            for key, question in questions.items():
                response = self.server.ask(sink, question["method"], question.get("params") or {})
                self.answers[key] = response and (response.get("result") or {"error": response.get("error")})

    # --- steps ------------------------------------------------------------------------------------------------------

    def step_task(self, step, _):
        declared = "io.modelcontextprotocol/tasks" in (self.client.get("extensions") or {})
        if declared if self.modern else self.params.get("task") is not None:
            task = self.server.tasks.create(self, step)
            self.answer(task.created())
            self.sink.finish()
            self.task, self.answered = task, False

    def step_progress(self, step, _):
        for number in range(step["count"]):
            if self.token is not None:
                params = {"progressToken": self.token, "progress": number + 1, "total": step["count"]}
                self.notify("notifications/progress", params)
            self.wait(step["every_ms"])

    def step_until_cancelled(self, step, _):
        self.deaf = True
        self.cancelled.wait(step["ms"] / 1000)

    def step_twice(self, *_):
        self.answer_normally()
        self.answer_normally()

    def step_never(self, *_):
        # The stream stays open and silent, as from a server that hangs.
        self.cancelled.wait()
        raise Stop

    def step_exit(self, step, _):
        os._exit(step["code"])

    def step_drop(self, *_):
        self.sink.close()
        raise Stop

    def step_deep(self, step, _):
        depth = step["depth"]
        result = dict(self.text("deep"), structuredContent="@deep@")
        self.answer(result, raw={b'"@deep@"': b"[" * depth + b"]" * depth})

    def step_stderr(self, step, _):
        for number in range(step["lines"]):
            os.write(2, b"chatter %d of a call on standard error\n" % number)

    def step_junk(self, step, _):
        for number in range(step["lines"]):
            self.sink.write(b"junk %d: this line is no JSON\n" % number)

    def step_request(self, step, _):
        response = self.server.ask(self.sink, step["method"], step["params"])
        self.answers[step["method"]] = response


STEPS = {
    "answer": lambda call, *_: call.answer_normally(),
    "result": lambda call, step, _: call.answer(step["result"]),
    "error": lambda call, step, _: call.refuse(step["code"], step["message"], step.get("data")),
    "sleep": lambda call, step, _: call.wait(step["ms"]),
    "never": Call.step_never,
    "exit": Call.step_exit,
    "drop": Call.step_drop,
    "twice": Call.step_twice,
    "other_id": lambda call, step, _: call.send({"jsonrpc": "2.0", "id": step["id"], "result": call.text("not for you")}),
    "until_cancelled": Call.step_until_cancelled,
    "progress": Call.step_progress,
    "log": lambda call, step, _: call.notify("notifications/message", {"level": step["level"], "data": step["data"]}),
    "notify": lambda call, step, _: call.notify(step["method"], step["params"]),
    "announce": lambda call, step, _: call.server.announce(step["method"], step["params"]),
    "request": Call.step_request,
    "ask": Call.ask,
    "task": Call.step_task,
    "big": lambda call, step, _: call.answer(call.text("x" * step["bytes"])),
    "split": lambda call, step, _: setattr(call, "chunk", (step["bytes"], step["pause_ms"])),
    "invalid_utf8": lambda call, *_: call.answer(call.text("@bytes@"), raw={b"@bytes@": b"\xff\xfe\xc3"}),
    "deep": Call.step_deep,
    "junk": Call.step_junk,
    "raw": lambda call, step, _: call.sink.write(bytes.fromhex(step["hex"])),
    "stderr": Call.step_stderr,
    "http": lambda call, step, _: call.sink.respond(step),
    "resume_later": lambda call, step, _: call.sink.resume_later(step["retry_ms"]),
}
