#!/usr/bin/env python3
# Stays for many messages, one after another, and says each in capitals.
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "message":
        print(json.dumps({"type": "complete", "task": message["task"], "text": message["text"].upper()}), flush=True)
