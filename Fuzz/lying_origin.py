"""An origin that interrupts downloads, and lies about the ranges that resume them.

A response is truthful in two points only: its bytes belong to the version that its ETag names, and they start at the first byte of its
Content-Range. A body that Ferry calls whole must therefore belong to a single version."""
import random, socket, threading

SIZES = {1: 104, 2: 150}


def version(number):
    """Returns a body in which every byte depends on its version and its offset."""
    return bytes((place * 2 + number) % 251 for place in range(SIZES[number]))


BODIES = {number: version(number) for number in SIZES}


def chunked(body):
    return (f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b"") + b"0\r\n\r\n"


def answer(r, first):
    """Returns the bytes of a response, and whether the connection stays open. `first` is the first requested byte, or None for the
    whole."""
    number = r.choice((1, 1, 1, 1, 2))
    body = BODIES[number]
    tags = [f'"v{number}"'] * r.choice((1, 1, 1, 2))
    status, fields = 200, []
    if first is not None:
        status = r.choice((206,) * 12 + (200, 200, 416, 404, 503))
    if status == 206:
        begin = r.choice([first] * 8 + [0, first - 1, first + 1])
        begin = min(max(begin, 0), len(body) - 1)
        last = r.choice([len(body) - 1] * 3 + [min(begin + r.randrange(40), len(body) - 1)])
        total = r.choice([str(len(body))] * 5 + ["*", "*", str(last + 1), str(len(body) + 7)])
        wanted = last - begin + 1
        count = r.choice([wanted] * 4 + [r.randrange(wanted + 1), wanted + r.randrange(1, 9)])
        sent = body[begin:begin + count] + b"?" * max(0, count - len(body) + begin)
        fields.append(("Content-Range", f"bytes {begin}-{last}/{total}"))
        if r.random() < 0.05:
            fields.append(("Content-Range", "bytes 0-0/1"))
    elif status == 200:
        sent = body
        if r.random() < 0.2:  # this field has no meaning in most of these responses
            begin = first or 0
            fields.append(("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}"))
            sent = body[begin:] if first is not None else body
    else:
        sent = b"no"
        if status == 416 and r.random() < 0.7:
            fields.append(("Content-Range", f"bytes */{r.choice([first, len(body), 7])}"))
    fields += [("ETag", tag) for tag in tags] + [("Accept-Ranges", "bytes")]
    cut = r.random() < (0.9 if first is None and status == 200 and r.random() < 0.5 else 0.1)
    if r.random() < 0.3:
        fields.append(("Transfer-Encoding", "chunked"))
        text = chunked(sent)
    else:
        fields.append(("Content-Length", str(len(sent))))
        text = sent
    if cut:
        text = text[:r.randrange(len(text)) if text else 0]
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields)
    return head.encode() + b"\r\n" + text, not cut


class LyingOrigin:
    def __init__(self, seed):
        self.seed, self.lock, self.count = seed, threading.Lock(), 0
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
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
                    head, rest = rest.split(b"\r\n\r\n", 1)
                    ranges = [line[13:-1] for line in head.decode("latin-1").split("\r\n") if line.lower().startswith("range: bytes=")]
                    with self.lock:
                        self.count += 1
                        r = random.Random(f"{self.seed} {self.count}")
                    text, stays = answer(r, int(ranges[0]) if ranges else None)
                    connection.sendall(text)
                    if not stays:
                        return
        except OSError:
            pass

    def close(self):
        self.socket.close()
