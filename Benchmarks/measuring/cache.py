#!/usr/bin/env python3
"""Compares a cached response with the same response from nginx on loopback, both through Ferry, in one run.

hit: stored and fresh. reload: loaded and stored again, with reloadIgnoringLocalCacheData. load: in a session without a cache. Each
has three measurements, in turns:
1. one task at a time with `Prefer: wait`: the wall time of a request;
2. the load alone by the tasks' metrics, from fetchStartDate to responseEndDate: the mean over all tasks, because dates
   have milliseconds;
3. batches of 1,000 tasks: the wall time of a task, and the CPU time of the process and of the transfer loop.
usage: cache.py [--quick] [--disk] [--size=1k|100k]"""
import datetime, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *

BATCH, BATCHES, SINGLE = (200, 2, 100) if "--quick" in sys.argv else (1000, 6, 6000)
SIZE = next((a[7:] for a in sys.argv if a.startswith("--size=")), "100k")
WAYS = ("hit", "reload", "load")
WORKER = "ferry-xfer-0"


class Way:
    """One of the three ways to get the response, with its measurements."""

    def __init__(self, name, ferry, origin):
        self.name, self.ferry = name, ferry
        configuration = {"urlCache": None} if name == "load" else {}
        self.session = ferry.session(httpMaximumConnectionsPerHost=64, **configuration)
        request = {"url": f"{origin.url}/kept/{SIZE}"}
        if name == "reload":
            request["cachePolicy"] = "reloadIgnoringLocalCacheData"
        self.task = json.dumps({"kind": "data", "resume": True, "request": request})
        self.wall, self.cpu, self.worker, self.single, self.loads = [], [], [], [], []
        ended = self.wait(http.client.HTTPConnection("127.0.0.1", ferry.port))
        assert ended["error"] is None and not ended["response"]["fromCache"]
        self.digest = ended["body"]["sha256"]

    def batch(self):
        stream = EventStream(self.ferry.port, f"/v1/sessions/{self.session}/events?types=task.didComplete")
        reply = {}
        with Meter(self.ferry.pid) as meter:
            poster = threading.Thread(target=lambda: reply.update(result=self.ferry.call(
                "POST", f"/v1/sessions/{self.session}/tasks", "\n".join([self.task] * BATCH),
                {"Content-Type": "application/x-ndjson"})))
            poster.start()
            done = wrong = 0
            for block in stream.blocks():
                done += block.count(b"event: task.didComplete")
                wrong += block.count(b"event: task.didComplete") - block.count(self.digest.encode())
                if done >= BATCH:
                    break
            poster.join()
        stream.close()
        assert reply["result"][0] == 200 and done == BATCH and wrong == 0, (done, wrong)
        self.wall.append(meter.wall / BATCH)
        self.cpu.append(meter.cpu / BATCH)
        self.worker.append(meter.threads.get(WORKER, 0) / BATCH)

    def wait(self, connection):
        connection.request(
            "POST", f"/v1/sessions/{self.session}/tasks", self.task,
            {"Content-Type": "application/json", "Prefer": "wait=20"})
        return json.loads(connection.getresponse().read())

    def singles(self, connection, count):
        tasks = []
        for _ in range(count):
            start = time.perf_counter()
            tasks.append(self.wait(connection))
            self.single.append(time.perf_counter() - start)
        for task in tasks:
            assert task["body"]["sha256"] == self.digest and task["response"]["fromCache"] == (self.name == "hit")
            connection.request("GET", f"/v1/tasks/{task['id']}/metrics")
            transaction = json.loads(connection.getresponse().read())["transactionMetrics"][-1]
            self.loads.append(instant(transaction["responseEndDate"]) - instant(transaction["fetchStartDate"]))

    def figures(self):
        return {
            "batch, wall": statistics.median(self.wall), "batch, CPU of the process": statistics.median(self.cpu),
            "batch, CPU of the worker": statistics.median(self.worker),
            "one at a time, wall": statistics.median(self.single), "load alone": statistics.mean(self.loads)}


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def main():
    with scratch("--disk" in sys.argv) as directory:
        origin = Origin(f"{directory}/origin")
        ferry = Ferry(f"{directory}/ferry")
        try:
            ways = [Way(name, ferry, origin) for name in WAYS]
            connection = http.client.HTTPConnection("127.0.0.1", ferry.port)
            # Single tasks come before the batches, because the work that batches leave for later would be measured with them.
            for _ in range(BATCHES):
                for way in ways:
                    way.singles(connection, SINGLE // BATCHES)
            for _ in range(BATCHES):
                for way in ways:
                    way.batch()
            figures = [way.figures() for way in ways]
            rows = [(f"{SIZE}, microseconds a task",) + WAYS + ("reload/hit", "load/hit")]
            for measure in figures[0]:
                hit, reload, load = (figure[measure] * 1e6 for figure in figures)
                times = (f"{reload / hit:.1f}", f"{load / hit:.1f}") if hit > 0 else ("-", "-")
                rows.append((measure, f"{hit:.0f}", f"{reload:.0f}", f"{load:.0f}") + times)
            table(rows)
        finally:
            ferry.stop()
            origin.stop()


if __name__ == "__main__":
    main()
