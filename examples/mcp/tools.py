#!/usr/bin/env python3
"""An MCP server over standard input and output with one tool, which counts. It
needs no package: see https://modelcontextprotocol.io for how to write a real one.
"""
import json, sys

COUNT = {
    "name": "count",
    "description": "Counts the words of a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string", "description": "the text"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True},
}


def answer(method, params):
    if method == "initialize":
        about = {"name": "counter", "version": "1.0.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [COUNT]}
    if method == "tools/call":
        words = params["arguments"]["text"].split()
        return {"content": [{"type": "text", "text": f"{len(words)} words"}], "structuredContent": {"words": len(words)}}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue  # a notification
    known = request["method"] in ("initialize", "ping", "tools/list", "tools/call")
    reply = {"result": answer(request["method"], request.get("params", {}))} if known else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
