#!/usr/bin/env python3
# An HTTP service as an agent, beside its parley.yaml:
#   python3 service.py 8000 & parley serve --file parley.yaml
import json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Forecast(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message["text"]:
            time.sleep(0.2)  # asking the clouds
            answer = {"text": "Sunny in " + message["text"] + "."}
        else:
            answer = {"ask": "Which city?"}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Forecast)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
