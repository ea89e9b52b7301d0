#!/usr/bin/env python3
"""The same 5,000 downloads of 1 KiB through Ferry and through aria2's JSON-RPC, 64 at once, in one run.

Ferry commits every task and every event with fsync; aria2 writes files and remembers nothing.
usage: race.py [rounds] [--disk] [--at-least=RATIO]    1 by default"""
import base64, hashlib, socket, struct, sys
from harness import *

JOBS, AT_ONCE = 5000, 64


class Ferry1K:
    name = "ferry"

    def __init__(self, directory, origin):
        self.origin = origin
        self.peer = Ferry(f"{directory}/ferry")
        self.pid = self.peer.pid

    def run(self):
        session = self.peer.session(httpMaximumConnectionsPerHost=AT_ONCE)
        lines = "".join(
            json.dumps({"kind": "download", "resume": True, "request": {"url": f"{self.origin.url}/f/{i}"}}) + "\n"
            for i in range(JOBS))
        stream = EventStream(self.peer.port, f"/v1/sessions/{session}/events?types=task.didComplete")
        with Meter(self.pid) as meter:
            poster = threading.Thread(target=self.post, args=(session, lines))
            poster.start()
            done = failed = 0
            for block in stream.blocks():
                done += block.count(b"event: task.didComplete")
                failed += block.count(b'"data":{"error":{')
                if done >= JOBS:
                    break
            poster.join()
        stream.close()
        assert done == JOBS and failed == 0, (done, failed)
        return meter

    def post(self, session, lines):
        status, _ = self.peer.call(
            "POST", f"/v1/sessions/{session}/tasks", lines, {"Content-Type": "application/x-ndjson"})
        assert status == 200, status

    def stop(self):
        self.peer.stop()


class Aria2:
    name = "aria2"

    def __init__(self, directory, origin):
        self.origin, self.port = origin, free_port()
        os.makedirs(f"{directory}/aria2")
        self.process = subprocess.Popen(
            ["aria2c", "--no-conf", "--enable-rpc", f"--rpc-listen-port={self.port}", "--rpc-listen-all=false",
             f"-j{AT_ONCE}", f"--dir={directory}/aria2", "--quiet", "--allow-overwrite=true",
             "--auto-file-renaming=false", "--file-allocation=none", "--max-download-result=20000",
             "--rpc-max-request-size=16M", "--disable-ipv6", "--no-netrc"], stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_for_port(self.port)

    def run(self):
        peer = WebSocket(self.port, "/jsonrpc")
        with Meter(self.pid) as meter:
            for start in range(0, JOBS, 100):
                calls = [{"methodName": "aria2.addUri", "params": [[f"{self.origin.url}/f/{i}"], {"out": str(i)}]}
                         for i in range(start, min(JOBS, start + 100))]
                peer.send(json.dumps(
                    {"jsonrpc": "2.0", "id": str(start), "method": "system.multicall", "params": [calls]}))
            done = 0
            while done < JOBS:
                message = peer.receive()
                done += message.count(b"onDownloadComplete")
                assert b"onDownloadError" not in message
        peer.close()
        return meter

    def stop(self):
        stop(self.process)


class WebSocket:
    """As much of RFC 6455 as aria2's JSON-RPC needs."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.file = self.socket.makefile("rb", 1 << 20)
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def send(self, text):
        data = text.encode()
        short = len(data) < 1 << 16
        size = struct.pack(">BH", 0xFE, len(data)) if short else struct.pack(">BQ", 0xFF, len(data))
        self.socket.sendall(b"\x81" + size + bytes(4) + data)

    def receive(self):
        head = self.file.read(2)
        size = head[1] & 127
        if size == 126:
            size = struct.unpack(">H", self.file.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.file.read(8))[0]
        return self.file.read(size)

    def close(self):
        self.socket.close()


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds = int(arguments[0]) if arguments else 5
    on_disk = "--disk" in sys.argv
    results = {"ferry": [], "aria2": []}
    with scratch(on_disk) as directory:
        origin = Origin(directory)
        for number in range(rounds):
            for kind in (Ferry1K, Aria2):
                place = f"{directory}/{kind.name}-{number}"
                os.makedirs(place)
                peer = kind(place, origin)
                try:
                    results[kind.name].append(peer.run())
                finally:
                    peer.stop()
                    shutil.rmtree(place, ignore_errors=True)
        origin.stop()
    rows = [("", "jobs/s", "CPU ms/job", "peak RSS MiB")]
    medians = {}
    for name, meters in results.items():
        medians[name] = statistics.median(JOBS / m.wall for m in meters)
        rows.append((
            name, f"{medians[name]:.0f}", f"{statistics.median(m.cpu for m in meters) / JOBS * 1000:.3f}",
            f"{statistics.median(m.peak for m in meters):.0f}"))
    print(f"{JOBS} downloads of 1 KiB, {AT_ONCE} at once, medians of {rounds} rounds, on {'disk' if on_disk else 'tmpfs'}")
    table(rows)
    ratio = medians["ferry"] / medians["aria2"]
    print(f"ratio ferry/aria2: {ratio:.2f}")
    print("where Ferry's time goes, CPU us/job by thread:")
    threads = [m.threads for m in results["ferry"]]
    names = sorted({name for t in threads for name in t}, key=lambda n: -threads[0].get(n, 0))
    table([(name, f"{statistics.median(t.get(name, 0) for t in threads) / JOBS * 1e6:.1f}") for name in names])
    least = next((float(a.split("=")[1]) for a in sys.argv if a.startswith("--at-least=")), 1)
    assert ratio >= least, "slower than aria2" if least == 1 else f"below {least} of aria2"


if __name__ == "__main__":
    main()
