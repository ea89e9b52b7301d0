#!/usr/bin/env python3
"""An HTTP/1.1 origin that speaks NTLM. Each connection has a thread and logs in separately.

usage: ntlm_origin.py PORT DIRECTORY

/ntlm/... requires a user from the file that NTLM_USER_FILE names (lines domain:user:password). Everything else is open. GET returns the
file in DIRECTORY/files that the last path component names. PUT and POST return the size and the SHA-256 of the body.
DIRECTORY/requests.log has a line for each request: method, target, status, Authorization.
"""
import base64
import hashlib
import http.server
import json
import os
import sys
import threading

import spnego
from spnego.exceptions import SpnegoError

PIECE = 1 << 16
lock = threading.Lock()


class Connection(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    context = None  # of the current login
    principal = None  # the user of this connection

    def do_GET(self):
        if self.authenticate():
            self.discard()
            self.answer(200, self.content())

    do_HEAD = do_GET

    def do_PUT(self):
        if self.authenticate():
            if self.expects:
                self.send_response_only(100)
                self.end_headers()
            received, digest = 0, hashlib.sha256()
            for piece in self.body():
                received += len(piece)
                digest.update(piece)
            result = {"received": received, "sha256": digest.hexdigest()}
            self.answer(200, json.dumps(result).encode(), [("Content-Type", "application/json")])

    do_POST = do_PUT

    def handle_expect_100(self):
        """Lets an unauthenticated client wait for the challenge before it sends a body."""
        return True

    @property
    def expects(self):
        return self.headers.get("Expect", "").lower() == "100-continue"

    def authenticate(self):
        """Returns whether the request may continue. If not, it has been answered."""
        if not self.path.startswith("/ntlm/"):
            return True
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme.upper() != "NTLM":
            return self.principal is not None or self.challenge("NTLM", b"who are you?\n")
        try:
            message = base64.b64decode(token)
            if self.context is None or message[8:9] == b"\x01":
                self.principal = None
                self.context = spnego.server(protocol="ntlm", options=spnego.NegotiateOptions.use_ntlm)
            reply = self.context.step(message)
        except (SpnegoError, ValueError):
            self.context = None
            return self.challenge("NTLM", b"denied\n")
        if reply:
            return self.challenge("NTLM " + base64.b64encode(reply).decode(), b"go on\n")
        self.principal, self.context = self.context.client_principal, None
        return True

    def challenge(self, value, content):
        self.discard()
        self.answer(401, content, [("WWW-Authenticate", value)])
        return False

    def discard(self):
        """Reads and discards the body. A client that waits for 100 (Continue) does not send it, so the connection ends unless a login is
        in progress."""
        if self.expects and self.headers.get("Content-Length") != "0":
            self.close_connection = not self.headers.get("Authorization", "").upper().startswith("NTLM ")
            return
        for _ in self.body():
            pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return
        left = int(self.headers.get("Content-Length", "0"))
        while left and (piece := self.rfile.read(min(left, PIECE))):
            left -= len(piece)
            yield piece

    def content(self):
        name = self.path.partition("?")[0].rpartition("/")[2]
        try:
            with open(os.path.join(directory, "files", name), "rb") as file:
                return file.read()
        except OSError:
            return f"{self.principal or 'open'}\n".encode()

    def answer(self, status, content, fields=()):
        # The line is written before the reply, so that a client with the reply can read the line.
        with lock, open(os.path.join(directory, "requests.log"), "a") as log:
            authorization = self.headers.get("Authorization", "-")
            log.write(f"{self.command} {self.path} {status} {authorization}\n")
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = True
    request_queue_size = 128


directory = sys.argv[2]
Server(("127.0.0.1", int(sys.argv[1])), Connection).serve_forever()
