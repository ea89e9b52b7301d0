"""Code that the benchmarks share: an nginx origin, the service, its clients, and meters. Python 3.9+, no packages."""
import contextlib, http.client, json, os, select, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time
from meter import *

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Makes the package `peers` and the modules of the scripts importable.
sys.path += [os.path.join(ROOT, "Benchmarks"), os.path.join(ROOT, "scripts")]
from ports import free_ports

FERRY = os.environ.get("BINARY", os.path.join(ROOT, ".build/release/ferry"))


def free_port():
    return free_ports(1)[0]


def wait_for_port(port, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 0.5).close()
            return
        time.sleep(0.005)
    raise RuntimeError(f"nothing listens on port {port}")


def stop(process, seconds=20):
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def preloaded(name, directory):
    """Compiles a C file of this folder to a library for LD_PRELOAD, and returns its path."""
    compiler = shutil.which("clang") or shutil.which("cc") or sys.exit(f"{name}.c needs clang or cc")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.c")
    library = f"{directory}/{name}.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source], check=True)
    return library


class Origin:
    """nginx on loopback. /f/… has 1 KiB, /slow/… 100 KiB at 10 KiB/s, /brisk/… 100 KiB at 150 KiB/s, and /1g one GiB. Requests for
    /logged/… get the reply of /brisk/…, and access.log in the origin's directory lists them. /put/… accepts uploads, /moved redirects,
    and /kept/1k and /kept/100k may be cached."""

    CONF = """
user root; daemon off; worker_processes 2; pid {dir}/nginx.pid; error_log {dir}/error.log warn;
worker_rlimit_nofile 20000;
events {{ worker_connections 8192; multi_accept on; }}
http {{
  access_log off; default_type application/octet-stream;
  sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 300s; keepalive_requests 10000000;
  open_file_cache max=1000 inactive=600s; open_file_cache_valid 600s;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{
    listen 127.0.0.1:{port} reuseport backlog=8192; root {dir}/www;
    location ^~ /f/ {{ rewrite ^ /1k break; }}
    location ^~ /slow/ {{ rewrite ^ /100k break; limit_rate 10k; }}
    location ^~ /brisk/ {{ rewrite ^ /100k break; limit_rate 150k; }}
    location ^~ /logged/ {{ rewrite ^ /100k break; limit_rate 150k; access_log {dir}/access.log; }}
    location ^~ /put/ {{ client_max_body_size 1g; proxy_pass http://127.0.0.1:{port}/taken; }}
    location = /taken {{ client_max_body_size 1g; return 204; }}
    location = /moved {{ return 302 /f/moved; }}
    location ^~ /kept/ {{ alias {dir}/www/; add_header Cache-Control max-age=86400; }}
  }}
}}
"""

    def __init__(self, directory, gigabyte=False):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        os.makedirs(f"{directory}/www")
        for name, size in (("1k", 1024), ("100k", 102400)):
            with open(f"{directory}/www/{name}", "wb") as f:
                f.write(os.urandom(size))
        if gigabyte:
            block = os.urandom(1 << 20)
            with open(f"{directory}/www/1g", "wb") as f:
                for _ in range(1024):
                    f.write(block)
        conf = f"{directory}/nginx.conf"
        with open(conf, "w") as f:
            f.write(self.CONF.format(dir=directory, port=self.port))
        os.chmod(directory, 0o755)
        self.process = subprocess.Popen(["/usr/sbin/nginx", "-c", conf], stderr=subprocess.DEVNULL)
        wait_for_port(self.port)

    def stop(self):
        stop(self.process)


class Ferry:
    """`ferry serve` on a free port, with loopback as a permitted destination. `under` is a program that runs it, with its
    options."""

    def __init__(self, directory, *options, binary=FERRY, under=()):
        self.directory = directory
        self.port = free_port()
        self.log = open(f"{directory}.log", "ab")
        self.process = subprocess.Popen(
            [*under, binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--data-directory", directory,
             "--allow-network", "127.0.0.0/8", *options], stdout=self.log, stderr=self.log)
        self.pid = self.process.pid
        wait_for_port(self.port, 120 if under else 20)

    def stop(self):
        stop(self.process)
        self.log.close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def call(self, method, path, body=None, headers=None, timeout=120):
        """Sends a request. Returns status and body, parsed if it is JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        return reply.status, json.loads(data) if "json" in reply.headers.get("Content-Type", "") and b"\n{" not in data else data

    def session(self, **configuration):
        status, session = self.call("POST", "/v1/sessions", {"configuration": configuration})
        assert status == 201, session
        return session["id"]

    def wait_until_none_runs(self, session):
        """Waits until no task of the session runs."""
        deadline = time.monotonic() + 60
        while self.call("GET", f"/v1/sessions/{session}/tasks?state=running&limit=1")[1]["items"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)


class Client:
    """A persistent connection that sends JSON and reads replies. http.client would need more CPU time than Ferry."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def post(self, path, body, headers=""):
        self.send(path, body, headers)
        return self.reply()

    def get(self, path):
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return self.reply()

    def send(self, path, body, headers=""):
        self.socket.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode())

    def reply(self):
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.read()
        head, self.rest = self.rest[:end].lower(), self.rest[end + 4:]
        if b"transfer-encoding: chunked" in head:
            reply = b"".join(iter(self.chunk, b""))
        else:
            reply = self.take(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
        assert head.startswith(b"http/1.1 20"), (head, reply)
        return reply

    def chunk(self):
        while (end := self.rest.find(b"\r\n")) < 0:
            self.read()
        size, self.rest = int(self.rest[:end], 16), self.rest[end + 2:]
        return self.take(size + 2)[:-2]

    def take(self, size):
        while len(self.rest) < size:
            self.read()
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def read(self):
        piece = self.socket.recv(1 << 16)
        assert piece
        self.rest += piece

    def close(self):
        self.socket.close()


class Clients:
    """Several persistent connections in one thread. Each sends its next request after the previous reply."""

    def __init__(self, port, count):
        self.clients = [Client(port) for _ in range(count)]
        self.poll = select.epoll()
        for client in self.clients:
            self.poll.register(client.socket, select.EPOLLIN)
        self.by_descriptor = {client.socket.fileno(): client for client in self.clients}

    def post(self, path, bodies):
        bodies, under_way = iter(bodies), 0
        for client, body in zip(self.clients, bodies):
            client.send(path, body)
            under_way += 1
        while under_way:
            for descriptor, _ in self.poll.poll():
                client = self.by_descriptor[descriptor]
                client.reply()
                body = next(bodies, None)
                if body is None:
                    under_way -= 1
                else:
                    client.send(path, body)

    def close(self):
        for client in self.clients:
            client.close()
        self.poll.close()


class EventStream:
    """Reads server-sent events on a raw socket as blocks of (id, type, data line)."""

    def __init__(self, port, path, headers=""):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n".encode())
        self.file = self.socket.makefile("rb", 1 << 20)
        assert b" 200 " in self.file.readline()
        while self.file.readline() not in (b"\r\n", b""):
            pass
        self.rest = b""

    def blocks(self):
        """Yields pieces of the stream that end with a whole event."""
        while True:
            size = self.file.readline()
            if not size:
                return
            count = int(size, 16)
            if count == 0:
                return
            data = self.rest + self.file.read(count)
            self.file.readline()
            end = data.rfind(b"\n\n") + 2
            if end < 2:
                self.rest = data
                continue
            self.rest = data[end:]
            yield data[:end]

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def scratch(on_disk=False):
    """Makes a temporary directory, in memory or on disk."""
    base = None if on_disk or not os.path.isdir("/dev/shm") else "/dev/shm"
    directory = tempfile.mkdtemp(prefix="ferry-bench-", dir=base)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def table(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
