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

ROOT = pathlib.Path(__file__).resolve().parent.parent
FERRY = os.environ.get("FERRY", str(ROOT / ".build/release/ferry"))
SCRATCH = ROOT / ".build/examples"
CONTENT = os.urandom(100_000)


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    messages = []
    arrived = threading.Event()

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
        else:
            self.reply(200, b"secret" if self.path == "/secret" else CONTENT)

    def do_PUT(self):
        self.reply(200, b"received %d bytes" % len(self.body()))

    def do_POST(self):
        self.messages.append(json.loads(self.body()))
        self.reply(200)
        self.arrived.set()


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
    def run(program, *arguments):
        done = subprocess.run(
            [SCRATCH / "debug" / program, *arguments],
            env=os.environ | {"FERRY_SERVER": service},
            capture_output=True,
            text=True,
            timeout=60,
        )
        expect(done.returncode == 0, f"{program} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    mirror = place / "mirror"
    mirror.mkdir()
    text = run("mirror-list", str(mirror), f"{origin}/a.bin", f"{origin}/missing")
    expect((mirror / "a.bin").read_bytes() == CONTENT, "the mirrored file has other bytes")
    expect("a.bin: done" in text and "FerryErrorDomain 7" in text, f"mirror-list printed {text}")
    expect(os.listdir(mirror) == ["a.bin"], "mirror-list has kept the page of an error")
    text = run("upload-file", str(mirror / "a.bin"), f"{origin}/up")
    expect(text == "200 received 100000 bytes\n", f"upload-file printed {text}")
    text = run("answer-challenge", f"{origin}/secret", "alice", "wonderland")
    expect(text == "login for garden\n200 secret\n", f"answer-challenge printed {text}")
    text = run("import-by-url", f"{origin}/a.bin", f"{origin}/hook")
    expect(text.startswith("created tsk_"), f"import-by-url printed {text}")
    expect(Origin.arrived.wait(30), "the webhook of import-by-url has received no message")
    message = Origin.messages[0]
    expect(message["type"] == "task.didComplete", f"the webhook has received {message}")


main()
