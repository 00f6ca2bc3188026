#!/usr/bin/env python3
# Does two steps. On the first run it hangs between them, so that the server can be killed.
import json, os, sys, time


def say(**line):
    print(json.dumps(line), flush=True)


message = json.loads(sys.stdin.readline())
for name in ("look it up", "write it down"):
    say(type="step", name=name)
    if not json.loads(sys.stdin.readline())["done"]:
        say(type="result", result=name)
    say(type="artifact", name="steps", text=name + "\n", append=name != "look it up")
    if message["attempt"] == 1:
        time.sleep(600)
say(type="complete", text=message["traceparent"])
