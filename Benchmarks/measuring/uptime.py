#!/usr/bin/env python3
"""Compares the cost of a task after many tasks with its cost at the start.

Two clients run one small task after the other: downloads, uploads, event streams, progress, redirects with decisions, webhooks,
cancelled tasks, short-lived sessions, background tasks. The CPU time for each task, and the memory and descriptors of the service
and its worker, must stay constant.
usage: uptime.py [tasks]    100,000 by default"""
import itertools, os, random, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *
from receiver import Receiver

TASKS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
WINDOWS = 50
MEMORY_GROWTH, DESCRIPTORS = 1.05, 4
# Short runs have short windows. Other load then weighs more, and a cost that grows with each task has grown less.
CPU_GROWTH = 1.10 if TASKS >= 50_000 else 1.30
JSON = {"Content-Type": "application/json"}


class Client:
    """A persistent connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(self, method, path, body=None, expected=(200, 201, 202, 204), headers=None):
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, {**(JSON if text else {}), **(headers or {})})
        reply = self.connection.getresponse()
        data = reply.read()
        assert reply.status in expected, (method, path, reply.status, data[:500])
        return json.loads(data) if "json" in reply.headers.get("Content-Type", "") else data

    def session(self, **members):
        return self.call("POST", "/v1/sessions", members)["id"]

    def run(self, session, kind, url, **members):
        """Runs a task and returns it after its end."""
        request = {"url": url, **members.pop("request", {})}
        task = self.call("POST", f"/v1/sessions/{session}/tasks",
                         {"kind": kind, "resume": True, "request": request, **members}, headers={"Prefer": "wait=50"})
        assert task["state"] == "completed" and task["error"] is None, task
        return task

    def end(self, session):
        self.call("POST", f"/v1/sessions/{session}/invalidate", {"mode": "cancelTasks"})
        self.call("DELETE", f"/v1/sessions/{session}")


class Life:
    """The tasks that the clients run in turns."""

    def __init__(self, ferry, origin, receiver):
        self.ferry, self.origin, self.receiver = ferry, origin, receiver
        # The cache is full after a few tasks, like every cache in the long run.
        small = {"urlCache": {"memoryCapacity": 1 << 16, "diskCapacity": 1 << 17}}
        self.plain = Client(ferry.port).session(configuration=small)
        self.asking = Client(ferry.port).session(delegate={"redirects": "ask"})
        self.background = Client(ferry.port).session(
            type="background", identifier="uptime", delegate={"webhook": {"url": receiver.url, "events": ["task.didComplete"]}})
        self.stream = EventStream(ferry.port, f"/v1/sessions/{self.asking}/events")
        threading.Thread(target=self.answer, daemon=True).start()
        self.messages = 0

    def answer(self):
        """Acts as the delegate: follows each redirect."""
        client = Client(self.ferry.port)
        for block in self.stream.blocks():
            for event in block.split(b"\n\n"):
                if b"event: task.willPerformHTTPRedirection" in event:
                    data = json.loads(event.split(b"data: ", 1)[1])["data"]
                    client.call("POST", f"/v1/decisions/{data['decisionId']}", {"request": data["request"]})

    def run(self, client, number):
        url = f"{self.origin.url}/f/{number}"
        kind = number % 20
        if number % 400 == 17:
            client.run(self.plain, "download", f"{self.origin.url}/brisk/{number}")
        elif number % 100 == 57:
            session = client.session(type="ephemeral" if number % 200 > 100 else "default")
            client.run(session, "data", url)
            client.end(session)
        elif number % 100 == 77:
            task = client.call("POST", f"/v1/sessions/{self.background}/tasks",
                               {"kind": "download", "resume": True, "request": {"url": url}})
            self.wait(lambda: task["id"] in self.receiver.ids)
        elif kind == 0:
            task = client.run(self.asking, "data", f"{self.origin.url}/moved")
            assert task["response"]["status"] == 200
        elif kind == 1:
            task = client.run(self.plain, "download", url, completion={"webhook": {"url": self.receiver.url}})
            self.wait(lambda: task["id"] in self.receiver.ids)
        elif kind == 2:
            client.run(self.plain, "upload", url, request={"method": "PUT", "body": {"text": "x" * 500}})
        elif kind == 3:
            task = client.call("POST", f"/v1/sessions/{self.plain}/tasks", {"kind": "data", "request": {"url": url}})
            stream = EventStream(self.ferry.port, f"/v1/tasks/{task['id']}/events?after=0")
            client.call("POST", f"/v1/tasks/{task['id']}/resume")
            next(block for block in stream.blocks() if b"event: task.didComplete" in block)
            stream.close()
        elif kind == 4:
            task = client.run(self.plain, "data", url)
            assert len(client.call("GET", f"/v1/tasks/{task['id']}/body")) == 1024
        elif kind == 5:
            task = client.call("POST", f"/v1/sessions/{self.plain}/tasks", {"kind": "download", "request": {"url": url}})
            client.call("POST", f"/v1/tasks/{task['id']}/cancel")
        else:
            client.run(self.plain, "download", url)

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "a message did not arrive"
            time.sleep(0.001)


class Gauge:
    """Measures CPU time, memory and descriptors of the service and its worker."""

    def __init__(self, ferry):
        self.ferry = ferry
        with open(f"{ferry.directory}/worker.lock") as f:
            text = f.read()
        self.pids = [ferry.pid, int("".join(itertools.takewhile(str.isdigit, text.lstrip('{"pid: '))))]

    def cpu(self):
        return sum(cpu_seconds(pid) for pid in self.pids)

    def memory(self):
        return [memory(pid)["VmRSS"] for pid in self.pids]

    def descriptors(self):
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in self.pids]


def main():
    with scratch() as directory:
        origin, receiver = Origin(f"{directory}/origin"), Receiver()
        ferry = Ferry(f"{directory}/data", "--log-level", "warning")
        try:
            measure(ferry, origin, receiver)
        finally:
            ferry.stop()
            origin.stop()
            receiver.shutdown()


def measure(ferry, origin, receiver):
    life = Life(ferry, origin, receiver)
    clients = [Client(ferry.port) for _ in range(2)]
    numbers = itertools.count()
    failures = []

    def work(client, end):
        try:
            while (number := next(numbers)) < end:
                life.run(client, number)
        except BaseException as fault:
            failures.append(fault)

    def advance(end):
        threads = [threading.Thread(target=work, args=(client, end)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    size = max(400, TASKS // WINDOWS // 400 * 400)  # each has the same mixture
    advance(size)  # everything has been used once
    gauge, windows, done = Gauge(ferry), [], size
    while done < TASKS:
        cpu = gauge.cpu()
        numbers = itertools.count(done)
        advance(done + size)
        done += size
        windows.append(((gauge.cpu() - cpu) / size * 1000, gauge.memory(), gauge.descriptors()))
    report(windows, done)


def report(windows, done):
    tenth = max(1, len(windows) // 10)
    first, last = windows[:tenth + 1], windows[-tenth - 1:]
    early = windows[len(windows) // 5:][:tenth + 1]  # one-time growth is over

    def middle(part, value):
        return statistics.median(value(window) for window in part)

    # The best windows are those without other load.
    cpu = [min(window[0] for window in part) for part in (first, last)]
    print(f"{done} tasks, two at a time")
    rows = [("", "first", "last", "ratio"),
            ("CPU ms a task", f"{cpu[0]:.3f}", f"{cpu[1]:.3f}", f"{cpu[1] / cpu[0]:.3f}")]
    bad = cpu[1] > cpu[0] * CPU_GROWTH
    for index, name in enumerate(("service", "worker")):
        held = [middle(part, lambda window: window[1][index]) for part in (early, last)]
        rows.append((f"MiB, {name}", f"{held[0]:.1f}", f"{held[1]:.1f}", f"{held[1] / held[0]:.3f}"))
        bad |= held[1] > held[0] * MEMORY_GROWTH + 2
        open_ = [middle(part, lambda window: window[2][index]) for part in (early, last)]
        rows.append((f"descriptors, {name}", f"{open_[0]:.0f}", f"{open_[1]:.0f}", ""))
        bad |= open_[1] > open_[0] + DESCRIPTORS
    table(rows)
    if bad:
        print("a task costs more than at the start")
        sys.exit(1)


main()
