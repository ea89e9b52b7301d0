#!/usr/bin/env python3
"""Demonstrates the main task on real input. The program starts Ferry and an nginx on loopback. It downloads a 200 MB file and fifty
small files through the API, with a progress bar from the event stream. Then it verifies the webhook, compares the sha256, prints a
summary, ends its processes, and runs README.md and docs/tutorial.md.
usage: demo.py [--url URL]    with --url: downloads this URL instead"""
import argparse, base64, contextlib, hashlib, hmac, http.client, http.server, json, os, shutil, signal
import subprocess, sys, tempfile, threading, time, urllib.parse

from ports import free_ports

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FERRY = os.environ.get("BINARY", os.path.join(ROOT, ".build/release/ferry"))
SECRET = "whsec_" + base64.b64encode(os.urandom(32)).decode()
BIG, SMALL = 200 * 1000 * 1000, 50


def say(text):
    print(text, flush=True)


class Origin:
    """An nginx on loopback that serves files of random bytes."""

    def __init__(self, directory):
        [self.port] = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self.digests = {}
        os.makedirs(f"{directory}/www")
        self.write(directory, "big.bin", BIG)
        for number in range(SMALL):
            self.write(directory, f"small-{number}.bin", 1000 * (number + 1))
        with open(f"{directory}/nginx.conf", "w") as f:
            f.write(f"""
daemon off; pid {directory}/nginx.pid; error_log {directory}/nginx.log;
{"user root;" if os.getuid() == 0 else ""}
events {{ }}
http {{
  access_log off; sendfile on; default_type application/octet-stream;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  server {{ listen 127.0.0.1:{self.port}; root {directory}/www; }}
}}
""")
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.process = subprocess.Popen([nginx, "-c", f"{directory}/nginx.conf"], stderr=subprocess.DEVNULL)

    def write(self, directory, name, size):
        digest = hashlib.sha256()
        with open(f"{directory}/www/{name}", "wb") as f:
            while size > 0:
                block = os.urandom(min(size, 1 << 20))
                f.write(block)
                digest.update(block)
                size -= len(block)
        self.digests[f"{self.url}/{name}"] = digest.hexdigest()


class Receiver(http.server.ThreadingHTTPServer):
    """Receives webhooks and verifies their signatures (Standard Webhooks)."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Hook)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/webhook"
        self.received, self.refused, self.news = {}, 0, threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
        mac = hmac.new(base64.b64decode(SECRET[6:]), signed, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(mac).decode()
        good = hmac.compare_digest(self.headers["webhook-signature"], expected)
        with self.server.news:
            if good:
                self.server.received[json.loads(body)["data"]["taskId"]] = json.loads(body)
            else:
                self.server.refused += 1
            self.server.news.notify_all()
        self.send_response(204 if good else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


class Ferry:
    """The service, with a client."""

    def __init__(self, directory, networks):
        options = [option for network in networks for option in ("--allow-network", network)]
        self.process = subprocess.Popen(
            [FERRY, "serve", "--listen", "127.0.0.1:0", "--data-directory", directory, *options],
            stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            entry = json.loads(line) if line.startswith("{") else {}
            if entry.get("message") == "listening":
                self.port = int(entry["address"].rsplit(":", 1)[1])
                break
        else:
            sys.exit("Ferry did not start")
        threading.Thread(target=lambda: [None for _ in self.process.stdout], daemon=True).start()

    def call(self, method, path, body=None, type="application/json"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {"Content-Type": type} if body else {})
        reply = connection.getresponse()
        data = reply.read()
        if reply.status >= 400:
            sys.exit(f"{method} {path}: {data.decode()}")
        return data

    def events(self, path):
        """Yields the parsed server-sent events."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", path)
        for line in connection.getresponse():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def body_digest(self, task):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", f"/v1/tasks/{task}/body")
        reply = connection.getresponse()
        digest = hashlib.sha256()
        while block := reply.read(1 << 20):
            digest.update(block)
        announced = reply.headers["Repr-Digest"]
        assert announced == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:", announced
        return digest.hexdigest()


def draw(received, expected, done, count, start, last=[None]):
    if not sys.stdout.isatty():  # a log gets a line now and then instead of a bar
        step = (int(10 * received / expected) if expected else 0, done == count)
        if last[0] == step or done < count and time.monotonic() - start < 0.2:
            return
        last[0] = step
    share = received / expected if expected > 0 else 0
    bar = "#" * int(share * 40)
    rate = received / 1e6 / max(0.001, time.monotonic() - start)
    end = "" if sys.stdout.isatty() else "\n"
    lead = "\r" if sys.stdout.isatty() else ""
    print(f"{lead}  [{bar:<40}] {received / 1e6:7.1f} of {max(expected, received) / 1e6:.1f} MB  {rate:6.0f} MB/s  "
          f"{done} of {count} tasks", end=end, flush=True)


def download(ferry, receiver, urls):
    session = json.loads(ferry.call("POST", "/v1/sessions", json.dumps({"description": "demo"})))["id"]
    lines = "".join(json.dumps({
        "kind": "download", "request": {"url": url},
        "completion": {"webhook": {"url": receiver.url, "secret": SECRET}}}) + "\n" for url in urls)
    reply = ferry.call("POST", f"/v1/sessions/{session}/tasks", lines, "application/x-ndjson")
    tasks = [json.loads(line)["id"] for line in reply.splitlines()]
    say(f"created {len(tasks)} tasks in {session}")
    start = time.monotonic()
    stream = ferry.events(f"/v1/sessions/{session}/events?after=0")
    for task in tasks:
        ferry.call("POST", f"/v1/tasks/{task}/resume")
    counts, ended = {}, {}
    for event in stream:
        task, data = event["taskId"], event["data"]
        if event["type"] == "downloadTask.didWriteData":
            counts[task] = (data["totalBytesWritten"], max(0, data["totalBytesExpectedToWrite"]))
        elif event["type"] == "downloadTask.didFinishDownloading":
            counts[task] = (data["body"]["size"], data["body"]["size"])
        elif event["type"] == "task.didComplete":
            ended[task] = data
        else:
            continue
        draw(sum(c[0] for c in counts.values()), sum(c[1] for c in counts.values()), len(ended), len(tasks), start)
        if len(ended) == len(tasks):
            break
    if sys.stdout.isatty():
        print()
    seconds = time.monotonic() - start
    failed = [f"{data['error']['name']}: {data['error']['message']}" for data in ended.values() if data["error"]]
    if failed:
        sys.exit("a download failed: " + failed[0])
    size = sum(c[0] for c in counts.values())
    say(f"downloaded {size / 1e6:.1f} MB in {seconds:.2f} s")
    return tasks


def verify(ferry, receiver, origin, tasks):
    with receiver.news:
        receiver.news.wait_for(lambda: len(receiver.received) == len(tasks), timeout=30)
    if receiver.refused or len(receiver.received) != len(tasks):
        sys.exit(f"{len(receiver.received)} of {len(tasks)} webhooks arrived, {receiver.refused} with a wrong signature")
    say(f"received {len(tasks)} webhooks, every signature verified")
    for task in tasks:
        told = receiver.received[task]["data"]["task"]
        digest = ferry.body_digest(task)
        expected = origin.digests[told["originalRequest"]["url"]] if origin else told["body"]["sha256"]
        if not digest == told["body"]["sha256"] == expected:
            sys.exit(f"sha256 of {told['originalRequest']['url']} is {digest}, not {expected}")
    where = "file, webhook, Repr-Digest and origin" if origin else "file, webhook and Repr-Digest"
    say(f"compared {len(tasks)} sha256: {where} agree")
    if not origin:
        say(f"  {digest}  {told['response']['suggestedFilename']}")


def networks_for(url):
    """Returns the networks to open for a URL on this machine."""
    host = urllib.parse.urlsplit(url).hostname
    return ["127.0.0.0/8", "::1/128"] if host in ("localhost", "127.0.0.1", "::1") else ["127.0.0.0/8"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        directory = tempfile.mkdtemp(prefix="ferry-demo-")
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        os.chmod(directory, 0o755)
        origin = None
        if not arguments.url:
            say(f"making an origin with a {BIG // 1000000} MB file and {SMALL} small ones")
            origin = Origin(directory)
            stack.callback(end, origin.process)
            say(f"nginx serves them at {origin.url}")
        receiver = Receiver()
        ferry = Ferry(f"{directory}/ferry", networks_for(arguments.url or origin.url))
        stack.callback(end, ferry.process)
        say(f"ferry listens on http://127.0.0.1:{ferry.port}, webhooks go to {receiver.url}")
        urls = list(origin.digests) if origin else [arguments.url]
        verify(ferry, receiver, origin, download(ferry, receiver, urls))
    say("ended what was started; done")
    if not arguments.url:
        subprocess.run([os.path.join(ROOT, "scripts/tutorial.py")], env={**os.environ, "BINARY": FERRY}, check=True)


def end(process):
    process.terminate()
    if process.wait(20) != 0:
        sys.exit(f"{process.args[0]} ended with status {process.returncode}")


if __name__ == "__main__":
    main()
