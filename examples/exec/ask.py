#!/usr/bin/env python3
# Asks, with JSON lines:
#   parley serve --lines -- ./ask.py
import json, sys

def say(**line):
    print(json.dumps(line), flush=True)

def hear():
    line = json.loads(sys.stdin.readline() or '{"type":"cancel"}')
    return sys.exit(1) if line["type"] == "cancel" else line

message = hear()
say(type="status", text="thinking about it")
say(type="ask", text="What is your name?")
say(type="complete", text="Hello " + hear()["text"] + "!")
