#!/usr/bin/env python3
# Stays for many messages, one after another; in parley.yaml:
#   exec: {command: [./stay.py], mode: lines, processes: 2}
import json, sys

model = "what takes long to load"

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "message":
        end = {"type": "complete", "task": message["task"], "text": message["text"].upper()}
        print(json.dumps(end), flush=True)
