#!/usr/bin/env python3
"""Measures requests and starts with a growing number of tasks in the database.

Each size has a batch of downloads, a client's lists, and a start. Then a service with the shortest retention deletes everything
while a client sends requests. Another service has the same number of suspended tasks.
usage: growth.py [SIZE,...] [--suspended=N] [--disk]    100,10000,1000000 and 200,000 by default"""
import base64, os, sys, uuid
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from works import *
from harness import *
from peers.ferry import FerryPeer, lines, specification

ROUNDS, LOOKS, PART = 3, 20, 20_000
JSON = {"Content-Type": "application/json"}


def timed_ms(look):
    """Returns the median of several durations in milliseconds."""
    taken = []
    for _ in range(LOOKS):
        start = time.perf_counter()
        look()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def start(directory, *options):
    """Starts a service. Returns it, and the seconds until it was ready."""
    began = time.perf_counter()
    ferry = Ferry(directory, *options)
    while ferry.call("GET", "/readyz")[0] != 200:
        time.sleep(0.01)
    return ferry, time.perf_counter() - began


class Peer(FerryPeer):
    """Successive services on one directory."""

    def __init__(self, directory, origin):
        super().__init__(directory, origin, AT_ONCE)

    def again(self, *options):
        self.ferry.stop()
        self.ferry, seconds = start(self.ferry.directory, *options)
        self.process, self.port = self.ferry.process, self.ferry.port
        return seconds

    def batches(self):
        """Runs batches in a single session, whose lists get long."""
        found = []
        for _ in range(ROUNDS):
            stream = EventStream(self.port, self.ends)
            text = lines(f"{self.origin.url}/f/", BATCH)
            with self.meter() as meter:
                self.submit(self.post_lines, text, stream, BATCH)
            found.append(rates(meter, BATCH))
        return {unit: statistics.median(each[unit] for each in found) for unit in ("jobs/s", "CPU ms")}

    def grow(self, count):
        """Adds this number of ended tasks."""
        while count > 0:
            part = min(count, PART)
            self.submit(self.post_lines, lines(f"{self.origin.url}/f/", part), EventStream(self.port, self.ends), part)
            count -= part

    def lists(self):
        client, first = Client(self.port), f"{self.tasks}?limit=50"
        middle = self.middle
        cursor = base64.urlsafe_b64encode(uuid.UUID(middle.removeprefix("tsk_")).bytes).decode().rstrip("=")
        looks = {"a task": f"/v1/tasks/{middle}", "first page": first, "in the middle": f"{first}&cursor={cursor}",
                 "completed": f"{first}&state=completed", "running (none)": f"{first}&state=running",
                 "uploads (none)": f"{first}&kind=upload", "500": f"{self.tasks}?limit=500"}
        found = {name: timed_ms(lambda: client.get(path)) for name, path in looks.items()}
        client.close()
        return found

    def note_middle(self):
        """Records a task in the middle of the others."""
        status, task = self.ferry.call("POST", self.tasks, specification(f"{self.origin.url}/f/0"), JSON)
        assert status == 201, task
        self.middle = task["id"]


def prune(peer, count):
    """Runs a service with the shortest retention. Returns the speed of deletion, and the waits of a client meanwhile."""
    seconds = peer.again("--task-retention=1", "--event-retention=1", "--retention-interval=1")
    client, taken, began = Client(peer.port), [], time.perf_counter()
    path = f"{peer.tasks}?limit=1"
    while b'"id"' in look(client, path, taken):
        time.sleep(0.005)
    client.close()
    return {"start s": seconds, "tasks/s": count / (time.perf_counter() - began), "p99 ms of a GET": percentile(taken, 0.99) * 1000}


def look(client, path, taken):
    began = time.perf_counter()
    reply = client.get(path)
    taken.append(time.perf_counter() - began)
    return reply


def suspended(directory, origin, count):
    peer = Peer(directory, origin)
    peer.session().close()
    before = memory(peer.ferry.pid)["VmRSS"]
    for first in range(0, count, PART):
        text = lines(f"{origin.url}/f/", min(PART, count - first)).replace('"resume": true', '"resume": false')
        peer.post_lines(text)
    each = (memory(peer.ferry.pid)["VmRSS"] - before) * 1024 / count
    seconds = peer.again()
    looks = {name: timed_ms(lambda: peer.ferry.call("GET", f"{peer.tasks}?{query}"))
             for name, query in (("completed", "state=completed"), ("uploads", "kind=upload"), ("first page", "limit=50"))}
    peer.stop()
    return {"KiB each": each, "start s": seconds, **{f"{name} ms": value for name, value in looks.items()}}


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    sizes = [int(size) for size in (arguments[0] if arguments else "100,10000,1000000").split(",")]
    count = next((int(a.split("=")[1]) for a in sys.argv if a.startswith("--suspended=")), 200_000)
    rows = [("tasks", "work", "figure")]

    def tell(size, work, figures):
        text = ", ".join(f"{name} {value:.4g}" for name, value in figures.items())
        rows.append((size, work, text))
        print(*rows[-1], sep="  ", flush=True)

    with scratch("--disk" in sys.argv) as directory:
        origin = Origin(f"{directory}/origin")
        try:
            peer, had = Peer(f"{directory}/tasks", origin), 0
            peer.session().close()
            for size in sizes:
                peer.grow((size - had) // 2)
                peer.note_middle()
                peer.grow(size - had - (size - had) // 2)
                had = size
                tell(size, "batch", peer.batches())
                tell(size, "lists, ms", peer.lists())
                tell(size, "start, s", {"": peer.again()})
                tell(size, "batch after it", peer.batches())
                had += 2 * ROUNDS * BATCH + 1
            database = sum(os.path.getsize(f"{peer.ferry.directory}/{name}") for name in os.listdir(peer.ferry.directory) if name.startswith("ferry.db"))
            tell(had, "database", {"KB each": database / had / 1000})
            tell(had, "deleted", prune(peer, had))
            peer.stop()
            tell(count, "suspended", suspended(f"{directory}/suspended", origin, count))
        finally:
            origin.stop()


if __name__ == "__main__":
    main()
