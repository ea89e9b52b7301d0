#!/usr/bin/env python3
"""Measures the cost of an idle worker, and its delay before a new task of a background session.

The delay is the time from the reply to the task's creation, which follows the commit, to its request at the origin. For comparison,
the service itself performs a task of a default session.
usage: idle.py [--quick]"""
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *

WINDOWS, TASKS = (3, 50) if "--quick" in sys.argv else (7, 300)
# A window covers two heartbeats of the worker, so that all windows have the same cost. Spare threads end before the first window.
WINDOW, SETTLES = 10, 6
SHARE, WAKE = 0.001, 0.005


class Door:
    """An origin that records the time of each request."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.times, self.came = [], threading.Semaphore(0)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while head := connection.recv(65536):
            came = time.perf_counter()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            # The origin also receives the webhooks.
            if head.startswith(b"GET"):
                self.times.append(came)
                self.came.release()


def wakes(ferry, door, session):
    task = json.dumps({"kind": "download", "resume": True, "request": {"url": door.url}})
    client = http.client.HTTPConnection("127.0.0.1", ferry.port)
    found = []
    for _ in range(TASKS):
        client.request("POST", f"/v1/sessions/{session}/tasks", task, {"Content-Type": "application/json"})
        reply = client.getresponse()
        assert reply.status == 201, reply.read()
        reply.read()
        created = time.perf_counter()
        assert door.came.acquire(timeout=20), "the task's request did not arrive"
        found.append(max(0, door.times[-1] - created))
        time.sleep(0.05)
    return found


def window(pid):
    """Returns the share of a core that the process uses. Other load adds to it, so the median of several windows counts."""
    before, start = cpu_seconds(pid), time.monotonic()
    time.sleep(WINDOW)
    return (cpu_seconds(pid) - before) / (time.monotonic() - start)


def main():
    with scratch() as directory:
        door, ferry = Door(), Ferry(f"{directory}/ferry")
        try:
            here = ferry.session()
            status, session = ferry.call("POST", "/v1/sessions", {
                "type": "background", "identifier": "idle", "delegate": {"webhook": {"url": door.url, "events": []}},
                "configuration": {}})
            assert status == 201, session
            wakes(ferry, door, session["id"])
            pid = json.load(open(f"{directory}/ferry/worker.lock"))["pid"]
            time.sleep(SETTLES)
            shares = [window(pid) for _ in range(WINDOWS)]
            share = statistics.median(shares)
            there, own = wakes(ferry, door, session["id"]), wakes(ferry, door, here)
            table([("ms from commit to the origin", "median", "p95", "max")] + [
                (name, *(f"{value * 1e3:.2f}" for value in (statistics.median(found), percentile(found, 0.95), max(found))))
                for name, found in (("worker's process", there), ("service itself", own))])
            print(f"idle worker: {share * 100:.3f} % of a core ({', '.join(f'{part * 100:.3f}' for part in shares)}), "
                  f"{memory(pid)['VmRSS']:.0f} MiB")
            assert share <= SHARE, "an idle worker costs too much"
            assert statistics.median(there) <= WAKE, "a worker wakes too late"
        finally:
            with contextlib.suppress(OSError, ValueError, ProcessLookupError):
                os.kill(json.load(open(f"{directory}/ferry/worker.lock"))["pid"], signal.SIGTERM)
            ferry.stop()


if __name__ == "__main__":
    main()
