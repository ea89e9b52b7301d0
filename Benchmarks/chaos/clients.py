"""Clients of two services that share a data directory. Each client alternates between the services, uses the other if one is gone,
and checks every reply."""
import hashlib, random, uuid
from harness import *

# The status if it is unknown whether a dead service has performed a request.
UNKNOWN = 503
CONNECTION_LOST, CANCELLED = "networkConnectionLost", "cancelled"


class Pair:
    """Two services, with the periods in which one of them was ended, and how."""

    def __init__(self, place, binaries=(FERRY,)):
        self.place, self.binaries, self.lock = place, binaries, threading.Lock()
        self.ferries = [self.start(), self.start()]
        self.ends, self.faults, self.silent, self.answers = [], [], None, 0

    def start(self):
        return Ferry(self.place, binary=random.choice(self.binaries))

    def replace(self, number):
        ferry = self.start()
        with self.lock:
            self.ferries[number] = ferry

    def pick(self, chance):
        """Returns the number of a service, rarely of a frozen service, which does not answer."""
        number = chance.randrange(2)
        return 1 - number if number == self.silent and chance.random() < 0.9 else number

    def call(self, number, method, path, body=None, headers=None):
        """Sends a request. Returns status and body, or None if there was no reply or the result is unknown."""
        with self.lock:
            ferry = self.ferries[number]
        began = time.time()
        try:
            status, reply = ferry.call(method, path, body, headers, timeout=40)
        except (OSError, http.client.HTTPException) as error:
            self.note(began, number, f"{method} {path}: {type(error).__name__} {error}", isAnswer=False)
            return None
        with self.lock:
            self.answers += 1
        if status == UNKNOWN:
            self.note(began, number, f"{method} {path}: {reply}")
            return None
        return status, reply

    def insist(self, chance, method, path, body=None, headers=None):
        """Repeats a request to both services in turn until there is a reply. Only for requests that may be repeated."""
        deadline = time.time() + 90
        while True:
            if answer := self.call(self.pick(chance), method, path, body, headers):
                return answer
            assert time.time() < deadline, f"nobody answers {method} {path}"
            time.sleep(0.02)

    def note(self, began, number, text, isAnswer=True):
        with self.lock:
            self.faults.append((began, time.time(), number, text, isAnswer))

    def is_rough(self, start, end):
        """Returns whether one of the services was killed or frozen in this period."""
        return any(how != signal.SIGTERM and start < until and end > since for since, until, _, how in self.ends)

    def inexcusable(self):
        """Returns the failures while both services ran or ended in order. A refused connection to an ended service is no
        failure."""
        return [text for start, end, number, text, isAnswer in self.faults
                if not self.is_rough(start, end) and (isAnswer or not any(
                    number == victim and start < until and end > since for since, until, victim, _ in self.ends))]


class Load:
    """The replies that the clients received."""

    def __init__(self, pair, origin, receiver, secret, seed):
        self.pair, self.origin, self.receiver, self.secret, self.seed = pair, origin, receiver, secret, seed
        self.lock, self.isOver, self.errors = threading.Lock(), False, []
        # By a task's id: its unique URL, and the errors with which it may end in addition to those of every task.
        self.accepted, self.mayEnd, self.messages = {}, {}, set()
        # By a session's id: its type, the time of its creation, and the time of the first request to delete it.
        self.sessions, self.created, self.deleted = {}, {}, {}
        # The events of each stream: (session or None, ids).
        self.streams = []
        self.count = 0
        chance = random.Random(seed)
        for number in range(10):
            self.session(chance, "background" if number > 7 else "default")
        roles = [self.create, self.create, self.batch, self.read, self.list, self.cancel, self.upload, self.end_session]
        self.threads = [threading.Thread(target=self.run, args=(n, role)) for n, role in enumerate(roles)]
        streams = [None, *list(self.sessions)[:2], list(self.sessions)[-1]]
        self.threads += [threading.Thread(target=self.guard, args=(self.stream, n, s)) for n, s in enumerate(streams)]
        for thread in self.threads:
            thread.start()

    def guard(self, body, *arguments):
        try:
            body(*arguments)
        except BaseException as error:
            with self.lock:
                self.errors.append(f"{body.__name__}: {type(error).__name__}: {str(error)[:600]}")

    def run(self, number, role):
        chance = random.Random(f"{self.seed}-{number}")
        while not self.isOver and not self.errors:
            self.guard(role, chance)
            time.sleep(chance.uniform(0, 0.02))

    def end(self):
        self.isOver = True
        for thread in self.threads:
            thread.join()

    # Requests

    def session(self, chance, kind="default"):
        key = uuid.uuid4().hex
        body = {"type": kind}
        if kind == "background":
            body |= {"identifier": key, "delegate": {"webhook": {
                "url": self.receiver.url, "secret": "whsec_" + self.secret, "events": ["task.didComplete"]}}}
        status, session = self.pair.insist(chance, "POST", "/v1/sessions", body, {"Idempotency-Key": key})
        assert status in (200, 201), (status, session)
        with self.lock:
            self.sessions[session["id"]] = kind
            self.created[session["id"]] = time.time()
        return session["id"]

    def some_session(self, chance):
        return chance.choice(list(self.sessions)[:10])

    def line(self, session, path="f", **more):
        with self.lock:
            self.count += 1
            line = {"kind": "download", "resume": True, "request": {"url": f"{self.origin.url}/{path}/{self.count}"}} | more
        if self.sessions[session] == "default":
            line["completion"] = {"webhook": {"url": self.receiver.url, "secret": "whsec_" + self.secret}}
        return line

    def accept(self, task, line, mayEnd=()):
        with self.lock:
            url = line["request"]["url"]
            assert self.accepted.setdefault(task["id"], url) == url, "two tasks have the same id"
            self.mayEnd[task["id"]] = mayEnd
            self.messages.add(task["id"])

    def keyed(self, chance, path, body, headers=()):
        """Sends a request with an Idempotency-Key, and sometimes repeats it. Both replies must be equal, whichever service
        answers."""
        headers = {"Idempotency-Key": uuid.uuid4().hex, **dict(headers)}
        answer = self.pair.insist(chance, "POST", path, body, headers)
        if chance.random() < 0.2:
            again = self.pair.insist(chance, "POST", path, body, headers)
            assert again == answer, ("two requests with the same Idempotency-Key got different replies", answer, again)
        return answer

    def create(self, chance):
        session = self.some_session(chance)
        line = self.line(session)
        path = f"/v1/sessions/{session}/tasks"
        # Without a key, the result of a request without a reply is unknown.
        answer = self.keyed(chance, path, line) if chance.random() < 0.5 else self.pair.call(self.pair.pick(chance), "POST", path, line)
        if answer:
            assert answer[0] == 201, answer
            self.accept(answer[1], line)

    def batch(self, chance):
        session = self.some_session(chance)
        lines = [self.line(session) for _ in range(chance.randrange(1, 40))]
        body, path = "".join(json.dumps(line) + "\n" for line in lines), f"/v1/sessions/{session}/tasks"
        headers = {"Content-Type": "application/x-ndjson"}
        answer = (self.keyed(chance, path, body, headers) if chance.random() < 0.7
                  else self.pair.call(self.pair.pick(chance), "POST", path, body, headers))
        if answer:
            began = time.time()
            assert answer[0] == 200, answer
            replies = [json.loads(text) for text in answer[1].splitlines()] if isinstance(answer[1], bytes) else [answer[1]]
            assert len(replies) == len(lines), answer
            for line, reply in zip(lines, replies):
                if reply.get("status") == UNKNOWN:
                    self.pair.note(began, 0, f"a line of a batch: {reply}")
                else:
                    assert "id" in reply, reply
                    self.accept(reply, line)
        time.sleep(chance.uniform(0.05, 0.2))

    def cancel(self, chance):
        session = self.some_session(chance)
        line = self.line(session, "slow")
        status, task = self.keyed(chance, f"/v1/sessions/{session}/tasks", line)
        assert status == 201, task
        self.accept(task, line, (CANCELLED,))
        for verb in chance.choice([["cancel"], ["suspend", "resume", "cancel"], ["suspend", "cancel"]]):
            time.sleep(chance.uniform(0, 0.2))
            status, reply = self.pair.insist(chance, "POST", f"/v1/tasks/{task['id']}/{verb}")
            assert status == 200 or status == 409 and verb != "cancel", (verb, status, reply)

    def upload(self, chance):
        content = chance.randbytes(chance.randrange(1, 200_000))
        answer = self.pair.call(self.pair.pick(chance), "POST", "/v1/files", content, {"Content-Type": "text/plain"})
        session = self.some_session(chance)
        if not answer:
            return
        status, file = answer
        assert status == 201 and file["sha256"] == hashlib.sha256(content).hexdigest(), answer
        status, found = self.pair.insist(chance, "GET", f"/v1/files/{file['id']}")
        assert status == 200 and found == content, (status, len(found), len(content))
        line = self.line(session, "put", kind="upload")
        line["request"] |= {"method": "PUT", "body": {"file": file["id"]}}
        status, task = self.keyed(chance, f"/v1/sessions/{session}/tasks", line)
        assert status == 201, task
        self.accept(task, line)
        time.sleep(chance.uniform(0, 0.1))

    def end_session(self, chance):
        """Invalidates a session with some tasks, waits for its end, and deletes it."""
        session = self.session(chance)
        lines = [self.line(session, chance.choice(["f", "brisk"])) for _ in range(3)]
        tasks = []
        for line in lines:
            status, task = self.keyed(chance, f"/v1/sessions/{session}/tasks", line)
            assert status == 201, task
            tasks.append(task["id"])
        with self.lock:
            # The tasks end with their session and are not read later, but their messages must arrive.
            self.messages.update(tasks)
        status, reply = self.pair.insist(
            chance, "POST", f"/v1/sessions/{session}/invalidate", {"mode": chance.choice(["finishTasks", "cancelTasks"])})
        assert status == 202, (status, reply)
        deadline = time.time() + 60
        while True:
            status, reply = self.pair.insist(chance, "GET", f"/v1/sessions/{session}")
            assert status == 200, (status, reply)
            if reply["state"] == "invalid":
                break
            assert time.time() < deadline, f"a session did not end: {reply}"
            time.sleep(0.05)
        for task in tasks:
            status, reply = self.pair.insist(chance, "GET", f"/v1/tasks/{task}")
            assert status == 200 and reply["state"] == "completed", (status, reply)
        missing = set(tasks)
        while missing and not self.isOver:
            with self.receiver.lock:
                missing = missing - self.receiver.ids.keys()
            assert time.time() < deadline + 60, f"no message of {missing}"
            time.sleep(0.05)
        if missing or chance.random() < 0.3:
            return
        with self.lock:
            self.deleted[session] = time.time()
        status, reply = self.pair.insist(chance, "DELETE", f"/v1/sessions/{session}")
        # The first request may have deleted the session before its service ended.
        assert status in (204, 404), (status, reply)
        for number in range(2):
            answer = self.pair.call(number, "GET", f"/v1/sessions/{session}")
            assert not answer or answer[0] == 404, answer

    # Reads

    def read(self, chance):
        if not self.accepted:
            return
        for task in chance.sample(list(self.accepted), min(5, len(self.accepted))):
            status, found = self.pair.insist(chance, "GET", f"/v1/tasks/{task}")
            assert status == 200 and found["id"] == task, (status, found)
            if found["state"] == "completed":
                status, again = self.pair.insist(chance, "GET", f"/v1/tasks/{task}")
                assert again == found, ("an ended task changed between two reads", found, again)

    def pages(self, chance, path):
        items, cursor = [], ""
        while cursor is not None:
            status, page = self.pair.insist(chance, "GET", f"{path}?limit=100" + (cursor and f"&cursor={cursor}"))
            assert status == 200, (status, page)
            items += page["items"]
            cursor = page.get("nextCursor")
        return items

    def list(self, chance):
        began = time.time()
        with self.lock:
            known = set(self.sessions)
        found = [session["id"] for session in self.pages(chance, "/v1/sessions")]
        assert len(set(found)) == len(found), "a session is listed twice"
        with self.lock:
            missing = known - set(found) - self.deleted.keys()
        assert not missing, f"{len(missing)} of {len(known)} sessions are in no list, such as {min(missing)}, after {time.time() - began} s"
        time.sleep(chance.uniform(0, 0.1))

    def stream(self, number, session):
        """Reads a stream to its end. After each interruption it continues at one of the services."""
        chance = random.Random(f"{self.seed}-stream-{number}")
        path = f"/v1/sessions/{session}/events" if session else "/v1/events"
        ids = []
        with self.lock:
            self.streams.append((session, ids))
        last, event = 0, None
        while not self.isOver:
            with self.pair.lock:
                ferry = self.pair.ferries[self.pair.pick(chance)]
            until = time.time() + chance.uniform(0.5, 5)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", ferry.port, timeout=2)
                connection.request("GET", path + "?progress=false&after=0", headers={"Last-Event-ID": str(last)})
                reply = connection.getresponse()
                if reply.status != UNKNOWN:
                    assert reply.status == 200, (path, reply.status)
                    while time.time() < until and not self.isOver and (text := reply.readline()):
                        # A line that was cut has no line end.
                        if text.startswith(b"id:") and text.endswith(b"\n"):
                            event = int(text[3:])
                        elif text == b"\n" and event is not None:
                            assert event > last, f"{path} sent event {event} after {last}"
                            ids.append(event)
                            last, event = event, None
                        elif text.startswith(b"event:"):
                            assert b"didReset" not in text, f"{path} was reset, so events were lost"
                connection.close()
            event = None
            time.sleep(0.01)


def replay(ferry, path, until):
    """Returns all events of a stream up to the end of a task: (id, type, session, task)."""
    found = []
    connection = http.client.HTTPConnection("127.0.0.1", ferry.port, timeout=60)
    connection.request("GET", path + "?progress=false&after=0")
    reply = connection.getresponse()
    assert reply.status == 200
    number = kind = data = None
    while text := reply.readline():
        if text.startswith(b"id:"):
            number = int(text[3:])
        elif text.startswith(b"event:"):
            kind = text[6:].strip().decode()
        elif text.startswith(b"data:"):
            data = json.loads(text[5:])
        elif text == b"\n" and number is not None:
            found.append((number, kind, data["sessionId"], data.get("taskId")))
            if kind == "task.didComplete" and data.get("taskId") == until:
                connection.close()
                return found
            number = None
    raise AssertionError(f"{path} ends")
