#!/usr/bin/env python3
"""Builds the programs of examples/swift and runs each against a service and an origin."""

import base64
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.request

from ports import free_ports

ROOT = pathlib.Path(__file__).resolve().parent.parent
FERRY = os.environ.get("FERRY", str(ROOT / ".build/release/ferry"))
SCRATCH = ROOT / ".build/examples"
CONTENT = os.urandom(100_000)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ENVIRONMENT = os.environ | {"SECRET": SECRET, "ORIGIN_USER": "alice", "ORIGIN_PASSWORD": "wonderland"}


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        login = "Basic " + base64.b64encode(b"alice:wonderland").decode()
        if self.path == "/secret" and self.headers.get("Authorization") != login:
            self.reply(401, fields=[("WWW-Authenticate", 'Basic realm="garden"')])
        elif self.path == "/missing":
            self.reply(404, b"no such file")
        elif self.path == "/hop":
            self.reply(302, fields=[("Location", "/secret")])
        elif self.path == "/away":
            self.reply(302, fields=[("Location", "http://localhost:1/")])
        elif self.path == "/archive":
            self.reply(200, b"archive", [("Content-Type", "application/zip")])
        else:
            self.reply(200, b"secret" if self.path == "/secret" else CONTENT)

    def do_PUT(self):
        self.reply(200, b"received %d bytes" % len(self.body()))


def expect(condition, text):
    if not condition:
        sys.exit(f"swift-examples: {text}")


def main():
    # SwiftPM plans a build again if a file is new in this package, but not if it is new in the package that this one uses.
    (SCRATCH / "debug.yaml").unlink(missing_ok=True)
    subprocess.run(
        ["swift", "build", "--package-path", ROOT / "examples/swift", "--scratch-path", SCRATCH], check=True
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as place:
        service = subprocess.Popen(
            [FERRY, "serve", "--listen", "127.0.0.1:0", "--data-directory", f"{place}/data"]
            + ["--allow-network", "127.0.0.0/8"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            for line in service.stdout:
                entry = json.loads(line)
                if entry.get("message") == "listening":
                    break
            run_all(f"http://{entry['address']}", origin, pathlib.Path(place))
        finally:
            service.terminate()
            service.wait()
    print("the Swift examples work")


def run_all(service, origin, place):
    def run(program, *arguments, status=0):
        done = subprocess.run(
            [SCRATCH / "debug" / program, *arguments],
            env=ENVIRONMENT | {"FERRY_SERVER": service},
            capture_output=True,
            text=True,
            timeout=300,
        )
        expect(done.returncode == status, f"{program} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    mirror = place / "mirror"
    mirror.mkdir()
    text = run("mirror-list", str(mirror), f"{origin}/a.bin", f"{origin}/missing", status=1)
    expect((mirror / "a.bin").read_bytes() == CONTENT, "the mirrored file has other bytes")
    expect("a.bin: done" in text and "FerryErrorDomain 7" in text, f"mirror-list printed {text}")
    expect(os.listdir(mirror) == ["a.bin"], "mirror-list has kept the page of an error")
    text = run("upload-file", str(mirror / "a.bin"), f"{origin}/up")
    expect(text == "200 received 100000 bytes\n", f"upload-file printed {text}")
    text = run("answer-challenge", f"{origin}/secret")
    expect(text == "login for garden\n200 secret\n", f"answer-challenge printed {text}")
    [port] = free_ports(1)
    receiver = subprocess.Popen(
        [SCRATCH / "debug" / "receive-webhooks", str(port)], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    try:
        hook = f"http://127.0.0.1:{port}/hook"
        text = receiver.stdout.readline()
        expect(text == f"listening on http://127.0.0.1:{port}\n", f"receive-webhooks printed {text}")
        text = run("import-by-url", f"{origin}/a.bin", hook)
        expect(text.startswith("created tsk_"), f"import-by-url printed {text}")
        message = receiver.stdout.readline()
        expect(message == f"task.didComplete {text.split()[1]}\n", f"receive-webhooks printed {message}")
        answer_decisions(service, origin, hook)
    finally:
        receiver.terminate()
        receiver.communicate()


def answer_decisions(service, origin, hook):
    """The receiver is the delegate of a session."""

    # With a time to wait, the creation of a task is like that with a completion handler: the delegate receives no response.
    def call(path, body=None, fields={"Prefer": "wait=120"}):
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(service + path, data, fields | {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as reply:
            return json.load(reply)

    def end(path, secret=SECRET, patience=120):
        webhook = {"url": hook, "secret": secret, "answers": True}
        ask = {name: "ask" for name in ("taskChallenges", "redirects", "responses")}
        session = call("/v1/sessions", {"delegate": ask | {"webhook": webhook, "decisionTimeout": patience}})
        task = {"kind": "data", "resume": True, "request": {"url": origin + path}}
        task = call(f"/v1/sessions/{session['id']}/tasks", task, fields={})
        return call(f"/v1/tasks/{task['id']}")

    task = end("/hop")
    expect(task["response"]["status"] == 200 and task["body"]["size"] == 6, f"the delegate did not log in: {task}")
    task = end("/away")
    expect(task["response"]["status"] == 302, f"the delegate followed the redirect to another host: {task}")
    task = end("/archive")
    expect("downloadTaskId" in task, f"the delegate did not turn the archive into a download: {task}")
    task = end("/away", "whsec_bm90IHRoZSByZWNlaXZlcidzIHNlY3JldA==", patience=5)
    attempts = call(f"/v1/webhooks/deliveries?task={task['id']}")["items"][0]["attempts"]
    expect(attempts[0]["status"] == 401, f"the delegate accepted the signature of another secret: {attempts}")


main()
