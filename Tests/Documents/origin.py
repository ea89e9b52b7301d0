"""The origin and webhook receiver of the pages."""
import http.server, threading

CONTENT = b"photo.jpg " * 10


class Origin(http.server.ThreadingHTTPServer):
    """Serves every path and keeps the messages that it receives."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server_port}"
        self.messages = []
        self.arrived = threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for(self, matches, seconds):
        """Waits for messages whose text, all together, matches. Returns whether they arrived."""
        with self.arrived:
            return self.arrived.wait_for(lambda: matches(self.messages), seconds)


class Handler(http.server.BaseHTTPRequestHandler):
    """`/busy` responds with 503, `/redirect` redirects, `/500` fails, and `/slow` sends only half of its body."""
    protocol_version = "HTTP/1.1"

    def reply(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in {"Content_Length": len(body), "ETag": '"1"', "Accept_Ranges": "bytes", **fields}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/busy":
            self.reply(503, Retry_After=600)
        elif path == "/redirect":
            self.reply(302, Location="/photo.jpg")
        elif path == "/slow":
            self.reply(200, CONTENT[:50], Content_Length=len(CONTENT))
            threading.Event().wait()
        elif field := self.headers.get("Range"):
            start = int(field.removeprefix("bytes=").split("-")[0])
            self.reply(206, CONTENT[start:], Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        else:
            self.reply(200, CONTENT)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with self.server.arrived:
            self.server.messages.append((f"{self.requestline}\n{self.headers}", body))
            self.server.arrived.notify_all()
        self.reply(500 if self.path == "/500" else 200)

    def log_message(self, *_):
        pass
