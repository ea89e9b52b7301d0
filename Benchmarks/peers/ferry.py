"""Ferry itself, compared with other programs and other builds."""
from .peer import *

MEDIA_TYPE = {"Content-Type": "application/x-ndjson"}


def specification(url, kind="download"):
    return json.dumps({"kind": kind, "resume": True, "request": {"url": url}})


def lines(prefix, count, kind="download"):
    return "".join(specification(f"{prefix}{number}", kind) + "\n" for number in range(count))


def count_ends(stream, wanted):
    done = 0
    for block in stream.blocks():
        done += block.count(b"event: task.didComplete")
        assert b'"data":{"error":{' not in block, block
        if done >= wanted:
            return
    raise RuntimeError(f"the stream ended after {done} of {wanted}")


class FerryPeer(Peer):
    name = "ferry"
    binary = None

    def __init__(self, directory, origin, at_once, *options):
        super().__init__(directory, origin, at_once)
        self.ferry = Ferry(f"{directory}/ferry", *options, binary=self.binary or FERRY)
        self.process, self.port = self.ferry.process, self.ferry.port

    def session(self, **others):
        """Makes a session. Returns a stream of its tasks' ends."""
        status, session = self.ferry.call("POST", "/v1/sessions", {
            "configuration": {"httpMaximumConnectionsPerHost": self.at_once}, **others})
        assert status == 201, session
        self.tasks = f"/v1/sessions/{session['id']}/tasks"
        self.ends = f"/v1/sessions/{session['id']}/events?types=task.didComplete"
        return EventStream(self.port, self.ends)

    def post_lines(self, text):
        status, reply = self.ferry.call("POST", self.tasks, text, MEDIA_TYPE)
        assert status == 200, reply

    def submit(self, post, argument, stream, count):
        """Posts in a thread while the ends are counted."""
        stream.socket.settimeout(120)
        poster = threading.Thread(target=post, args=(argument,))
        poster.start()
        count_ends(stream, count)
        poster.join()
        stream.close()

    def batch(self, prefix, count, kind="download", **session):
        stream, text = self.session(**session), lines(prefix, count, kind)
        return lambda: self.submit(self.post_lines, text, stream, count)

    def single(self, prefix, count):
        stream, clients = self.session(), Clients(self.port, CONNECTIONS)
        bodies = [specification(f"{prefix}{number}") for number in range(count)]
        return lambda: self.submit(lambda bodies: clients.post(self.tasks, bodies), bodies, stream, count)

    def latency(self, prefix, count):
        stream, client = self.session(), Client(self.port)
        blocks = stream.blocks()

        def once(url, _):
            client.post(self.tasks, specification(url))
            while b"event: task.didComplete" not in next(blocks):
                pass

        return one_by_one(once, prefix, count)

    def wait(self, prefix, count):
        self.session().close()
        client = Client(self.port)

        def once(url, _):
            reply = client.post(self.tasks, specification(url), "Prefer: wait=10\r\n")
            assert b'"state":"completed"' in reply, reply

        return one_by_one(once, prefix, count)

    def hold(self, prefix, count):
        self.session().close()
        self.post_lines(lines(prefix, count))

    def channel(self):
        """Returns the path of a stream. `tell` sends one event to all streams, and `told` waits for its reply. `look` is a request
        whose delay is measured meanwhile."""
        self.session().close()
        self.teller, self.client = Client(self.port), Client(self.port)
        reply = self.client.post(self.tasks, specification(f"{self.origin.url}/f/0"), "Prefer: wait=10\r\n")
        self.task = f"/v1/tasks/{json.loads(reply)['id']}"
        return self.ends

    def tell(self):
        self.teller.send(self.tasks, specification(f"{self.origin.url}/f/0"))

    def told(self):
        self.teller.reply()

    def look(self):
        self.client.get(self.task)

    def database(self):
        """Returns the bytes of the database after the service has stopped."""
        self.stop()
        place = self.ferry.directory
        return sum(os.path.getsize(f"{place}/{name}") for name in os.listdir(place) if name.endswith((".db", ".db-wal")))

    def check(self, count, size):
        """Does nothing, because the ends were counted without errors."""

    def stop(self):
        self.ferry.stop()
        # A service with a background session leaves a worker running.
        if os.path.exists(f"{self.ferry.directory}/worker.lock"):
            subprocess.run([self.binary or FERRY, "stop", "--worker", "--data-directory", self.ferry.directory],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
