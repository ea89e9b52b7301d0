#!/usr/bin/env python3
"""Measures how much one tenant or one server slows down the others.

Tenant b fetches small files one after the other while tenant a attacks. The attacks on the service are large cookie jars, many
credentials and proxy exceptions, long strings, large idle sessions, many root certificates and idle connections. Other attacks are
probes of a silent address, stalled bodies, unread replies, large waiting tasks, and strange or endless responses. Each attack runs
twice. During each, 99 of 100 transfers of b must take less than 250 ms, and the service's memory must stay bounded. Both runs must
get the same replies.
usage: fairness.py [ATTACK ...]"""
import base64
import os
import resource
import socketserver
import sys
import urllib.request
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *

# The 99th percentile in milliseconds. The MiB that an attack may use at its peak, and may keep in use.
SLOWEST, PEAK, GROWTH = 250, 256, 64
# The service's connection limit.
CONNECTIONS = 2000
# Seconds for which an endless response is received.
ENDLESS = 5
ATTACKS = {}


def attack(function):
    ATTACKS[function.__name__.replace("_", " ")] = function
    return function


class Strange(socketserver.ThreadingTCPServer):
    """An origin whose response depends on the path."""
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 512

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                if self.rfile.peek(1)[:1] == b"\x16":
                    return  # TLS, which this origin does not speak
                while line := self.rfile.readline():
                    path = line.split(b" ")[1].decode(errors="replace")
                    while self.rfile.readline() not in (b"\r\n", b"\n", b""):
                        pass
                    self.answer(*path.split("/")[1:])

        def answer(self, kind, number="0", *_):
            head, body = [], b"x"
            if kind == "cookies":
                head = [f"Set-Cookie: n{number}-{i}=v" for i in range(950)]
                if int(number) < 19:
                    head.append(f"Location: /cookies/{int(number) + 1}")
                self.send("302 Found" if int(number) < 19 else "200 OK", head, body)
            elif kind == "stored":
                vary = ",".join(f"x-{i}" for i in range(30))
                head = ["Cache-Control: max-age=60" + ",x" * 60, f"Vary: {vary}"]
                self.send("200 OK", head, body)
            elif kind == "excessive":
                vary = ",".join(f"x-{i}" for i in range(60))
                self.send("200 OK", ["Cache-Control: max-age=60" + ",x" * 5000, f"Vary: {vary}"], body)
            elif kind == "parts":
                self.send_for_ever("Content-Type: multipart/x-mixed-replace; boundary=b", b"--b\r\n\r\nx\r\n" * 8192)
            elif kind == "chunks":
                self.send_for_ever("Transfer-Encoding: chunked", b"1\r\nx\r\n" * 16_384)
            elif kind == "silence":
                self.rfile.read()
            elif kind == "fields":
                self.send("200 OK", [f"X-{i}: {'y' * 200}" for i in range(900)], body)

        def send_for_ever(self, field, piece):
            self.wfile.write(f"HTTP/1.1 200 OK\r\n{field}\r\n\r\n".encode())
            while True:
                self.wfile.write(piece)

        def send(self, status, head, body):
            lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"] + head
            self.wfile.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Tenant:
    """Calls with the token of a tenant."""

    def __init__(self, ferry, token):
        self.ferry, self.fields = ferry, {"Authorization": f"Bearer {token}"}

    def call(self, method, path, body=None, kind="application/json", **fields):
        headers = dict(self.fields, **({"Content-Type": kind} if body is not None else {}), **fields)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        return self.ferry.call(method, path, body, headers)

    def session(self, **members):
        status, session = self.call("POST", "/v1/sessions", members)
        assert status == 201, session
        return session["id"]

    def fetch(self, session, url):
        status, task = self.call(
            "POST", f"/v1/sessions/{session}/tasks", {"kind": "data", "resume": True, "request": {"url": url}},
            Prefer="wait=60")
        assert status == 200 and task["response"]["status"] == 200, (status, task)

    def fetch_for_a_while(self, session, url, count=4):
        """Runs tasks whose responses never end and cancels them. Returns their states before the cancellation."""
        tasks = [self.call("POST", f"/v1/sessions/{session}/tasks", {
            "kind": "data", "resume": True, "request": {"url": url}})[1]["id"] for _ in range(count)]
        time.sleep(ENDLESS)
        states = [self.call("GET", f"/v1/tasks/{task}")[1] for task in tasks]
        for task in tasks:
            self.call("POST", f"/v1/tasks/{task}/cancel")
        deadline = time.monotonic() + 30
        while any(self.call("GET", f"/v1/tasks/{task}")[1]["state"] != "completed" for task in tasks):
            assert time.monotonic() < deadline, "cancelled tasks did not end"
            time.sleep(0.05)
        assert all(state["progress"]["countOfBytesReceived"] > 1000 for state in states), states
        return [state["state"] for state in states]

    def many(self, count, each):
        """Calls `each` with every number below `count`, eight at once. Returns the number of replies by status."""
        statuses, lock, numbers = {}, threading.Lock(), iter(range(count))

        def work():
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                status = each(number)
                with lock:
                    statuses[status] = statuses.get(status, 0) + 1
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return statuses


class Victim(threading.Thread):
    """Fetches small files until it is stopped."""

    def __init__(self, tenant, origin):
        super().__init__(daemon=True)
        self.client, self.origin = Client(tenant.ferry.port), origin
        self.line = "".join(f"{name}: {value}\r\n" for name, value in tenant.fields.items()) + "Prefer: wait=60\r\n"
        self.times, self.is_over = [], False

    def run(self):
        number = 0
        while not self.is_over:
            number += 1
            body = json.dumps({"kind": "data", "resume": True, "request": {"url": f"{self.origin.url}/f/{number}"}})
            begun = time.monotonic()
            self.client.post("/v1/tasks", body, self.line)
            self.times.append((time.monotonic() - begun) * 1000)
        self.client.close()


def cookie(number):
    return {"name": f"n{number}", "value": "v", "domain": f"d{number // 100}.test"}


@attack
def a_PUT_of_60000_cookies(a, _):
    session = a.session()
    status, reply = a.call("PUT", f"/v1/sessions/{session}/cookies", {"items": [cookie(i) for i in range(60_000)]})
    left = a.call("GET", f"/v1/sessions/{session}/cookies")[1]["items"]
    return status, reply["type"], reply["errors"][0]["pointer"], len(left)


@attack
def PUTs_of_3000_cookies(a, _):
    session, statuses = a.session(), []
    for number in range(10):
        items = [cookie(number * 3000 + i) for i in range(3000)]
        statuses.append(a.call("PUT", f"/v1/sessions/{session}/cookies", {"items": items})[0])
    return statuses, len(a.call("GET", f"/v1/sessions/{session}/cookies")[1]["items"])


@attack
def large_cookie_jars_of_idle_sessions(a, _):
    """12 MiB of cookies in each session."""
    statuses = set()
    for _ in range(16):
        session = a.session()
        for half in range(2):
            items = [dict(cookie(half * 1500 + i), value="v" * 4000) for i in range(1500)]
            statuses.add(a.call("PUT", f"/v1/sessions/{session}/cookies", {"items": items})[0])
    return sorted(statuses), len(a.call("GET", f"/v1/sessions/{session}/cookies?domain=d0.test")[1]["items"])


@attack
def a_full_jar_and_20_redirects(a, strange):
    session = a.session()
    a.call("PUT", f"/v1/sessions/{session}/cookies", {"items": [cookie(i) for i in range(3000)]})
    a.fetch(session, f"{strange.url}/cookies/0")
    return len(a.call("GET", f"/v1/sessions/{session}/cookies")[1]["items"])


@attack
def a_DELETE_of_5000_credentials(a, _):
    session = a.session()

    def put(number):
        return a.call("PUT", f"/v1/sessions/{session}/credentials", {
            "protectionSpace": {"host": f"h{number % 7}.test", "realm": f"r{number}"},
            "credential": {"user": "u", "password": "p"}})[0]
    return a.many(5001, put), a.call("DELETE", f"/v1/sessions/{session}/credentials")[0], a.call(
        "GET", f"/v1/sessions/{session}/credentials")[1]["items"]


@attack
def sessions_with_10000_proxy_exceptions(a, strange):
    exceptions = [f"h{i}.test" for i in range(10_000)]
    session = a.session(configuration={"proxies": {"http": "http://127.0.0.1:1", "noProxy": exceptions}})
    status = a.call("POST", f"/v1/sessions/{session}/tasks", {
        "kind": "data", "resume": True, "request": {"url": f"{strange.url}/fields"}}, Prefer="wait=30")
    beyond = a.call("POST", "/v1/sessions", {"configuration": {"proxies": {"noProxy": exceptions + ["one.test"]}}})
    return status[1]["error"]["code"], beyond[0], beyond[1]["errors"][0]["pointer"]


@attack
def strings_of_7_megabytes(a, _):
    long, session = "x" * 7_000_000, a.session()
    url = f"http://127.0.0.1:1/{long}"
    space = f"/v1/sessions/{session}/credentials"
    tries = [
        ("POST", "/v1/tasks", {"kind": "data", "request": {"url": "http://a.test/", "method": long}}),
        ("POST", "/v1/sessions", {"delegate": {"webhook": {"url": url}}}),
        ("PUT", space, {"protectionSpace": {"host": "a.test"}, "credential": {"user": long, "password": "p"}}),
        ("PUT", space, {"protectionSpace": {"host": "a.test"}, "credential": {"user": "u", "password": long}}),
        ("PUT", space, {"protectionSpace": {"host": long}, "credential": {"user": "u", "password": "p"}}),
        ("PUT", space, {"protectionSpace": {"host": "a.test", "realm": long}, "credential": {"user": "u", "password": "p"}}),
        ("PUT", f"/v1/sessions/{session}/cookies", {"name": "a", "value": "b", "domain": "a.test", "path": "/" + long}),
        ("POST", "/v1/sessions", {"configuration": {"proxies": {"http": url}}}),
        ("POST", "/v1/sessions", {"configuration": {"proxies": {"http": f"http://{'u' * 5000}:p@a.test:1"}}}),
        ("POST", "/v1/sessions", {"configuration": {"proxies": {"noProxy": [long]}}}),
        ("POST", "/v1/reachability", {"url": url}),
        ("POST", "/v1/sessions", {"configuration": {"tlsPinnedPublicKeys": {long: ["sha256/" + "A" * 43 + "="]}}}),
    ]
    return [a.call(*one)[0] for one in tries]


@attack
def questions_to_a_silent_address(a, _):
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(0)
    # The accept queue is full, so further connections wait.
    full = [socket.socket() for _ in range(3)]
    for one in full:
        one.setblocking(False)
        one.connect_ex(silent.getsockname())
    port = silent.getsockname()[1]
    try:
        statuses = a.many(300, lambda number: a.call(
            "POST", "/v1/reachability", {"url": f"http://127.0.0.1:{port}/{number % 8}", "timeoutInterval": 0.2})[0])
    finally:
        for one in full + [silent]:
            one.close()
    return statuses


@attack
def answers_with_many_directives(a, strange):
    session = a.session()
    for kind in ("excessive", "stored") * 100:
        a.fetch(session, f"{strange.url}/{kind}")
    return len(a.call("GET", f"/v1/sessions/{session}/cache")[1].get("items", []))


@attack
def answers_with_many_fields(a, strange):
    session = a.session()
    for _ in range(100):
        a.fetch(session, f"{strange.url}/fields")


@attack
def endless_parts_of_one_byte(a, strange):
    return a.fetch_for_a_while(a.session(), f"{strange.url}/parts")


@attack
def endless_chunks_of_one_byte(a, strange):
    return a.fetch_for_a_while(a.session(), f"{strange.url}/chunks")


def certificates(count, name="n{:05}", comment=0):
    """Returns `count` distinct certificates in PEM: copies of one with different names and a comment of `comment` bytes."""
    with scratch(True) as directory:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key", "-out", "pem",
             "-subj", "/CN=" + name.format(0), *(["-addext", "nsComment=" + "x" * comment] if comment else [])], cwd=directory, check=True, capture_output=True)
        with open(f"{directory}/pem") as f:
            lines = f.read().splitlines()
    first = base64.b64decode("".join(lines[1:-1]))
    old = name.format(0).encode()
    blocks = (base64.encodebytes(first.replace(old, name.format(i).encode())).decode() for i in range(count))
    return "".join(f"-----BEGIN CERTIFICATE-----\n{block}-----END CERTIFICATE-----\n" for block in blocks)


@attack
def sessions_with_1000_root_certificates(a, strange):
    roots, states = certificates(1001), []
    one = roots.index("-----END CERTIFICATE-----\n") + 26
    for _ in range(8):
        session = a.session(configuration={"tlsAdditionalRootCertificates": roots[one:]})
        # The server does not speak TLS: the task fails after the certificates are parsed.
        url = strange.url.replace("http:", "https:") + "/fields"
        states.append(a.call("POST", f"/v1/sessions/{session}/tasks", {
            "kind": "data", "resume": True, "request": {"url": url}}, Prefer="wait=30")[1]["error"]["code"])
    beyond = a.call("POST", "/v1/sessions", {"configuration": {"tlsAdditionalRootCertificates": roots}})
    return states, beyond[0], beyond[1]["errors"][0]["pointer"]


@attack
def idle_sessions_of_4_megabytes(a, strange):
    roots = certificates(1000, comment=2500)
    for _ in range(40):
        session = a.session(description="x" * 60_000, configuration={"tlsAdditionalRootCertificates": roots})
        a.fetch(session, f"{strange.url}/fields")
    return len(roots) >> 20, a.call("GET", f"/v1/sessions/{session}")[1]["description"][:3]


def connections(ferry, count):
    """Opens `count` connections and sends one request on each."""
    opened = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", ferry.port))
        one.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        opened.append(one)
        if len(opened) % 100 == 0:
            opened[-1].recv(4096)
    return opened


@attack
def idle_connections_up_to_the_limit(a, _):
    opened = connections(a.ferry, CONNECTIONS + 100)
    try:
        # Each new connection replaces the longest idle connection.
        return [urllib.request.urlopen(f"http://127.0.0.1:{a.ferry.port}/livez", timeout=1).status for _ in range(20)]
    finally:
        for one in opened:
            one.close()


@attack
def batches_that_stall(a, _):
    session = a.session()
    line = json.dumps({"kind": "data", "description": "x" * 3000, "request": {"url": "http://a.test/"}}).encode() + b"\n"
    piece, opened, statuses = line * 100, [], {}
    for number in range(24):
        one = socket.create_connection(("127.0.0.1", a.ferry.port))
        fields = f"Content-Length: {60 << 20}\r\nContent-Type: application/x-ndjson\r\nIdempotency-Key: {number}-{time.time()}\r\n"
        fields += "".join(f"{name}: {value}\r\n" for name, value in a.fields.items())
        one.sendall(f"POST /v1/sessions/{session}/tasks HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode())
        opened.append(one)

    def send(one):
        with contextlib.suppress(OSError):
            for _ in range((50 << 20) // len(piece)):
                one.sendall(piece)
    threads = [threading.Thread(target=send, args=(one,)) for one in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    time.sleep(1)
    for one in opened:
        one.setblocking(False)
        try:
            status = one.recv(20).split(b" ")[1].decode()
        except BlockingIOError:
            status = "none yet"
        except (OSError, IndexError):
            status = "closed"
        statuses[status] = statuses.get(status, 0) + 1
        one.close()
    return sorted(status for status in statuses if status != "closed")


@attack
def readers_that_do_not_read(a, _):
    session = a.session(configuration={"proxies": {"http": "http://127.0.0.1:1", "noProxy": [f"h{i}.{'x' * 80}.test" for i in range(9000)]}})
    opened = []
    for _ in range(400):
        one = socket.create_connection(("127.0.0.1", a.ferry.port))
        fields = "".join(f"{name}: {value}\r\n" for name, value in a.fields.items())
        one.sendall(f"GET /v1/sessions/{session} HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode())
        opened.append(one)
    time.sleep(3)
    heads = {one.recv(20).split(b" ")[1].decode() for one in opened}
    for one in opened:
        one.close()
    return sorted(heads)


def create(a, count, **members):
    """Creates data tasks. Returns the number of replies by status."""
    session = a.session()
    return a.many(count, lambda number: a.call("POST", f"/v1/sessions/{session}/tasks", dict(members, kind="data"))[0])


def task_with_many_fields(url):
    return {"request": {"url": url, "headers": {f"X-{i}": "y" * 4000 for i in range(60)}}, "description": "z" * 60_000}


@attack
def suspended_tasks_with_bodies_of_7_megabytes(a, _):
    return create(a, 40, request={"url": "http://a.test/", "method": "PUT", "body": {"text": "x" * 7_000_000}})


@attack
def suspended_tasks_with_many_fields(a, _):
    return create(a, 300, **task_with_many_fields("http://a.test/"))


@attack
def queued_tasks_with_many_fields(a, strange):
    return create(a, 300, resume=True, **task_with_many_fields(f"{strange.url}/silence"))


@attack
def deep_and_wide_JSON(a, _):
    texts = ["[" * 100_000, "{\"a\":" * 100_000, "[" + "1," * 600_000 + "1]", '{"' + "x" * 7_000_000 + '":1}']
    return [a.call("POST", "/v1/tasks", text)[0] for text in texts]


@attack
def long_queries(a, _):
    query = "&".join(f"a{i}=b" for i in range(1500))
    return [a.call("GET", f"/v1/tasks/tsk_x?{query}")[0], a.call("GET", f"/v1/sessions?limit=1&{query}")[0]]


def run(name, a, b, origin, strange, ferry):
    answers, waits, before = [], [], memory(ferry.pid)["VmRSS"]
    with open(f"/proc/{ferry.pid}/clear_refs", "w") as f:
        f.write("5")  # resets the peak
    for _ in range(2):
        victim = Victim(b, origin)
        victim.start()
        time.sleep(0.3)
        answers.append(ATTACKS[name](a, strange))
        time.sleep(0.3)
        victim.is_over = True
        victim.join()
        waits += victim.times
    waits.sort()
    p99 = waits[max(0, len(waits) * 99 // 100 - 1)]
    peak, deadline = memory(ferry.pid)["VmHWM"] - before, time.monotonic() + 20
    # The service returns memory to the system at its next check, every 15 seconds.
    while (growth := memory(ferry.pid)["VmRSS"] - before) > GROWTH and time.monotonic() < deadline:
        time.sleep(0.5)
    faults = [text for is_wrong, text in [
        (p99 > SLOWEST, f"99 of 100 took up to {p99:.0f} ms"),
        (peak > PEAK, f"it took {peak:.0f} MiB"),
        (growth > GROWTH, f"{growth:.0f} MiB are still there"),
        (answers[0] != answers[1], f"first {answers[0]}, then {answers[1]}")] if is_wrong]
    return (name, f"{len(waits)}", f"{p99:.0f}", f"{waits[-1]:.0f}", f"{peak:.0f}", f"{growth:.0f}"), faults


def main():
    names = sys.argv[1:] or list(ATTACKS)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    failures, rows = [], [("attack", "transfers of the other", "p99 ms", "worst ms", "peak MiB", "MiB more")]
    with scratch(True) as directory:
        tokens = f"{directory}/tokens"
        with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write("a token-a\nb token-b\n")
        origin, strange = Origin(f"{directory}"), Strange()
        ferry = Ferry(f"{directory}/data", "--token-file", tokens, "--maximum-connections", str(CONNECTIONS))
        try:
            a, b = Tenant(ferry, "token-a"), Tenant(ferry, "token-b")
            for name in names:
                row, faults = run(name, a, b, origin, strange, ferry)
                rows.append(row)
                failures += [f"{name}: {fault}" for fault in faults]
        finally:
            ferry.stop()
            origin.stop()
            strange.shutdown()
    table(rows)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
