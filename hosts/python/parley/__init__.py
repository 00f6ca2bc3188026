"""A2A agents in Python: you write one function, Parley runs it for each message.

    from parley import Turn, agent

    @agent
    def hello(turn: Turn) -> str:
        name = turn.ask("What is your name?").text
        return f"Hello {name}!"

    if __name__ == "__main__":
        hello.serve()

Start it with ``parley serve --lines -- python3 hello.py``. The function may be ``async``; it
then gets an ``AsyncTurn``, whose ``ask``, ``authenticate``, ``step`` and ``sleep`` are awaited.
What the function returns ends the task: ``None`` completes it, a text or parts are the reply.
Raise ``Failed`` or ``Rejected`` to end it with a reason that the caller sees. Any other exception
fails the task; its text goes to the server's log only. ``print`` writes to that log, too.
After a crash of the server the function runs again from the top, with ``turn.attempt`` one
higher: questions that were answered return at once, and a ``step`` that was done is not done again.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import inspect
import io
import json
import os
import queue
import sys
import threading
import traceback
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Dict, Iterable, Literal, Union


@dataclass(frozen=True)
class Part:
    """A piece of content: ``value`` is a str for "text" and "url", bytes for "raw", any JSON value for "data"."""

    kind: Literal["text", "data", "url", "raw"]
    value: Any
    media_type: str = ""
    filename: str = ""
    metadata: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        value = base64.b64encode(self.value).decode() if self.kind == "raw" else self.value
        more = {"mediaType": self.media_type, "filename": self.filename, "metadata": self.metadata}
        return {self.kind: value, **{k: v for k, v in more.items() if v}}

    @staticmethod
    def from_json(o: dict[str, Any]) -> Part:
        kind: Any = next(k for k in ("text", "data", "url", "raw") if k in o)
        value = base64.b64decode(o[kind]) if kind == "raw" else o[kind]
        return Part(kind, value, o.get("mediaType", ""), o.get("filename", ""), o.get("metadata"))


Content = Union[str, Dict[str, Any], Part, Iterable[Union[str, Dict[str, Any], Part]]]  # a dict is a part of data


def _parts(content: Content) -> list[dict[str, Any]]:
    if isinstance(content, (str, dict)):
        content = Part("text" if isinstance(content, str) else "data", content)
    if isinstance(content, Part):
        return [content.to_json()]
    if not isinstance(content, Iterable):
        raise TypeError(f"a text, a dict, a Part or a list of them is wanted, not {type(content).__name__}")
    return [p for item in content for p in _parts(item)]


class Message:
    """A message of the client. ``text`` is all of its text; ``raw`` is it as in version 1.0 of the protocol."""

    def __init__(self, line: dict[str, Any]):
        self.text: str = line["text"]
        self.raw: dict[str, Any] = line["message"]
        self.parts = [Part.from_json(p) for p in self.raw.get("parts", [])]
        self.metadata: dict[str, Any] = self.raw.get("metadata", {})


class Cancelled(BaseException):
    """The turn is over: canceled, out of time, or the server stops. Let it pass; ``finally`` blocks run."""


class Failed(Exception):
    """Fails the task with a reason that the caller sees."""

    def __init__(self, reason: Content = "", metadata: dict[str, Any] | None = None):
        super().__init__(reason)
        self.reason, self.metadata, self._parts = reason, metadata, _parts(reason)


class Rejected(Failed):
    """Declines the task with a reason that the caller sees."""


class Artifact(contextlib.AbstractContextManager["Artifact"]):
    """Writes one artifact, each call a chunk. In a ``with`` statement it is closed at the end."""

    def __init__(self, turn: Turn, name: str, description: str, metadata: dict[str, Any] | None):
        self._turn, self._name, self._closed = turn, name, False
        self._more = {"description": description or None, "metadata": metadata}

    def write(self, *content: Content, last: bool = False, anew: bool = False) -> None:
        """Appends a chunk. ``last`` says that none follows; ``anew`` has it take the place of what was written."""
        if self._closed and not anew:
            raise ValueError(f"the artifact {self._name!r} is closed: its last chunk was written")
        parts = [p for c in content for p in _parts(c)]
        if parts or last:
            self._turn._say("artifact", parts=parts, last=last, append=not anew, name=self._name, **self._more)
        self._closed = last

    def resume(self) -> list[Part]:
        """Returns what a lost run left of this artifact; what is written now is appended. Call it first."""
        return [Part.from_json(p) for p in self._turn._call("resume", name=self._name)["parts"]]

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and not self._closed:
            self.write(last=True)


class Turn:
    """One message and the means to answer it. After a cancel, each method raises Cancelled."""

    def __init__(self, line: dict[str, Any], say: Callable[[dict[str, Any]], None]):
        self.message, self.text = Message(line), line["text"]  # of all parts: text, text files, data as JSON
        self.task, self.context = line["task"], line["context"]  # their ids
        self.attempt: int = line["attempt"]  # 1, and one more with each run from the top
        self.caller: dict[str, str] = line["caller"]  # subject and tenant
        self.metadata: dict[str, Any] = line.get("metadata", {})  # of the request
        self.skill: dict[str, Any] | None = line.get("skill")  # id and arguments, if the message names one
        self.accepted: list[str] = line.get("accepted", [])  # media types that the client takes; none: any
        self.version: str = line.get("version", "")  # of the protocol the task began in
        self.trace = {k: line[k] for k in ("traceparent", "tracestate") if k in line}  # headers for your own requests
        self.files_in, self.files_out = line.get("in"), line.get("out")  # folders, with files: true
        self._send = say
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.cancelled = threading.Event()  # long computations look at it, or call any method
        self._reason, self._step, self._ended = "", "", False
        self._on_cancel: Callable[[], Any] = lambda: None

    def status(self, content: Content = "", metadata: dict[str, Any] | None = None) -> None:
        """Says how far the work is."""
        self._say("status", parts=_parts(content), metadata=metadata)

    def artifact(self, name: str = "", description: str = "", metadata: dict[str, Any] | None = None) -> Artifact:
        """Begins an artifact; nothing is sent until something is written."""
        return Artifact(self, name, description, metadata)

    def ask(self, question: Content) -> Message:
        """Asks the client and returns its answer, after seconds or days."""
        return Message(self._call("ask", "answer", parts=_parts(question)))

    def authenticate(self, prompt: Content) -> Message:
        """Asks the client for credentials and returns its answer, which is kept nowhere."""
        return Message(self._call("authenticate", "answer", parts=_parts(prompt)))

    def step(self, name: str, fn: Callable[[], Any]) -> Any:
        """Calls fn once per task and returns its result, a JSON value; a later run gets the recorded one.
        If fn raises, nothing is recorded: call step with the same name again, or end the task."""
        done, result = self._begin(name)
        return result if done else self._record(fn())

    def sleep(self, seconds: float) -> None:
        """Waits, until a cancel at most."""
        if self.cancelled.wait(seconds):
            raise Cancelled(self._reason)

    def tasks(self, which: Literal["references", "siblings"]) -> list[dict[str, Any]]:
        """The earlier tasks that the message refers to, or those of its context, newest first; 100 at most."""
        return list(self._call(which, "tasks")["tasks"])

    def complete(self, content: Content = "", metadata: dict[str, Any] | None = None) -> None:
        """Completes the task with a word about it. Return from the function afterwards."""
        self._say("complete", parts=_parts(content), metadata=metadata)

    def _say(self, kind: str, **members: Any) -> None:
        if self.cancelled.is_set() and kind != "fail":
            raise Cancelled(self._reason)
        if self._ended:
            raise RuntimeError("the task has ended: return from the function")
        if self._step and kind in ("ask", "authenticate", "step", "complete", "reply"):
            raise RuntimeError(f"step {self._step!r} has no result: call it again, or raise Failed or Rejected")
        members = {k: v for k, v in members.items() if v is not None or k == "result"}
        self._send({"type": kind, "task": self.task, **members})
        self._ended = kind in ("complete", "reply", "reject", "fail")

    def _call(self, kind: str, wanted: str = "", **members: Any) -> Any:
        self._say(kind, **members)
        while (line := self._inbox.get()) is not None:
            if line["type"] == (wanted or kind):
                return line
        raise Cancelled(self._reason)

    def _begin(self, name: str) -> tuple[bool, Any]:
        if self._step == name:  # the last try raised, and the server waits for its result
            return False, None
        line = self._call("step", name=name)
        self._step = "" if line["done"] else name
        return line["done"], line.get("result")

    def _record(self, result: Any) -> Any:
        self._say("result", result=result)
        self._step = ""
        return result

    def _cancel(self, reason: str) -> None:
        self._reason = reason
        self.cancelled.set()
        self._inbox.put(None)
        self._on_cancel()


class AsyncTurn(Turn):
    """A Turn for ``async`` functions. A cancel cancels the function's asyncio task."""

    async def ask(self, question: Content) -> Message:  # type: ignore[override]
        return await asyncio.to_thread(super().ask, question)

    async def authenticate(self, prompt: Content) -> Message:  # type: ignore[override]
        return await asyncio.to_thread(super().authenticate, prompt)

    async def step(self, name: str, fn: Callable[[], Awaitable[Any]]) -> Any:
        done, result = self._begin(name)
        return result if done else self._record(await fn())

    async def sleep(self, seconds: float) -> None:  # type: ignore[override]
        await asyncio.sleep(seconds)


class Agent:
    """Makes an agent of a function of one Turn, as a decorator; ``serve`` runs it."""

    def __init__(self, fn: Callable[[Any], Any]):
        self.fn, self.__doc__ = fn, fn.__doc__
        self._async = inspect.iscoroutinefunction(fn)

    def serve(self) -> None:
        """Handles message after message until the server closes the input."""
        if os.environ.get("PARLEY_MODE") != "lines":
            sys.exit(f"this program is an agent. Start it with:\n  parley serve --lines -- python3 {sys.argv[0]}")
        if not _lines:
            _take()
        self._lock, turns = threading.Lock(), queue.SimpleQueue[Any]()
        threading.Thread(target=self._read, args=(turns,), daemon=True).start()
        loop = asyncio.new_event_loop() if self._async else None
        while (turn := turns.get()) is not None:
            self._run(turn, loop)

    def _send(self, line: dict[str, Any]) -> None:
        data = json.dumps(line, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        if len(data) > 8 << 20:
            raise ValueError("more than 8 MiB at once: write it in smaller chunks")
        with self._lock:
            _out.write(data + b"\n")
            _out.flush()

    def _read(self, turns: queue.SimpleQueue[Any]) -> None:
        turn: Turn | None = None
        for line in map(json.loads, _lines):
            if line["type"] == "message":
                turn = (AsyncTurn if self._async else Turn)(line, self._send)
                turns.put(turn)
            elif turn and line["type"] == "cancel" and line.get("task", turn.task) == turn.task:
                turn._cancel(line.get("reason", "canceled"))
            elif turn:
                turn._inbox.put(line)
        if turn:
            turn._cancel("the server has closed the input")
        turns.put(None)

    def _run(self, turn: Turn, loop: asyncio.AbstractEventLoop | None) -> None:
        try:
            result = loop.run_until_complete(self._drive(turn, loop)) if loop else self.fn(turn)
            if not turn._ended:
                parts = [] if result is None else _parts(result)
                turn._say("reply" if parts else "complete", parts=parts)
            return
        except (Cancelled, asyncio.CancelledError):
            kind, end = "fail", Failed("canceled")
        except Failed as e:
            kind, end = "reject" if isinstance(e, Rejected) else "fail", e
        except Exception as e:
            traceback.print_exc()
            kind, end = "fail", Failed(f"the agent failed ({type(e).__name__})")
        with contextlib.suppress(Cancelled, OSError, RuntimeError):  # it has ended, or nobody listens
            turn._say(kind, parts=end._parts, metadata=end.metadata)

    async def _drive(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> Any:
        work = asyncio.ensure_future(self.fn(turn))
        turn._on_cancel = lambda: loop.call_soon_threadsafe(work.cancel)
        if turn.cancelled.is_set():
            work.cancel()
        return await work


agent = Agent
_lines: Any = None


def _take() -> None:
    """From here on what the program and its children print goes to the log, and none of them reads our input."""
    global _lines, _out
    _lines, _out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):  # what waits in its buffer would come as another task's, or not at all
        sys.stdout.reconfigure(line_buffering=True)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


# A child process that imports this module has an input and an output of its own, unless it serves.
if os.environ.get("PARLEY_MODE") == "lines" and os.environ.setdefault("PARLEY_PROCESS", str(os.getpid())) == str(os.getpid()):
    _take()
