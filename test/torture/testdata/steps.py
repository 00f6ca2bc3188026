"""The demo agent in Python with two more commands: "steps N" takes N steps, whose effects are lines of a file; "crash" waits after the second to be killed."""

import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "hosts/python"))

import demo


def effect(turn, i):
    """The i-th step: it leaves a line, and its result is one of its own."""

    def run():
        result = f"{random.getrandbits(64):x}"
        with open(os.environ["TORTURE_EFFECTS"], "a") as effects:
            effects.write(f"{turn.task} {i} {result}\n")
        return result

    return turn.step(f"step {i}", run)


def steps(turn, arg):
    turn.status()
    out = turn.artifact("steps")
    for i in range(1, int(arg) + 1):
        out.write(f"{i}={effect(turn, i)}\n")
        turn.sleep(random.random() * 0.03)


def crash(turn, arg):
    name = turn.ask("Who?").text
    out = turn.artifact("steps")
    had = len(out.resume())
    for i in range(1, 4):
        result = effect(turn, i)
        if i > had:
            out.write(f"{i}={result}\n", last=i == 3)
        if i == 2 and turn.attempt == 1:
            turn.sleep(3600)
    turn.complete(f"{name}, {turn.attempt}, {had}")


demo.COMMANDS.update(steps=steps, crash=crash)
demo.demo.serve()
