"""What the benchmarks share: an nginx origin, the service, aria2, and meters. Python 3.9+, no packages."""
import contextlib, http.client, json, os, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FERRY = os.environ.get("BINARY", os.path.join(ROOT, ".build/release/ferry"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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


def cpu_seconds(pid):
    """User and system time of a process, children not included."""
    return time.clock_gettime((~pid << 3) | 2)


def thread_seconds(pid):
    """CPU seconds by thread name; threads without a name of their own are the language's tasks."""
    seconds = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/task/{thread}/comm") as f:
                name = f.read().strip()
            with open(f"/proc/{pid}/task/{thread}/schedstat") as f:
                spent = int(f.read().split()[0]) / 1e9
            name = name if "-" in name and name.startswith("ferry-") else "tasks"
            seconds[name] = seconds.get(name, 0) + spent
    return seconds


def memory(pid):
    """Resident set now and at its peak, MiB."""
    values = {}
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith(("VmRSS", "VmHWM")):
                name, value = line.split(":")
                values[name] = int(value.split()[0]) / 1024
    return values


class Meter:
    """Wall and CPU time of a process, and its peak memory, over a `with` block."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/clear_refs", "w") as f:
            f.write("5")
        self.threads0 = thread_seconds(self.pid)
        self.start, self.cpu0 = time.monotonic(), cpu_seconds(self.pid)
        return self

    def __exit__(self, *_):
        self.wall = time.monotonic() - self.start
        self.cpu = cpu_seconds(self.pid) - self.cpu0
        self.peak = memory(self.pid)["VmHWM"]
        self.threads = {
            name: seconds - self.threads0.get(name, 0) for name, seconds in thread_seconds(self.pid).items()}


class Origin:
    """nginx on loopback: /f/… 1 KiB, /slow/… 100 KiB at 10 KiB/s, /brisk/… at 150, /put/… takes what is sent, /moved redirects, /1g one GiB; /kept/1k and /kept/100k may be cached."""

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
    """`ferry serve` on a free port, with loopback allowed as a destination; `under` is a program that runs it, with its options."""

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
        """One request; returns status and body, parsed where it is JSON."""
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


class EventStream:
    """Reads server-sent events on a raw socket: (id, type, data line) by blocks."""

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
        """Pieces of the stream, each ending with a whole event."""
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
    """A directory on tmpfs, or on the disk, that is gone afterwards."""
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
