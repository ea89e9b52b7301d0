#!/usr/bin/env python3
"""Downloads and uploads one GiB with Ferry (hashed, fdatasynced, renamed, committed) and with curl in the same run. Each direction
is repeated with ten suspensions at random moments. Every byte is checked.
usage: gigabyte.py [rounds] [--disk]"""
import hashlib, os, random, socketserver, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *

SIZE = 1 << 30
GB = SIZE / 1e9


class Sink:
    """An origin that receives PUTs and answers with their digests."""

    def __init__(self):
        class Handler(socketserver.StreamRequestHandler):
            rbufsize = 1 << 20

            def handle(self):
                length = 0
                while (line := self.rfile.readline()) not in (b"\r\n", b""):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                digest, buffer = hashlib.sha256(), bytearray(1 << 20)
                while length > 0:
                    count = self.rfile.readinto(memoryview(buffer)[:min(length, len(buffer))])
                    if not count:
                        return
                    digest.update(memoryview(buffer)[:count])
                    length -= count
                text = digest.hexdigest().encode()
                self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 64\r\n\r\n" + text)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def suspended_at_random(ferry, task, times):
    for _ in range(times):
        time.sleep(random.uniform(0, 0.15))
        assert ferry.call("POST", f"/v1/tasks/{task}/suspend")[0] == 200
        time.sleep(random.uniform(0, 0.1))
        assert ferry.call("POST", f"/v1/tasks/{task}/resume")[0] == 200


def run(ferry, specification, suspensions=0):
    """Returns the ended task, and GB/s from its creation to its end."""
    start = time.monotonic()
    status, task = ferry.call("POST", "/v1/tasks", specification | {"resume": True})
    assert status == 201, task
    suspended_at_random(ferry, task["id"], suspensions)
    while task["state"] != "completed":
        time.sleep(0.005)
        _, task = ferry.call("GET", f"/v1/tasks/{task['id']}?include=body")
    assert task["error"] is None, task["error"]
    return task, GB / (time.monotonic() - start)


def curl(*arguments):
    start = time.monotonic()
    subprocess.check_call(["curl", "-sS", *arguments], stdout=subprocess.DEVNULL)
    return GB / (time.monotonic() - start)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds = int(arguments[0]) if arguments else 5
    on_disk = "--disk" in sys.argv
    rates = {name: [] for name in ("curl down", "ferry down", "curl up", "ferry up from a file", "ferry up as a stream")}
    with scratch(on_disk) as directory:
        origin, sink = Origin(directory, gigabyte=True), Sink()
        ferry = Ferry(f"{directory}/ferry")
        source = f"{directory}/www/1g"
        with open(source, "rb") as f:
            sha = hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(f.read()).hexdigest()
        down = {"kind": "download", "request": {"url": f"{origin.url}/1g"}}

        def upload(body):
            return {"kind": "upload", "request": {"url": sink.url, "method": "PUT", "body": body}}

        # A streamed body needs a session with a delegate.
        session = ferry.call("POST", "/v1/sessions", {"delegate": {}})[1]["id"]

        def stream(suspensions=0):
            start = time.monotonic()
            _, task = ferry.call("POST", f"/v1/sessions/{session}/tasks", upload({"stream": True}) | {"resume": True})
            put = subprocess.Popen(["curl", "-sSf", "-T", source, f"http://127.0.0.1:{ferry.port}/v1/tasks/{task['id']}/body"])
            suspended_at_random(ferry, task["id"], suspensions)
            assert put.wait(120) == 0
            while task["state"] != "completed":
                time.sleep(0.005)
                _, task = ferry.call("GET", f"/v1/tasks/{task['id']}?include=body")
            return task, GB / (time.monotonic() - start)

        with Meter(ferry.pid) as meter:
            stored = None
            for _ in range(rounds):
                rates["curl down"].append(curl("-o", f"{directory}/copy", f"{origin.url}/1g"))
                os.unlink(f"{directory}/copy")
                task, rate = run(ferry, down)
                rates["ferry down"].append(rate)
                assert task["body"]["sha256"] == sha
                if stored is None:
                    status, stored = ferry.call("POST", "/v1/files", {"fromTask": task["id"]})
                    assert status == 201, stored
                else:
                    assert ferry.call("DELETE", f"/v1/tasks/{task['id']}/body")[0] == 204
                rates["curl up"].append(curl("-T", source, sink.url, "-o", "/dev/null"))
                for name, (task, rate) in (("ferry up from a file", run(ferry, upload({"file": stored["id"]}))),
                                           ("ferry up as a stream", stream())):
                    rates[name].append(rate)
                    assert task["body"]["text"] == sha
            assert run(ferry, down, 10)[0]["body"]["sha256"] == sha
            assert run(ferry, upload({"file": stored["id"]}), 10)[0]["body"]["text"] == sha
            assert stream(10)[0]["body"]["text"] == sha
        ferry.stop()
        origin.stop()
    print(f"1 GiB, medians of {rounds} rounds, on {'disk' if on_disk else 'tmpfs'}")
    medians = {name: statistics.median(values) for name, values in rates.items()}
    table([("", "GB/s", "of curl's"), *[
        (name, f"{value:.2f}", f"{value / medians['curl ' + name.split()[1]]:.2f}") for name, value in medians.items()]])
    print(f"ten suspensions each way: byte-exact; Ferry's peak RSS over all of it: {meter.peak:.0f} MiB")
    assert meter.peak < 64, "Ferry used more memory than documented"


if __name__ == "__main__":
    main()
