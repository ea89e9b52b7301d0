"""An origin, proxy and webhook endpoint that answers each path with other bytes, correct or not."""
import gzip, random, socket, threading, zlib
from mutation import mutated

DATES = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "0", "-1",
         "Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 99 Foo 2026 25:61:61 GMT"]


def fields_of_a_cache(r):
    return [("Cache-Control", r.choice(["max-age=60", "max-age=-1", "no-store", "no-cache=\"set-cookie\"", "public, s-maxage=9",
                                        "max-age=99999999999999999999", "stale-while-revalidate=60, max-age=0", "immutable, private",
                                        "must-understand, no-store", "max-age=\"60\", ,,", "a=" + "b" * 5000])),
            ("Age", r.choice(["0", "-5", "999999999999999999999", "1.5", "x"])), ("Expires", r.choice(DATES)),
            ("Date", r.choice(DATES)), ("Last-Modified", r.choice(DATES)), ("Vary", r.choice(["*", "Accept", "Cookie", ",,", "a" * 3000])),
            ("ETag", r.choice(['"a"', 'W/"a"', "a", '"' + "x" * 3000 + '"', '""']))]


def fields_of_cookies(r):
    return [("Set-Cookie", r.choice([
        "a=b", "=", "a", "a=b; Domain=127.0.0.1", "a=b; Domain=.com; Path=/", "a=b; Max-Age=-99999999999999999999", "__Host-a=b; Secure; Path=/",
        "a=b; Expires=" + r.choice(DATES), "a=" + "b" * 5000, "; ; ;", "a=b; Path=" + "/x" * 2000, "a=b; SameSite=Lax; Partitioned; HttpOnly"]))
        for _ in range(r.choice((1, 2, 60)))]


def challenges(r):
    return [(r.choice(["WWW-Authenticate", "Proxy-Authenticate"]), r.choice([
        'Basic realm="x"', 'Digest realm="x", nonce="n", qop="auth,auth-int", algorithm=SHA-256', "Digest", 'Digest realm="' + "\\\"" * 900 + '"',
        "NTLM", "NTLM TlRMTVNTUAACAAAA", "NTLM ====", "Negotiate", "Negotiate YII=", "Basic, Digest realm=a nonce=b, , NTLM", 'Bearer realm="',
        "a" * 4000, 'Digest realm="x", nonce="' + "n" * 4000 + '", stale=true, userhash=true', 'Digest realm="x", nonce="n", qop="auth", opaque="'
        + "\\" * 99, 'Digest realm="x", nonce="m", stale=true', "NTLM " + "TlRMTVNTUAACAAAA" + "/" * 200])) for _ in range(r.choice((1, 2, 5)))]


def chunked(r, body):
    text = b""
    while body:
        size = r.choice((1, 7, 100, 4096))
        text += f"{len(body[:size]):x}{r.choice(['', ';a=b', ' ;x', ';' + 'y' * 3000])}\r\n".encode() + body[:size] + b"\r\n"
        body = body[size:]
    return text + b"0\r\n" + r.choice([b"", b"X-Trailer: t\r\n", b"Content-Length: 5\r\n", b"a" * 3000 + b": b\r\n"]) + b"\r\n"


def multipart(r):
    text, boundary = b"", b"b"
    for _ in range(r.choice((0, 1, 3, 30))):
        text += b"--" + boundary + b"\r\nContent-Type: text/plain\r\nContent-Length: " + r.choice([b"2", b"-1", b"99999"]) + b"\r\n\r\nok\r\n"
    return text + r.choice([b"--b--\r\n", b"--b", b""])


def decision(r):
    """Returns the answer to a decision that a webhook delivers."""
    return r.choice([
        b"", b"null", b"[]", b"{", b'{"disposition":"performDefaultHandling"}', b'{"disposition":"useCredential","credential":{"user":"u","password":"p"}}',
        b'{"disposition":"cancel"}', b'{"disposition":"rejectProtectionSpace"}', b'{"storagePolicy":"allowed"}', b'{"storagePolicy":null}', b'{"disposition":7}', b'{"disposition":"allow"}', b'{"disposition":"becomeDownload"}', b'{"request":null}',
        b'{"request":{"url":"http://127.0.0.1:1/"}}', b'{"request":{"url":"\\ud800"}}', b'{"cachedResponse":null}', b"[" * 5000, b'{"a":' * 600,
        b'{"disposition":"useCredential","credential":{"user":"' + b"u" * 5000 + b'","password":null}}'])


def response(r, url):
    """Returns a response in one of a few correct forms, some of which are then damaged."""
    status = r.choice((200,) * 8 + (206, 204, 304, 301, 302, 303, 307, 308, 401, 401, 407, 404, 416, 429, 503, 101, 999))
    fields = [("Content-Type", r.choice(["text/plain", "text/html; charset=utf-8", "multipart/x-mixed-replace; boundary=b",
                                         'a/b; charset="' + "x" * 2000, ";;;"]))]
    body = bytes(r.randrange(256) for _ in range(r.choice((0, 2, 2, 100, 5000))))
    if r.random() < 0.3:
        fields += fields_of_a_cache(r)
    if r.random() < 0.3:
        fields += fields_of_cookies(r)
    if status in (401, 407) or r.random() < 0.05:
        fields += challenges(r)
    if 300 <= status < 400 and status != 304:
        fields.append(("Location", r.choice([f"{url}/next/{r.randrange(10**9)}", "/x", "//", "http://", "file:///etc/passwd", "http://[::1", "?" + "q" * 5000,
                                             "https://user:pa%00ss@127.0.0.1/", url + "/\r\n x"])))
    if status == 206:
        fields.append(("Content-Range", r.choice(["bytes 0-1/2", "bytes 5-1/2", "bytes */0", "bytes 0-99999999999999999999/*", "x"])))
    if r.random() < 0.1:
        fields.append(("Content-Disposition", r.choice(["attachment; filename=a", "attachment; filename*=utf-8''%ff%00", 'x; filename="' + "\\" * 900])))
    if r.random() < 0.1:
        fields.append(("Retry-After", r.choice(["1", "-1", "99999999999999999999", DATES[0]])))
    if "multipart" in fields[0][1]:
        body = multipart(r)
    elif r.random() < 0.2:
        body = decision(r)
    if r.random() < 0.15:
        coding = r.choice(["gzip", "deflate", "br", "zstd", "gzip, gzip", "x" * 100])
        fields.append(("Content-Encoding", coding))
        body = gzip.compress(body * r.choice((1, 1, 500))) if "gzip" in coding else zlib.compress(body)
        body = body[:r.choice((len(body), len(body), len(body) // 2))]
    if r.random() < 0.3:
        fields.append(("Transfer-Encoding", r.choice(["chunked", "chunked", "gzip, chunked", "chunked, chunked"])))
        body = chunked(r, body)
    else:
        fields.append(("Content-Length", r.choice([str(len(body))] * 6 + ["0", "-1", "99999999999999999999999", str(len(body) + 9), "1, 2"])))
    for _ in range(r.choice((0,) * 9 + (100, 3000))):
        fields.append((f"X-{r.randrange(10**6)}", "v" * r.choice((0, 1, 50))))
    r.shuffle(fields)
    early = r.choice([b""] * 9 + [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 40])
    line = r.choice([f"HTTP/1.1 {status} OK"] * 12 + [f"HTTP/1.0 {status}", f"HTTP/2 {status}", "HTTP/1.1 20", "ICY 200 OK", "SSH-2.0-x", "", "HTTP/9.9 200 x"])
    head = line + "\r\n" + "".join(r.choice(["", "", "", " ", "\t"]) * (r.random() < 0.05) + f"{name}: {value}\r\n" for name, value in fields)
    text = early + head.encode("latin-1", "replace") + b"\r\n" + body
    if r.random() < 0.03:
        return r.choice([b"\x16\x03\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"{", b""]) + bytes(r.randrange(256) for _ in range(r.choice((0, 9, 900))))
    return text if r.random() < 0.4 else mutated(r, text)


def content_length(head):
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


class HostileOrigin:
    """An origin that answers each further request for a path differently, such as after a redirect, a challenge or an interruption."""

    def __init__(self, seed):
        self.seed, self.lock, self.sent, self.visits = seed, threading.Lock(), [], {}
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        connection.settimeout(20)
        rest = b""
        try:
            with connection:
                while True:
                    while b"\r\n\r\n" not in rest:
                        data = connection.recv(65536)
                        if not data:
                            return
                        rest += data
                        if rest[:1] == b"\x05" and not (rest := self.shake_hands(connection)):
                            return
                        if rest[:1] == b"\x16":
                            connection.sendall(b"HTTP/1.1 400 not TLS\r\n\r\n")
                            return
                    head, rest = rest.split(b"\r\n\r\n", 1)
                    method, path = head.decode("latin-1").split(" ")[:2]
                    r = random.Random(f"{self.seed} {path} {self.visit(path)}")
                    if r.random() < 0.7:  # otherwise it answers during the body, and takes the rest of the body for a head
                        missing = content_length(head) - len(rest)
                        rest = b"" if missing >= 0 else rest[missing:]
                        while missing > 0 and (data := connection.recv(min(missing, 65536))):
                            missing -= len(data)
                    text = response(r, self.url)
                    if method == "CONNECT" and r.random() < 0.7:
                        text = b"HTTP/1.1 200 OK\r\n\r\n" + mutated(r, r.choice([b"", b"\x16\x03\x03\x00\x05hello", text]))
                    self.note(path, text)
                    step = r.choice((len(text), len(text), 1000, 7)) or 1
                    for start in range(0, min(len(text), 40 * step), step):
                        connection.sendall(text[start:start + step])
                    connection.sendall(text[40 * step:])
                    if r.random() < 0.4:
                        return
        except (OSError, ValueError, IndexError):
            pass

    def shake_hands(self, connection):
        """Performs a correct or damaged SOCKS handshake. Returns the bytes that follow it, or no bytes."""
        r = random.Random(f"{self.seed} socks {self.visit('socks')}")
        for answer in (b"\x05\x00", b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"):
            text = answer if r.random() < 0.8 else mutated(r, r.choice([answer, b"\x05\xff", b"\x05\x02", b"\x05\x01\x00\x03\xff" + b"a" * 9, b"\x04"]))
            self.note("SOCKS", text)
            connection.sendall(text)
            data = connection.recv(65536)
            if not data or r.random() < 0.05:
                return b""
        return data

    def visit(self, path):
        with self.lock:
            self.visits[path] = self.visits.get(path, -1) + 1
            return self.visits[path]

    def note(self, path, text):
        with self.lock:
            self.sent.append((path, text))
            del self.sent[:-256]

    def close(self):
        self.socket.close()
