#!/usr/bin/env python3
"""Parley's demo agent, word by word, in Python.

parley serve --lines -- python3 hosts/python/demo.py
"""

from __future__ import annotations

import base64
import math
import re
from typing import Callable

from parley import Content, Failed, Message, Part, Rejected, Turn, agent

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAQMAAABJtOi3AAAAA1BMVEUrVsmdOxQdAAAADElEQVR42mNgGNwAAACgAAGO+7G0AAAAAElFTkSuQmCC")


def first_text(message: Message) -> str:
    return next((str(p.value) for p in message.parts if p.kind == "text"), "")


def artifact(turn: Turn, name: str, *content: Content) -> None:
    turn.artifact(name).write(*content, last=True)


def echo(turn: Turn, arg: str) -> None:
    artifact(turn, "echo", arg)


def message(turn: Turn, arg: str) -> str:
    return arg


def stream(turn: Turn, arg: str) -> None:
    usage = Failed("usage: stream N [MS], with N from 1 to 100000 chunks and MS from 0 to 60000 milliseconds between them")
    match = re.fullmatch(r"(\d{1,6})(?: (\d{1,5}))?", arg, re.ASCII)
    if not match:
        raise usage
    n, ms = int(match[1]), int(match[2] or 50)
    if not 1 <= n <= 100_000 or ms > 60_000:
        raise usage
    turn.status()
    out = turn.artifact("stream")
    for i in range(len(out.resume()) + 1, n + 1):  # a chunk is a part
        out.write(f"chunk {i}\n", last=i == n)
        if i < n:
            turn.sleep(ms / 1000)


def sleep(turn: Turn, arg: str) -> None:
    if not re.fullmatch(r"\d+\.?\d*|\.\d+", arg, re.ASCII) or not math.isfinite(float(arg)) or float(arg) > 1e9:
        raise Failed("usage: sleep SECONDS, a number such as 2 or 0.5")
    turn.status(f"sleeping {arg} seconds")
    turn.sleep(float(arg))
    artifact(turn, "sleep", f"slept {arg}")


def ask(turn: Turn, arg: str) -> None:
    artifact(turn, "answer", first_text(turn.ask(arg or "What is your name?")))


def auth(turn: Turn, arg: str) -> None:
    turn.authenticate("Authorization needed: send any message to this task to give it.")
    artifact(turn, "auth", "authorized")


def fail(turn: Turn, arg: str) -> None:
    raise Failed(arg or "failed on request")


def reject(turn: Turn, arg: str) -> None:
    raise Rejected(arg or "rejected on request")


def file(turn: Turn, arg: str) -> None:
    picture = Part("raw", PIXEL, "image/png", "pixel.png")
    artifact(turn, "file", picture, Part("url", "https://example.com/report.pdf", "application/pdf", "report.pdf"))


def data(turn: Turn, arg: str) -> None:
    artifact(turn, "data", {"answer": 42, "ok": True, "list": [1, "two", None], "nested": {"pi": 3.5, "text": "héllo"}})


def refine(turn: Turn, arg: str) -> None:
    if turn.message.raw.get("referenceTaskIds"):
        earlier = turn.tasks("references")
    else:
        earlier = [t for t in turn.tasks("siblings") if t["status"]["state"] == "TASK_STATE_COMPLETED"]
    for task in earlier:
        if task.get("artifacts"):
            return artifact(turn, task["artifacts"][0].get("name", ""), arg)
    ask(turn, "Which earlier result do you mean? There is none that I can see.")


def help(turn: Turn, arg: str) -> None:
    artifact(turn, "help", HELP)


HELP = """\
help: an artifact with all of these commands, each with an example.
    help
echo TEXT: an artifact with the text.
    echo hello
message TEXT: a direct message with the text; no task is created.
    message hello
stream N [MS]: an artifact in N chunks, one every MS milliseconds (default 50).
    stream 20 200
sleep SECONDS: works for that long, unless it is cancelled.
    sleep 2.5
ask [QUESTION]: needs input; the next message of the task is the answer.
    ask Which city?
auth: needs authorization; the next message of the task gives it.
    auth
fail [REASON]: the task fails.
    fail out of paper
reject [REASON]: the task is rejected.
    reject not my job
file: an artifact with a small picture and a link to a document.
    file
data: an artifact with a JSON value.
    data
refine TEXT: a new version of the artifact of an earlier task, which the message refers to or which is the latest of the context.
    refine make it shorter
Any other text comes back as it is.
"""
COMMANDS: dict[str, Callable[[Turn, str], Content | None]] = {f.__name__: f for f in (echo, message, stream, sleep, ask, auth, fail, reject, file, data, refine, help)}


@agent
def demo(turn: Turn) -> Content | None:
    """Does what the first word of the message says; any other text comes back."""
    text = first_text(turn.message)
    word, _, arg = text.partition(" ")
    if word in COMMANDS:
        return COMMANDS[word](turn, arg)
    echo(turn, text)
    return None


if __name__ == "__main__":
    demo.serve()
