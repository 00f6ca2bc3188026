#!/usr/bin/env python3
"""A small MCP client, which needs no package: it runs a server, calls one of its
tools, and asks its user where the tool does.

    python3 client.py send_message '{"message":"hello"}' parley mcp -a 127.0.0.1:7275
"""
import json, subprocess, sys

tool, arguments, command = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)


def call(id, method, **params):
    say(id=id, method=method, params=params)
    while True:
        heard = json.loads(server.stdout.readline())
        if heard.get("method") == "elicitation/create":
            print(heard["params"]["message"], end=" ", flush=True)
            answer = sys.stdin.readline().strip()
            print(answer)
            say(id=heard["id"], result={"action": "accept", "content": {"answer": answer}})
        elif heard.get("id") == id:
            return heard["result"]


about = {"name": "client.py", "version": "1.0.0"}
call(1, "initialize", protocolVersion="2025-06-18", capabilities={"elicitation": {}}, clientInfo=about)
say(method="notifications/initialized")
print("tools:", *[t["name"] for t in call(2, "tools/list")["tools"]])
for part in call(3, "tools/call", name=tool, arguments=arguments)["content"]:
    print(part.get("text", part["type"]))
server.stdin.close()
server.wait()
