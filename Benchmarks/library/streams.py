"""Many concurrent event streams, which this process opens. A child process reads and counts the events."""
import resource
from harness import *


SPARE = 100


def raise_descriptors(streams):
    """Raises the limit of descriptors for this number of streams, if permitted, for this process and its children."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * (streams + SPARE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))


def most_streams():
    # Ferry reserves half of its descriptors for other uses than clients.
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 - SPARE


class Streams:
    MARK = b"data:"
    # With more at once, some connections would wait until the kernel repeats the handshake.
    AT_ONCE = 100

    def __init__(self, port, path, count):
        self.sockets = []
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n".encode()
        while len(self.sockets) < count:
            number = min(self.AT_ONCE, count - len(self.sockets))
            opened = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(number)]
            for stream in opened:
                stream.sendall(request)
            for stream in opened:
                head = stream.recv(4096)
                assert b" 200 " in head.split(b"\r\n")[0], head
            self.sockets += opened

    def read(self, wanted):
        """Starts a child process that reads until it has this number of events. Returns a function that waits for it and returns
        the number."""
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            # The child must never continue with the code of its parent.
            try:
                os.write(into, str(self.count(wanted)).encode())
            finally:
                os._exit(0)
        os.close(into)

        def ended():
            with os.fdopen(out) as f:
                text = f.read()
            os.waitpid(child, 0)
            return int(text or -1)

        return ended

    def count(self, wanted, seconds=30):
        poll, pieces, rests = select.epoll(), {}, {}
        for stream in self.sockets:
            stream.setblocking(False)
            poll.register(stream.fileno(), select.EPOLLIN)
            pieces[stream.fileno()] = stream
        came, end = 0, time.monotonic() + seconds
        while came < wanted and time.monotonic() < end:
            for descriptor, _ in poll.poll(1, 1024):
                data = pieces[descriptor].recv(1 << 16)
                if not data:
                    return came
                data = rests.pop(descriptor, b"") + data
                came += data.count(self.MARK)
                # A piece may end within the mark.
                if data[-1] in self.MARK[:-1]:
                    rests[descriptor] = data[1 - len(self.MARK):]
        return came

    def close(self):
        for stream in self.sockets:
            stream.close()
