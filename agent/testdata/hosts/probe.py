"""Says in Python what the demo agent has no words for. With an argument, as an async function."""

import asyncio
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "hosts/python"))

from parley import AsyncTurn, Failed, Part, Rejected, Turn, agent


def told(turn):
    return {
        "text": turn.text, "task": turn.task, "context": turn.context, "attempt": turn.attempt, "caller": turn.caller,
        "metadata": turn.metadata, "skill": turn.skill, "accepted": turn.accepted, "version": turn.version, "trace": turn.trace,
        "parts": [[p.kind, p.media_type, p.filename] for p in turn.message.parts], "of": turn.message.metadata,
    }  # fmt: skip


def status(turn):
    turn.status({"done": 0.5}, {"a": 1})
    turn.complete(["all ", Part("text", "done")])


def artifact(turn):
    with turn.artifact("a", "about", {"m": 1}) as a:
        a.write("one", {"two": 2})
        a.write("anew", anew=True)


def closed(turn):
    a = turn.artifact("a")
    a.write("x", last=True)
    a.write("y")


def step(turn):
    tries = []

    def charge():
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no luck")
        return None

    try:
        charged = turn.step("charge", charge)
    except ConnectionError:
        print("again")
        charged = turn.step("charge", charge)
    return [f"{charged}", f" {turn.step('ship', lambda: 17)}"]


def undone(turn):
    try:
        turn.step("charge", lambda: 1 / 0)
    except ZeroDivisionError:
        return "never mind"


def killed(turn):
    print("on paper")
    os.kill(os.getpid(), 9)


def files(turn):
    for name in sorted(os.listdir(turn.files_in)):
        text = pathlib.Path(turn.files_in, name).read_text()
        pathlib.Path(turn.files_out, name + ".out").write_text(text.upper())


def broken(turn):
    raise ValueError("the password is hush")


def failed(turn):
    raise Failed("no paper", {"left": 0})


def rejected(turn):
    raise Rejected(["not ", "mine"])


def nothing(turn):
    return []


def reasonless(turn):
    raise Failed(ValueError("no text"))


def wrong(turn):
    return 7


def large(turn):
    turn.artifact("a").write("x" * (8 << 20))


def inf(turn):
    turn.status({"x": float("inf")})


def child(turn):
    args = [sys.executable, "-c", "import parley; print(input())"]
    return subprocess.run(args, input="said", capture_output=True, text=True, env={**os.environ, "PYTHONPATH": sys.path[0]}).stdout.strip()


def ended(turn):
    turn.complete("done")
    turn.status("more")


@agent
def probe(turn: Turn):
    return globals()[turn.text.split()[0]](turn)


@agent
async def later(turn: AsyncTurn):
    if turn.text == "sleep":
        try:
            turn.status()
            await turn.sleep(3600)
        finally:
            print("tidied up")
    if turn.text == "broken":
        raise ValueError
    name = (await turn.ask("Who?")).text

    async def greet():
        await asyncio.sleep(0)
        return f"Hello {name}"

    word = await turn.step("greet", greet)
    secret = (await turn.authenticate("Secret?")).text
    return f"{word}, {secret}"


if words := os.environ.get("PROBE_SAYS"):
    print(words)  # it waits in Python's buffer, or not

(later if sys.argv[1:] else probe).serve()
