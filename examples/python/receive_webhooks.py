#!/usr/bin/env python3
"""Receives webhook messages, prints them, and answers challenges, redirects and responses as a delegate.
usage: SECRET=whsec_… ORIGIN_USER=… ORIGIN_PASSWORD=… receive_webhooks.py PORT"""
import http.server, os, sys
from urllib.parse import urlsplit
from ferry_client import Webhook

if len(sys.argv) != 2:
    sys.exit(__doc__)
webhook = Webhook(os.environ["SECRET"])


def handle(message):
    """The answer, if the message is a decision."""
    kind, data = message["type"], message["data"]
    print(kind, data["taskId"], flush=True)
    if kind == "task.didReceiveChallenge":
        if data["previousFailureCount"] > 0:  # the password was refused
            return {"disposition": "cancelAuthenticationChallenge"}
        return {"disposition": "useCredential", "credential": {
            "user": os.environ["ORIGIN_USER"], "password": os.environ["ORIGIN_PASSWORD"]}}
    if kind == "task.willPerformHTTPRedirection":  # redirects to other hosts are not followed
        same = urlsplit(data["response"]["url"]).hostname == urlsplit(data["request"]["url"]).hostname
        return {"request": data["request"] if same else None}
    if kind == "dataTask.didReceiveResponse":
        return {"disposition": "becomeDownload" if data["response"]["mimeType"] == "application/zip" else "allow"}


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        reply = webhook.respond(self.headers, body, handle)
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
