#!/usr/bin/env python3
"""Two builds of Ferry in one run, round by round: is a change at least as good as what it changes?
usage: side_by_side.py BINARY [rounds] [--disk] [--only=WORK,...]

BINARY is the build to compare with; the other is .build/release/ferry, or $BINARY. Each row is a median with its ratio; better
is above 1 in rates and below 1 in costs."""
import harness
from harness import *

BATCH, SINGLE, ASKED, SLOW, STREAMS = 5000, 4000, 300, 1000, 2000
AT_ONCE, CONNECTIONS = 64, 8


def specification(url, kind="download"):
    return json.dumps({"kind": kind, "resume": True, "request": {"url": url}})


class Client:
    """A kept connection that sends requests and reads replies with a Content-Length; http.client would cost more than Ferry does."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def post(self, path, body, headers=""):
        return self.send(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n{body}")

    def get(self, path):
        return self.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")

    def send(self, request):
        self.socket.sendall(request.encode())
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.read()
        head = self.rest[:end].lower()
        size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(self.rest) < end + 4 + size:
            self.read()
        reply, self.rest = self.rest[end + 4:end + 4 + size], self.rest[end + 4 + size:]
        assert head.startswith(b"http/1.1 20"), (head, reply)
        return reply

    def read(self):
        piece = self.socket.recv(1 << 16)
        assert piece
        self.rest += piece


def count_ends(stream, wanted):
    done = 0
    for block in stream.blocks():
        done += block.count(b"event: task.didComplete")
        assert b'"data":{"error":{' not in block, block
        if done >= wanted:
            return


def ends(ferry, session):
    return EventStream(ferry.port, f"/v1/sessions/{session}/events?types=task.didComplete")


def in_one_post(ferry, origin, session, count, kind="download"):
    """The meter of the service over the time from the POST to the last end."""
    lines = "\n".join(specification(f"{origin.url}/f/{i}", kind) for i in range(count)) + "\n"
    stream = ends(ferry, session)
    with Meter(ferry.pid) as meter:
        poster = threading.Thread(target=lambda: ferry.call(
            "POST", f"/v1/sessions/{session}/tasks", lines, {"Content-Type": "application/x-ndjson"}))
        poster.start()
        count_ends(stream, count)
        poster.join()
    return meter


def batch(ferry, origin, kind="download"):
    meter = in_one_post(ferry, origin, ferry.session(httpMaximumConnectionsPerHost=AT_ONCE), BATCH, kind)
    return {"jobs/s": BATCH / meter.wall, "CPU ms": meter.cpu / BATCH * 1000, "peak MiB": meter.peak}


def data(ferry, origin):
    return batch(ferry, origin, "data")


def single(ferry, origin):
    session = ferry.session(httpMaximumConnectionsPerHost=AT_ONCE)
    stream = ends(ferry, session)
    stream.socket.settimeout(60)

    def post(number):
        client = Client(ferry.port)
        for i in range(number, SINGLE, CONNECTIONS):
            client.post(f"/v1/sessions/{session}/tasks", specification(f"{origin.url}/f/{i}"))

    with Meter(ferry.pid) as meter:
        posters = [threading.Thread(target=post, args=(number,)) for number in range(CONNECTIONS)]
        for poster in posters:
            poster.start()
        count_ends(stream, SINGLE)
        for poster in posters:
            poster.join()
    return {"jobs/s": SINGLE / meter.wall, "CPU ms": meter.cpu / SINGLE * 1000, "peak MiB": meter.peak,
            **{f"µs in {name}": seconds / SINGLE * 1e6 for name, seconds in meter.threads.items()}}


def latency(ferry, origin):
    session = ferry.session()
    stream, client, taken = ends(ferry, session), Client(ferry.port), []
    blocks = stream.blocks()
    with Meter(ferry.pid) as meter:
        for i in range(ASKED):
            start = time.perf_counter()
            client.post(f"/v1/sessions/{session}/tasks", specification(f"{origin.url}/f/{i}"))
            while b"event: task.didComplete" not in next(blocks):
                pass
            taken.append((time.perf_counter() - start) * 1000)
            time.sleep(0.005)
    return {"p50 ms": percentile(taken, 0.5), "p99 ms": percentile(taken, 0.99), "CPU ms": meter.cpu / ASKED * 1000}


def wait(ferry, origin):
    session, client, taken = ferry.session(), Client(ferry.port), []
    with Meter(ferry.pid) as meter:
        for i in range(ASKED):
            start = time.perf_counter()
            reply = client.post(
                f"/v1/sessions/{session}/tasks", specification(f"{origin.url}/f/{i}"), "Prefer: wait=10\r\n")
            assert b'"state":"completed"' in reply, reply
            taken.append((time.perf_counter() - start) * 1000)
            time.sleep(0.005)
    return {"p50 ms": percentile(taken, 0.5), "p99 ms": percentile(taken, 0.99), "CPU ms": meter.cpu / ASKED * 1000}


def slow(ferry, origin):
    session = ferry.session(httpMaximumConnectionsPerHost=SLOW)
    before = memory(ferry.pid)["VmRSS"]
    lines = "\n".join(specification(f"{origin.url}/slow/{i}") for i in range(SLOW)) + "\n"
    with Meter(ferry.pid) as meter:
        ferry.call("POST", f"/v1/sessions/{session}/tasks", lines, {"Content-Type": "application/x-ndjson"})
        time.sleep(5)
    return {"KiB each": (memory(ferry.pid)["VmRSS"] - before) * 1024 / SLOW, "CPU s": meter.cpu}


def streams(ferry, origin):
    session = ferry.session()
    EventStream(ferry.port, f"/v1/sessions/{session}/events").close()
    before = memory(ferry.pid)["VmRSS"]
    opened = [EventStream(ferry.port, f"/v1/sessions/{session}/events") for _ in range(STREAMS)]
    each = (memory(ferry.pid)["VmRSS"] - before) * 1024 / STREAMS
    for stream in opened:
        stream.close()
    return {"KiB each": each}


def gigabyte(ferry, origin):
    session, client = ferry.session(), Client(ferry.port)
    with Meter(ferry.pid) as meter:
        reply = client.post(f"/v1/sessions/{session}/tasks", specification(f"{origin.url}/1g"), "Prefer: wait=60\r\n")
    assert b'"state":"completed"' in reply, reply
    return {"MB/s": (1 << 30) / 1e6 / meter.wall, "CPU s": meter.cpu, "peak MiB": meter.peak}


def background(ferry, origin):
    """The worker's costs are not in the row: it is another process."""
    status, session = ferry.call(
        "POST", "/v1/sessions", {"type": "background", "identifier": f"side-{time.monotonic_ns()}", "delegate": {},
                                 "configuration": {"httpMaximumConnectionsPerHost": AT_ONCE}})
    assert status == 201, session
    count = BATCH // 5
    meter = in_one_post(ferry, origin, session["id"], count)
    return {"jobs/s": count / meter.wall, "CPU ms": meter.cpu / count * 1000}


WORKS = {"batch": batch, "data": data, "single": single, "latency": latency, "wait": wait, "slow": slow, "streams": streams,
         "gigabyte": gigabyte, "background": background}


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    other, rounds = arguments[0], int(arguments[1]) if len(arguments) > 1 else 5
    only = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--only=")), list(WORKS))
    binaries = {"this": harness.FERRY, "other": other}
    found = {}
    with scratch("--disk" in sys.argv) as directory:
        origin = Origin(directory, gigabyte="gigabyte" in only)
        try:
            for number in range(rounds):
                for work in only:
                    # Each goes first as often as the other.
                    for name in sorted(binaries, reverse=number % 2 == 1):
                        harness.FERRY = binaries[name]
                        ferry = Ferry(f"{directory}/{name}-{work}-{number}")
                        try:
                            ferry.call("POST", "/v1/tasks", specification(f"{origin.url}/f/0"), {
                                "Content-Type": "application/json", "Prefer": "wait=10"})
                            for unit, value in WORKS[work](ferry, origin).items():
                                found.setdefault((work, unit), {}).setdefault(name, []).append(value)
                        finally:
                            ferry.stop()
                            subprocess.run([binaries[name], "stop", "--worker", "--data-directory", ferry.directory],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                            shutil.rmtree(ferry.directory, ignore_errors=True)
        finally:
            origin.stop()
    print(f"medians of {rounds} rounds, on {'disk' if '--disk' in sys.argv else 'tmpfs'}")
    rows = [("work", "", "this", "other", "ratio")]
    for (work, unit), values in found.items():
        this, than = (statistics.median(values.get(name, [0])) for name in ("this", "other"))
        rows.append((work, unit, f"{this:.3g}", f"{than:.3g}", f"{this / than if than else 0:.2f}"))
    table(rows)


if __name__ == "__main__":
    main()
