#!/usr/bin/env python3
"""A delegate of Ferry, which answers challenges, redirects and responses. Needs the package standardwebhooks from PyPI.
usage: SECRET=whsec_… ORIGIN_USER=… ORIGIN_PASSWORD=… delegate.py PORT"""
import http.server, json, os, sys, urllib.parse
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

def answer(kind, data):
    if kind == "task.didReceiveChallenge" and data["previousFailureCount"] == 0:
        user, password = os.environ["ORIGIN_USER"], os.environ["ORIGIN_PASSWORD"]
        return {"disposition": "useCredential", "credential": {"user": user, "password": password}}
    if kind == "task.didReceiveChallenge":
        return {"disposition": "cancelAuthenticationChallenge"}
    if kind == "task.willPerformHTTPRedirection":
        hosts = [urllib.parse.urlsplit(data[part]["url"]).hostname for part in ("response", "request")]
        return {"request": data["request"] if hosts[0] == hosts[1] else None}  # redirects to other hosts are not followed
    if kind == "dataTask.didReceiveResponse":
        return {"disposition": "becomeDownload" if data["response"]["mimeType"] == "application/zip" else "allow"}

class Delegate(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body, reply, status = self.rfile.read(int(self.headers["Content-Length"])), None, 200
        try:
            message = Webhook(os.environ["SECRET"]).verify(body, dict(self.headers))
            reply = answer(message["type"], message["data"])
        except WebhookVerificationError:
            status = 401
        content = json.dumps(reply).encode() if reply else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Delegate)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
