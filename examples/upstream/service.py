#!/usr/bin/env python3
"""An HTTP service that answers messages, in one piece: it says what it was told in
capital letters. docs/http.md has all that such a service may answer.

    python3 service.py 127.0.0.1:8000
"""
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"text": asked["text"].upper()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


host, port = (sys.argv[1:] or ["127.0.0.1:8000"])[0].rsplit(":", 1)
ThreadingHTTPServer((host, int(port)), Service).serve_forever()
