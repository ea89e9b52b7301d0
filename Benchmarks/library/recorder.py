"""Webhook receivers in a process of their own, which records each message that it gets.

One thread serves all connections, so the lines of the record are in the order of the replies. http.server would need more CPU time
than Ferry."""
import collections, heapq, json, random, resource, select, socket, subprocess, sys, time

# `time` is in seconds since 1970. `digest` is equal for equal bodies of one run. `body` begins with type and timestamp.
Arrival = collections.namedtuple("Arrival", "time receiver status id type timestamp task digest")
# Seconds after which a slow receiver replies.
SLOW = 10


class Recorder:
    """Receivers by name, each on an address of its own. A behaviour is `good`, `lossy`, `error`, `slow` or `silent`.

    A lossy receiver fails `loss` of the attempts: it replies with 503, or it closes one connection in ten without a reply."""

    def __init__(self, path, receivers, loss=0.3, seed=0):
        self.path, self.read, self.rest = path, 0, b""
        raise_descriptors()
        listeners, about = [], {}
        for number, (name, behaviour) in enumerate(receivers.items()):
            address = f"127.1.{number // 250}.{number % 250 + 1}"
            listener = socket.create_server((address, 0), backlog=1024)
            listeners.append(listener)
            about[listener.fileno()] = (name, behaviour)
        self.urls = {name: "http://{}:{}/hook".format(*listener.getsockname()) for name, listener in zip(receivers, listeners)}
        open(path, "w").close()
        self.process = subprocess.Popen([sys.executable, __file__, json.dumps(about), path, str(loss), str(seed)],
                                        stdin=subprocess.PIPE, pass_fds=tuple(about))
        for listener in listeners:
            listener.close()

    def arrivals(self):
        """Returns the arrivals since the last call."""
        with open(self.path, "rb") as f:
            f.seek(self.read)
            text = f.read()
        self.read += len(text)
        *lines, self.rest = (self.rest + text).split(b"\n")
        fields = (line.decode().split(" ") for line in lines)
        return [Arrival(float(came), receiver, int(status), *others) for came, receiver, status, *others in fields]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def raise_descriptors():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Connection:
    def __init__(self, one, name, behaviour):
        self.socket, self.name, self.behaviour, self.rest = one, name, behaviour, b""


def serve(about, path, loss, seed):
    """Serves the listeners of `about`, by descriptor."""
    chance, poll, connections = random.Random(seed), select.epoll(), {}
    by_descriptor = {int(descriptor): (socket.socket(fileno=int(descriptor)), *others) for descriptor, others in about.items()}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.EPOLLIN)
    # The standard input ends with the process that started this one.
    poll.register(sys.stdin.fileno(), select.EPOLLIN)
    # The replies of slow receivers: time, descriptor, connection.
    later = []
    with open(path, "wb", buffering=0) as record:
        while True:
            timeout = max(0, later[0][0] - time.monotonic()) if later else -1
            lines = []
            for descriptor, _ in poll.poll(timeout):
                if descriptor == sys.stdin.fileno():
                    return
                if descriptor in by_descriptor:
                    listener, name, behaviour = by_descriptor[descriptor]
                    one, _ = listener.accept()
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connections[one.fileno()] = Connection(one, name, behaviour)
                    poll.register(one.fileno(), select.EPOLLIN)
                elif not receive(connections[descriptor], later, lines, chance, loss):
                    poll.unregister(descriptor)
                    connections.pop(descriptor).socket.close()
            while later and later[0][0] <= time.monotonic():
                _, descriptor, connection = heapq.heappop(later)
                if connections.get(descriptor) is connection:
                    reply(connection, 204)
            if lines:
                record.write(b"".join(lines))


def receive(connection, later, lines, chance, loss):
    """Reads and answers requests. Returns whether the connection stays open."""
    try:
        piece = connection.socket.recv(1 << 16)
    except OSError:
        return False
    connection.rest += piece
    while (end := connection.rest.find(b"\r\n\r\n")) >= 0:
        head = connection.rest[:end].lower()
        size = int(value(head, b"content-length"))
        if len(connection.rest) < end + 4 + size:
            break
        body, connection.rest = connection.rest[end + 4:end + 4 + size], connection.rest[end + 4 + size:]
        fails = connection.behaviour == "lossy" and chance.random() < loss
        status = {"error": 500, "slow": 204, "silent": 0}.get(connection.behaviour, 204)
        if fails:
            status = 0 if chance.random() < 0.1 else 503
        lines.append(f"{time.time():.6f} {connection.name} {status} {value(head, b'webhook-id').decode()} {described(body)}\n".encode())
        if connection.behaviour == "slow":
            heapq.heappush(later, (time.monotonic() + SLOW, connection.socket.fileno(), connection))
        elif status:
            reply(connection, status)
        elif fails:
            return False
    return bool(piece)


def reply(connection, status):
    try:
        connection.socket.sendall(b"HTTP/1.1 %d x\r\n%s\r\n" % (status, b"" if status == 204 else b"Content-Length: 0\r\n"))
    except OSError:
        pass  # Ferry was killed.


def value(head, name):
    start = head.index(b"\r\n" + name + b":") + len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start:end if end > 0 else None].strip()


def described(body):
    """Returns type, timestamp, task and digest of a message, without the cost of a JSON parser."""
    found = [between(body, b'{"type":"'), between(body, b'"timestamp":"'), between(body, b'"taskId":"') or "-"]
    return " ".join([*found, str(hash(body))])


def between(body, start):
    """Returns the text from `start` to the next quotation mark."""
    place = body.find(start)
    return "" if place < 0 else body[place + len(start):body.index(b'"', place + len(start))].decode()


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
