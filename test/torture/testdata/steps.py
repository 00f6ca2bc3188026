"""The demo agent in Python with one more command: "steps N" takes N steps, whose effects are lines of a file."""

import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "hosts/python"))

import demo


def steps(turn, arg):
    turn.status()
    out = turn.artifact("steps")
    for i in range(1, int(arg) + 1):

        def effect():
            result = f"{random.getrandbits(64):x}"
            with open(os.environ["TORTURE_EFFECTS"], "a") as effects:
                effects.write(f"{turn.task} {i} {result}\n")
            return result

        out.write(f"{i}={turn.step(f'step {i}', effect)}\n")
        turn.sleep(random.random() * 0.03)


demo.COMMANDS["steps"] = steps
demo.demo.serve()
