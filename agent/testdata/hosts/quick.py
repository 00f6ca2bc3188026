"""The demo agent in Python, with a clock that takes no time and says what it was asked for."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "hosts/python"))

import demo
from parley import Cancelled, Turn


def sleep(turn, seconds):
    if seconds:
        print(f"slept {seconds:g}")
    if turn.cancelled.is_set():
        raise Cancelled


Turn.sleep = sleep
demo.demo.serve()
