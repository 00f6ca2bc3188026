#!/usr/bin/env python3
"""A model that says what it was told, word by word: to try `parley serve --openai`
without one. It needs nothing but Python.

    python3 model.py 9090
    parley serve --openai http://127.0.0.1:9090/v1 --model parrot
"""
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = request["messages"][-1]["content"].split()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for i, word in enumerate(words):
            time.sleep(0.1)
            self.event({"choices": [{"index": 0, "delta": {"content": " " * (i > 0) + word}, "finish_reason": None}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.event({"choices": [], "usage": {"prompt_tokens": len(words), "completion_tokens": len(words), "total_tokens": 2 * len(words)}})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9090), Model)
    server.handle_error = lambda *args: None  # a caller that went away is none
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
