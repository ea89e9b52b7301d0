"""aria2's JSON-RPC: jobs over a WebSocket or by POST, and notifications over the WebSocket."""
import base64, struct
from .peer import *


class Aria2(Peer):
    name = "aria2"
    # aria2 always writes files, and cannot report the end of a job in a reply.
    same = {"files": "batch", "wait": "latency"}
    PIECE = 100

    def __init__(self, directory, origin, at_once, *options):
        super().__init__(directory, origin, at_once)
        self.port = free_port()
        self.process = subprocess.Popen(
            ["aria2c", "--no-conf", "--enable-rpc", f"--rpc-listen-port={self.port}", "--rpc-listen-all=false",
             f"-j{at_once}", f"--dir={self.files}", "--quiet", "--allow-overwrite=true",
             "--auto-file-renaming=false", "--file-allocation=none", "--max-download-result=20000",
             "--rpc-max-request-size=16M", "--disable-ipv6", "--no-netrc"], stdin=subprocess.DEVNULL)
        wait_for_port(self.port)

    @staticmethod
    def call(url, name):
        return json.dumps({"jsonrpc": "2.0", "id": name, "method": "aria2.addUri", "params": [[url], {"out": name}]})

    def calls(self, prefix, count):
        """Yields messages with many calls each."""
        for start in range(0, count, self.PIECE):
            calls = [{"methodName": "aria2.addUri", "params": [[f"{prefix}{number}"], {"out": str(number)}]}
                     for number in range(start, min(count, start + self.PIECE))]
            yield json.dumps({"jsonrpc": "2.0", "id": str(start), "method": "system.multicall", "params": [calls]})

    @staticmethod
    def count_ends(socket, wanted):
        done = 0
        while done < wanted:
            message = socket.receive()
            done += message.count(b"onDownloadComplete")
            assert b"onDownloadError" not in message

    def batch(self, prefix, count):
        socket, messages = WebSocket(self.port, "/jsonrpc"), list(self.calls(prefix, count))

        def run():
            for message in messages:
                socket.send(message)
            self.count_ends(socket, count)
            socket.close()

        return run

    def single(self, prefix, count):
        socket, clients = WebSocket(self.port, "/jsonrpc"), Clients(self.port, CONNECTIONS)
        bodies = [self.call(f"{prefix}{number}", str(number)) for number in range(count)]

        def run():
            poster = threading.Thread(target=clients.post, args=("/jsonrpc", bodies))
            poster.start()
            self.count_ends(socket, count)
            poster.join()
            socket.close()

        return run

    def latency(self, prefix, count):
        socket = WebSocket(self.port, "/jsonrpc")

        def once(url, name):
            socket.send(self.call(url, name))
            self.count_ends(socket, 1)

        return one_by_one(once, prefix, count)

    def hold(self, prefix, count):
        socket = WebSocket(self.port, "/jsonrpc")
        for message in self.calls(prefix, count):
            socket.send(message)


class WebSocket:
    """The part of RFC 6455 that aria2's JSON-RPC needs."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), 120)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.file = self.socket.makefile("rb", 1 << 20)
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def send(self, text):
        data = text.encode()
        if len(data) < 126:
            size = struct.pack(">B", 0x80 | len(data))
        elif len(data) < 1 << 16:
            size = struct.pack(">BH", 0xFE, len(data))
        else:
            size = struct.pack(">BQ", 0xFF, len(data))
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
