#!/usr/bin/env python3
"""Attacks Ferry, built with AddressSanitizer, with hostile origins, proxies, webhook endpoints and clients.

The service and its worker must survive, and be idle at the end. Every task must end. No request may be answered with 500. A seed
determines the bytes that are sent, but not the order of their arrival. A failure prints the last bytes.
usage: fuzz.py [seconds] [seed]    120 seconds and a random seed by default; BINARY names another binary"""
import json, os, random, re, sys, threading, time, urllib.request
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Benchmarks/library"))
os.environ.setdefault("BINARY", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.build/asan/debug/ferry"))
from harness import Ferry, scratch, thread_seconds
from hostile_client import exchange, request
from hostile_origin import HostileOrigin
from lying_origin import BODIES, LyingOrigin

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 120
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
BATCH, ENDS_WITHIN, IDLE_WITHIN, IDLE_SHARE, LANES = 40, 60, 30, 0.3, 3
BACKGROUND = 4  # the number of the background session
os.environ["ASAN_OPTIONS"] = "detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:disable_coredump=1"


class Broken(Exception):
    pass


class Fuzz:
    def __init__(self, directory):
        self.origin = HostileOrigin(SEED)
        self.liar = LyingOrigin(SEED)
        self.ferry = Ferry(f"{directory}/data", "--log-level", "error", "--maximum-body-size", str(1 << 26))
        self.log = f"{directory}/data.log"
        self.lock, self.last, self.faults = threading.Lock(), [], []
        self.first_worker = None
        self.counts = {"tasks": 0, "requests": 0}
        self.end = time.monotonic() + SECONDS
        self.ids = ("ses_shared", "tsk_01a2025d-a7ba-7e3d-8aef-3bf719410ae4")

    def sessions(self):
        common = {"timeoutIntervalForRequest": 3, "timeoutIntervalForResource": 20, "httpMaximumConnectionsPerHost": 4}
        asking = {"redirects": "ask", "responses": "ask", "caching": "ask", "taskChallenges": "ask", "sessionChallenges": "ask", "decisionTimeout": 1}
        proxies = {"proxies": {"http": self.origin.url, "https": self.origin.url}}
        kinds = [{"configuration": common}, {"configuration": common, "delegate": asking}, {"type": "ephemeral", "configuration": common},
                 {"configuration": {**common, **proxies}},
                 {"type": "background", "identifier": "fuzz", "configuration": {**common, "retry": {"maximumAttempts": 2, "backoff": 1}},
                  "delegate": {"webhook": {"url": self.origin.url + "/hook"}}},
                 {"configuration": {**common, "proxies": {"socks5": self.origin.url.replace("http", "socks5")}}},
                 {"configuration": common, "delegate": {**asking, "webhook": {"url": self.origin.url + "/question", "answers": True}}}]
        made = []
        for kind in kinds:
            status, session = self.ferry.call("POST", "/v1/sessions", kind)
            if status not in (200, 201):
                raise Broken(f"no session: {session}")
            made.append(session["id"])
        status, self.file = self.ferry.call("POST", "/v1/files", b"f" * 200_000, {"Content-Type": "text/plain"})
        if status != 201:
            raise Broken(f"no file: {self.file}")
        self.ids = (made[0], self.ids[1])
        return made

    def run_tasks(self, session, kind, number):
        """Runs a batch of tasks at the hostile origin, and waits for their ends."""
        r = random.Random(f"{SEED} {kind} {number}")
        lines = []
        for index in range(BATCH):
            scheme, host = "http", "127.0.0.1"
            if kind == 3 and r.random() < 0.3:  # through a tunnel, each task to its own address
                scheme, host = "https", f"127.{number % 256}.{number // 256 % 256}.{index + 1}"
            task = {"kind": r.choice(["data", "download", "download", "upload"]), "resume": True,
                    "request": {"url": f"{scheme}://{host}:{self.origin.port}/{kind}/{number}/{index // r.choice((1, 1, 2))}"}}
            if task["kind"] == "upload":
                task["request"]["body"] = {"text": "x" * r.choice((1, 5000))} if kind != BACKGROUND and r.random() < 0.5 else {"file": self.file["id"]}
                task["request"]["method"] = r.choice(["POST", "PUT"])
            if r.random() < 0.1 and kind != BACKGROUND:
                task["completion"] = {"webhook": {"url": f"{self.origin.url}/completion/{number}/{index}"}}
            if kind == 1 and r.random() < 0.3:
                task["request"]["headers"] = {"Range": "bytes=0-99"}
            lines.append(json.dumps(task))
        status, reply = self.ferry.call("POST", f"/v1/sessions/{session}/tasks", "\n".join(lines), {"Content-Type": "application/x-ndjson"})
        if status != 200:
            raise Broken(f"a batch got status {status}: {reply[:300]}")
        tasks = [json.loads(line)["id"] for line in reply.splitlines()]
        self.ids = (self.ids[0], tasks[0])
        deadline = time.monotonic() + ENDS_WITHIN
        for task in tasks:
            while True:
                status, shown = self.ferry.call("GET", f"/v1/tasks/{task}")
                if status != 200:
                    raise Broken(f"GET of a task got status {status}: {shown}")
                if shown["state"] == "completed":
                    break
                if time.monotonic() > deadline:
                    raise Broken(f"a task did not end: {json.dumps(shown)[:2000]}")
                time.sleep(0.01)
            # A stored body can also be read.
            status, _ = self.ferry.call("GET", f"/v1/tasks/{task}/body")
            if status >= 500:
                raise Broken(f"GET of a body got status {status}: {task}")
        with self.lock:
            self.counts["tasks"] += len(tasks)
            if kind == BACKGROUND:
                self.first_worker = self.first_worker or self.worker()

    def drive_tasks(self, sessions, lane):
        number = lane
        while time.monotonic() < self.end and not self.faults:
            kind = number % len(sessions)
            self.run_tasks(sessions[kind], kind, number)
            number += LANES

    def drive_downloads(self):
        """Resumes interrupted downloads at an origin that lies about ranges. A download that succeeds has the bytes of one version."""
        while time.monotonic() < self.end and not self.faults:
            task = {"kind": "download", "resume": True, "request": {"url": self.liar.url + "/"}}
            for _ in range(8):
                status, shown = self.ferry.call("POST", "/v1/tasks", task, {"Prefer": "wait=20"})
                if status != 200:
                    raise Broken(f"a download got status {status}: {shown}")
                with self.lock:
                    self.counts["tasks"] += 1
                if not shown["error"]:
                    self.check_body(shown)
                    break
                if not shown["error"]["resumeDataAvailable"]:
                    break
                status, data = self.ferry.call("GET", f"/v1/tasks/{shown['id']}/resume-data")
                if status != 200:
                    raise Broken(f"resume data got status {status}: {data}")
                task = {"kind": "download", "resume": True, "resumeData": data["resumeData"]}

    def check_body(self, shown):
        if shown["response"]["status"] not in (200, 206):
            return
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ferry.port}/v1/tasks/{shown['id']}/body") as reply:
            body = reply.read()
        # Without a `Content-Length`, the body's end may be a lie.
        if not any(version.startswith(body) for version in BODIES.values()):
            raise Broken(f"a body of {len(body)} bytes belongs to no version: {body!r}\n{json.dumps(shown)}")

    def drive_clients(self, lane):
        number = 0
        while time.monotonic() < self.end and not self.faults:
            r = random.Random(f"{SEED} client {lane} {number}")
            text, is_whole = request(r, self.origin.url, self.ids, self.ferry.port)
            with self.lock:
                self.last.append(text)
                del self.last[:-32]
                self.counts["requests"] += 1
            answer = exchange(r, self.ferry.port, text)
            if answer and re.match(rb"HTTP/1.1 50[0-2]", answer):
                raise Broken(f"answered {answer[:600]!r}\nto {text[:3000]!r}")
            if answer == b"" and is_whole and self.ferry.process.poll() is None:
                raise Broken(f"closed without an answer to {text[:3000]!r}")
            if self.ferry.process.poll() is not None:
                raise Broken("the service has ended")
            number += 1

    def guarded(self, work, *arguments):
        try:
            work(*arguments)
        except BaseException as fault:
            self.faults.append(fault)

    def run(self):
        self.guarded(self.drive)
        if not self.faults:
            self.guarded(self.check_end)
        return self.report()

    def drive(self):
        sessions = self.sessions()
        threads = [threading.Thread(target=self.guarded, args=(self.drive_tasks, sessions, lane)) for lane in range(LANES)]
        threads += [threading.Thread(target=self.guarded, args=(self.drive_clients, lane)) for lane in range(LANES)]
        threads.append(threading.Thread(target=self.guarded, args=(self.drive_downloads,)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def check_end(self):
        if self.ferry.process.poll() is not None:
            raise Broken("the service has ended")
        status, _ = self.ferry.call("GET", "/readyz")
        if status != 200:
            raise Broken(f"/readyz is {status}")
        worker = self.worker()
        if self.first_worker not in (None, worker):
            raise Broken("the worker has ended, and a new one has started")
        for name, pid in (("service", self.ferry.pid), ("worker", worker)):
            self.check_idle(name, pid)

    def check_idle(self, name, pid):
        """Waits until the process is idle. Refused messages are sent again with growing pauses. A busy loop never becomes idle."""
        end = time.monotonic() + IDLE_WITHIN
        while True:
            threads, start = thread_seconds(pid), time.monotonic()
            time.sleep(3)
            elapsed = time.monotonic() - start
            shares = {thread: (seconds - threads.get(thread, 0)) / elapsed for thread, seconds in thread_seconds(pid).items()}
            if sum(shares.values()) <= IDLE_SHARE:
                return
            if time.monotonic() > end:
                raise Broken(f"the idle {name} takes {sum(shares.values()):.2f} of a core: {shares}")

    def worker(self):
        with reading(os.path.join(self.ferry.directory, "worker.lock")) as f:
            return json.load(f)["pid"]

    def report(self):
        self.origin.close()
        self.liar.close()
        sanitizer = ""
        with reading(self.log) as f:
            text = f.read()
            if (at := text.find("ERROR: AddressSanitizer")) >= 0:
                sanitizer = text[max(0, at - 200):at + 6000]
            elif "Fatal error" in text or "Crash:" in text:
                sanitizer = text[-6000:]
        worker = os.path.join(self.ferry.directory, "worker.log")
        if os.path.exists(worker):
            with reading(worker) as f:
                text = f.read()
                if "AddressSanitizer" in text or "Fatal error" in text:
                    sanitizer += "\nworker:\n" + text[-6000:]
        if self.ferry.process.poll() is None:
            self.ferry.stop()
        print(f"seed {SEED}: {self.counts['tasks']} tasks with hostile answers, {self.counts['requests']} hostile requests")
        if not self.faults and not sanitizer:
            return True
        for fault in self.faults:
            print(f"BROKEN: {type(fault).__name__}: {fault}")
        print(sanitizer)
        print("the last answers of the origin:")
        for path, text in self.origin.sent[-8:]:
            print(f"  {path}: {text[:1500]!r}")
        print("the last requests of clients:")
        for text in self.last[-8:]:
            print(f"  {text[:1500]!r}")
        return False


def reading(path):
    return open(path, errors="replace")


with scratch() as directory:
    sys.exit(0 if Fuzz(directory).run() else 1)
