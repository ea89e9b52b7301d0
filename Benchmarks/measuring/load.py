#!/usr/bin/env python3
"""Measures and checks the service under load.

1. 5,000 downloads of 1 KiB, 64 at once, as one NDJSON batch: every body right, every event exactly once and in order.
2. 1,000 slow transfers and 2,000 idle event streams at once: the time of GET /v1/tasks/{id}, and the memory of a stream.
usage: load.py [--quick]"""
import hashlib, os, re, select, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *

JOBS, AT_ONCE = (500, 64) if "--quick" in sys.argv else (5000, 64)
SLOW, STREAMS = (100, 200) if "--quick" in sys.argv else (1000, 2000)
# The limit for an idle stream.
STREAM_KIB = 16
ORDER = ["task.didCreate", "task.didChangeState", "task.didChangeState", "downloadTask.didFinishDownloading",
         "task.didFinishCollectingMetrics", "task.didComplete"]


def batch(ferry, origin):
    session = ferry.session(httpMaximumConnectionsPerHost=AT_ONCE)
    lines = "".join(
        json.dumps({"kind": "download", "resume": True, "request": {"url": f"{origin.url}/f/{i}"}}) + "\n"
        for i in range(JOBS))
    stream = EventStream(ferry.port, f"/v1/sessions/{session}/events?progress=false")
    reply = {}
    with Meter(ferry.pid) as meter:
        poster = threading.Thread(target=lambda: reply.update(result=ferry.call(
            "POST", f"/v1/sessions/{session}/tasks", lines, {"Content-Type": "application/x-ndjson"})))
        poster.start()
        events, done = [], 0
        for block in stream.blocks():
            done += block.count(b"event: task.didComplete")
            events.append(block)
            if done >= JOBS:
                break
        poster.join()
    status, text = reply["result"]
    assert status == 200
    tasks = [json.loads(line)["id"] for line in text.splitlines()]
    assert len(set(tasks)) == JOBS
    check_events(b"".join(events), tasks)
    check_bodies(ferry, tasks, origin)
    replayed = replay(ferry, session)
    check_events(replayed, tasks)
    print(f"batch: {JOBS} downloads of 1 KiB, {AT_ONCE} at once")
    table([("jobs/s", "CPU ms/job", "peak RSS MiB"),
           (f"{JOBS / meter.wall:.0f}", f"{meter.cpu / JOBS * 1000:.3f}", f"{meter.peak:.0f}")])
    print(f"every body right; {JOBS * len(ORDER)} events exactly once and in order, live and replayed")


def check_events(text, tasks):
    seen, last = {}, 0
    for event in text.split(b"\n\n"):
        match = re.search(rb"id: (\d+)\nevent: (\S+)\ndata: (.*)", event)
        if not match:
            continue
        sequence, data = int(match[1]), json.loads(match[3])
        assert sequence > last and data["id"] == sequence and data["type"] == match[2].decode()
        last = sequence
        seen.setdefault(data["taskId"], []).append(data["type"])
        if data["type"] == "task.didComplete":
            assert data["data"]["error"] is None, data
    assert set(seen) == set(tasks)
    wrong = {task: types for task, types in seen.items() if types != ORDER}
    assert not wrong, next(iter(wrong.items()))


def replay(ferry, session):
    stream = EventStream(ferry.port, f"/v1/sessions/{session}/events?after=0")
    text = b""
    for block in stream.blocks():
        text += block
        if text.count(b"event: task.didComplete") == JOBS:
            stream.close()
            return text


def check_bodies(ferry, tasks, origin):
    with open(os.path.join(os.path.dirname(ferry.directory), "origin/www/1k"), "rb") as f:
        expected = f.read()
    connection = http.client.HTTPConnection("127.0.0.1", ferry.port)
    for task in tasks:
        connection.request("GET", f"/v1/tasks/{task}/body")
        reply = connection.getresponse()
        assert reply.read() == expected and reply.status == 200, task
    connection.close()


def crowd(ferry, origin):
    session = ferry.session(httpMaximumConnectionsPerHost=SLOW)
    quiet = ferry.session()
    rss = memory(ferry.pid)["VmRSS"]
    streams = [EventStream(ferry.port, f"/v1/sessions/{quiet}/events") for _ in range(STREAMS)]
    each = (memory(ferry.pid)["VmRSS"] - rss) * 1024 / STREAMS
    assert each < STREAM_KIB, f"an idle stream takes {each:.1f} KiB"
    lines = "".join(
        json.dumps({"kind": "download", "resume": True, "request": {"url": f"{origin.url}/slow/{i}"}}) + "\n"
        for i in range(SLOW))
    with Meter(ferry.pid) as meter:
        status, text = ferry.call(
            "POST", f"/v1/sessions/{session}/tasks", lines, {"Content-Type": "application/x-ndjson"})
        tasks = [json.loads(line)["id"] for line in text.splitlines()]
        latencies, transferring = [], 0
        connection = http.client.HTTPConnection("127.0.0.1", ferry.port)
        end = time.monotonic() + (3 if "--quick" in sys.argv else 7)
        while time.monotonic() < end:
            for task in tasks[:: max(1, SLOW // 100)]:
                start = time.perf_counter()
                connection.request("GET", f"/v1/tasks/{task}")
                body = json.loads(connection.getresponse().read())
                latencies.append((time.perf_counter() - start) * 1000)
                transferring += body["phase"] == "transferring"
                time.sleep(0.002)
    p99 = percentile(latencies, 0.99)
    print(f"crowd: {SLOW} slow transfers and {STREAMS} idle event streams at once, {meter.wall:.0f} s")
    table([("KiB a stream", "GET task p50 ms", "p99 ms", "max ms", "CPU share", "peak RSS MiB", "RSS before MiB"),
           (f"{each:.1f}", f"{percentile(latencies, 0.5):.2f}", f"{p99:.2f}", f"{max(latencies):.1f}",
            f"{meter.cpu / meter.wall:.2f}", f"{meter.peak:.0f}", f"{rss:.0f}")])
    assert transferring > len(latencies) * 0.9, (transferring, len(latencies))
    assert p99 < 20, p99
    for stream in streams:
        stream.close()
    ferry.wait_until_none_runs(session)
    status, page = ferry.call("GET", f"/v1/sessions/{session}/tasks?limit=500")
    assert all(item["error"] is None and item["body"]["size"] == 102400 for item in page["items"]), page["items"][0]


def main():
    with scratch() as directory:
        origin = Origin(f"{directory}/origin")
        ferry = Ferry(f"{directory}/ferry")
        try:
            batch(ferry, origin)
            crowd(ferry, origin)
        finally:
            ferry.stop()
            origin.stop()


if __name__ == "__main__":
    main()
