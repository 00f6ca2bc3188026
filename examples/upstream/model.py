#!/usr/bin/env python3
"""An endpoint that speaks as OpenAI's chat completions do, with a model that says
what it heard backwards, word by word. For trying things out: no key, no network.

    python3 model.py 127.0.0.1:8000
"""
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = asked["messages"][-1]["content"]
        if not isinstance(content, str):  # parts: text, images, files
            content = " ".join(part.get("text", "") for part in content)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        words = content.split()[::-1]
        for n, word in enumerate(words):
            self.event({"choices": [{"index": 0, "delta": {"content": word + " " * (n < len(words) - 1)}}]})
            time.sleep(0.1)
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.event({"choices": [], "usage": {"prompt_tokens": len(words), "completion_tokens": len(words), "total_tokens": 2 * len(words)}})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, chunk):
        self.wfile.write(f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', **chunk})}\n\n".encode())

    def log_message(self, *_):
        pass


host, port = (sys.argv[1:] or ["127.0.0.1:8000"])[0].rsplit(":", 1)
ThreadingHTTPServer((host, int(port)), Model).serve_forever()
