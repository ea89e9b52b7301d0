"""An origin for the tests of clients and examples.
usage: origin.py PORT"""
import base64, http.server, sys


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def reply(self, status, content=b"", **fields):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/file" or path.startswith("/files/"):
            return self.reply(200, b"for the clients", Content_Type="text/plain")
        if path == "/redirect":
            return self.reply(302, Location="/file")
        if path == "/private":
            is_right = self.headers.get("Authorization") == "Basic " + base64.b64encode(b"alice:wonderland").decode()
            fields = {} if is_right else {"WWW_Authenticate": 'Basic realm="home"'}
            return self.reply(200 if is_right else 401, b"private" if is_right else b"", **fields)
        self.reply(404)

    def do_POST(self):
        size = len(self.body())
        self.reply(403 if self.path == "/refused" else 200, str(size).encode())

    do_PUT = do_POST

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Origin).serve_forever()
