"""Tasks of both eras: the extension of 2026-07-28 and the experiment of 2025-11-25."""

import itertools
import threading
from datetime import datetime, timezone

from outcome import Refused

ENDED = ("completed", "failed", "cancelled")


def now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Task:
    def __init__(self, id, call, step):
        self.id, self.call, self.modern = id, call, call.modern
        self.ttl, self.poll = step["ttl_ms"], step["poll_ms"]
        self.status, self.result, self.error = "working", None, None
        self.questions, self.answers = {}, {}
        self.at = self.changed_at = now()
        self.changed = threading.Condition()

    def fields(self):
        names = ("ttlMs", "pollIntervalMs") if self.modern else ("ttl", "pollInterval")
        return {
            "taskId": self.id,
            "status": self.status,
            "createdAt": self.at,
            "lastUpdatedAt": self.changed_at,
            names[0]: self.ttl,
            names[1]: self.poll,
        }

    def created(self):
        return dict(self.fields(), resultType="task") if self.modern else {"task": self.fields()}

    def become(self, status):
        self.status, self.changed_at = status, now()
        self.changed.notify_all()

    def finish(self, result=None, error=None):
        with self.changed:
            if self.status in ENDED:
                return
            self.result, self.error = result, error
            # A result with isError is a failed task in the older era and a completed one in the newer.
            failed = error or not self.modern and (result or {}).get("isError")
            self.become("failed" if failed else "completed")

    def ask(self, questions):
        with self.changed:
            self.questions = dict(questions)
            self.become("input_required")
            while self.questions and self.status not in ENDED:
                self.changed.wait(60)
            return self.answers

    def update(self, responses):
        with self.changed:
            for key, response in responses.items():
                if self.questions.pop(key, None):
                    self.answers[key] = response
            if not self.questions and self.status == "input_required":
                self.become("working")

    def cancel(self):
        with self.changed:
            if self.status not in ENDED:
                self.become("cancelled")
        self.call.cancelled.set()


class Tasks:
    def __init__(self):
        self.all, self.ids = {}, itertools.count(1)

    def create(self, call, step):
        id = "task-%d" % next(self.ids)
        task = self.all[id] = Task(id, call, step)
        return task

    def answer(self, call):
        method, params = call.method, call.params
        if method == "tasks/list" and not call.modern:
            return {"tasks": [task.fields() for task in self.all.values()]}
        task = self.all.get(params.get("taskId"))
        if method not in ("tasks/get", "tasks/cancel", "tasks/update" if call.modern else "tasks/result"):
            raise Refused(-32601, "method not found: " + method)
        if not task:
            raise Refused(-32602, "unknown task: %s" % params.get("taskId"))
        if method == "tasks/get":
            return self.get(task)
        if method == "tasks/update":
            task.update(params.get("inputResponses") or {})
            return {}
        if method == "tasks/cancel":
            if task.status in ENDED and not call.modern:
                raise Refused(-32602, "the task has ended: " + task.status)
            task.cancel()
            return {} if call.modern else task.fields()
        with task.changed:
            while task.status not in ENDED:
                task.changed.wait(60)
        if task.error:
            raise Refused(task.error["code"], task.error["message"], task.error.get("data"))
        related = {"io.modelcontextprotocol/related-task": {"taskId": task.id}}
        return dict(task.result or {}, _meta=related)

    def get(self, task):
        with task.changed:
            fields = task.fields()
            if task.modern and task.status == "completed":
                fields["result"] = task.result
            if task.modern and task.status == "failed":
                fields["error"] = task.error
            if task.modern and task.status == "input_required":
                fields["inputRequests"] = task.questions
            return fields
