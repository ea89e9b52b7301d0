#!/usr/bin/env python3
"""Hundreds of concurrent background downloads and uploads, while everything that they depend on fails.

Each round has one or more faults: kill -9 of the service, of its worker, of both, or of the origin, a full disk, or a clock that
jumps. The origin cuts connections at random places all the time. After the last fault, every task must complete with the right bytes. A
webhook must report every end under one id. No file may be left on the disk.
usage: faults.py [rounds] [--seed=N] [--tasks=N]; needs root, because the data directory is a small file system"""
import hashlib, os, random, re, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
import fault_origin
from harness import *
from receiver import Receiver

FAULTS = ["kill serve", "kill worker", "kill both", "kill origin", "full disk", "clock jump", "upgrade"]
# The relative frequency of each fault.
WEIGHTS = [5, 5, 4, 4, 1, 2, 1]
# After several failures, the next attempt of a task may be five minutes away.
PACE, PATIENCE, DISK = 4000, 400, 900


class Place:
    """A small file system for the data directory, so that it can become full."""

    def __init__(self, directory):
        self.path = f"{directory}/small"
        os.makedirs(self.path)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", self.path], capture_output=True, text=True)
        if mounted.returncode:
            sys.exit("faults.py mounts a small tmpfs, so that it can fill it, and may not do so here "
                     f"(run it as root, with CAP_SYS_ADMIN): {mounted.stderr.strip()}")

    def fill(self):
        with contextlib.suppress(OSError), open(f"{self.path}/ballast", "wb", buffering=0) as f:
            while f.write(bytes(1 << 20)):
                pass

    def empty(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.path}/ballast")

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=False)


class World:
    """The processes that can fail, and the tasks that were created."""

    def __init__(self, directory, chance, seed, target):
        self.directory, self.chance, self.seed, self.target = directory, chance, seed, target
        self.library = preloaded("clock", directory)
        self.place, self.receiver = Place(directory), Receiver()
        self.data, self.record = f"{self.place.path}/data", f"{directory}/uploads"
        self.port, self.origin_port, self.clock = free_port(), free_port(), f"{directory}/clock"
        self.tasks, self.number, self.serve, self.origin, self.session = {}, 0, None, None, None
        self.set_clock(0)

    def set_clock(self, seconds):
        with open(self.clock + ".new", "w") as f:
            f.write(f"{seconds}\n")
        os.replace(self.clock + ".new", self.clock)

    def start_serve(self):
        environment = dict(os.environ, LD_PRELOAD=self.library, CLOCK_OFFSET_FILE=self.clock)
        with open(f"{self.directory}/serve.log", "ab") as log:
            self.serve = subprocess.Popen(
                [FERRY, "serve", "--listen", f"127.0.0.1:{self.port}", "--data-directory", self.data,
                 "--allow-network", "127.0.0.0/8"], stdout=log, stderr=log, env=environment)
        wait_for_port(self.port, 60)

    def start_origin(self):
        pace = str(PACE)
        self.origin = subprocess.Popen(
            [sys.executable, fault_origin.__file__, str(self.origin_port), self.record, str(self.seed), pace])
        wait_for_port(self.origin_port)

    @property
    def worker(self):
        """Returns the pid of the worker with the lock, or None."""
        with contextlib.suppress(OSError, ValueError):
            pid = json.load(open(f"{self.data}/worker.lock"))["pid"]
            if b"worker" in open(f"/proc/{pid}/cmdline", "rb").read():
                return pid
        return None

    def call(self, method, path, body=None, headers=None, seconds=30):
        """Repeats a request under the same key until there is a reply."""
        end = time.monotonic() + seconds
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
                connection.request(method, path, body, headers or {})
                reply = connection.getresponse()
                content = reply.read()
                connection.close()
                if reply.status not in (409, 503, 507):
                    return reply.status, content
                problem = content
            except OSError as error:
                problem = error
            except http.client.HTTPException as error:
                problem = error
            if time.monotonic() > end:
                raise RuntimeError(f"{method} {path}: {problem}")
            time.sleep(0.05)

    def open_session(self):
        """Opens the session, which is found by its identifier from the second time on."""
        status, body = self.call("POST", "/v1/sessions", json.dumps({
            "type": "background", "identifier": "faults", "configuration": {"httpMaximumConnectionsPerHost": 1000},
            "delegate": {"webhook": {"url": self.receiver.url, "events": ["task.didComplete"]}}}),
            {"Content-Type": "application/json"})
        assert status in (200, 201), (status, body)
        session = json.loads(body)["id"]
        assert self.session in (None, session), "the session was not found again"
        self.session = session

    def ended(self):
        with self.receiver.lock:
            return set(self.receiver.ids)

    def replenish(self):
        missing = self.target - len(set(self.tasks) - self.ended())
        lines, specifications = [], []
        for _ in range(min(missing, 100)):
            self.number += 1
            kind = "upload" if self.number % 2 else "download"
            request = {"url": f"http://127.0.0.1:{self.origin_port}/{kind[0]}/{self.number}"}
            if kind == "upload":
                status, body = self.call(
                    "POST", "/v1/files", fault_origin.body(self.number, self.seed),
                    {"Content-Type": "application/octet-stream", "Idempotency-Key": f"file-{self.number}"})
                assert status == 201, (status, body)
                request |= {"method": "PUT", "body": {"file": json.loads(body)["id"]}}
            specifications.append((kind, self.number))
            lines.append(json.dumps({"kind": kind, "resume": True, "request": request}))
        if not lines:
            return
        status, body = self.call(
            "POST", f"/v1/sessions/{self.session}/tasks", "\n".join(lines),
            {"Content-Type": "application/x-ndjson", "Idempotency-Key": f"tasks-{self.number}"})
        assert status == 200, (status, body)
        for specification, line in zip(specifications, body.decode().strip().split("\n")):
            self.tasks[json.loads(line)["id"]] = specification

    # Faults

    def kill_serve(self):
        self.serve.kill()
        self.serve.wait()

    def kill_worker(self):
        if pid := self.worker:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def round(self, fault):
        pause = self.chance.uniform(0.05, 0.6)
        if fault in ("kill serve", "kill both"):
            self.kill_serve()
        if fault in ("kill worker", "kill both"):
            self.kill_worker()
        if fault == "upgrade":
            stop(self.serve)
            if pid := self.worker:
                os.kill(pid, signal.SIGTERM)
        if fault == "kill origin":
            self.origin.kill()
            self.origin.wait()
            time.sleep(pause)
            self.start_origin()
        if fault == "full disk":
            self.place.fill()
            time.sleep(pause)
            self.place.empty()
        if fault == "clock jump":
            self.set_clock(self.chance.randrange(-7200, 7200))
        if self.serve.poll() is not None:
            time.sleep(pause)
            self.start_serve()
            self.open_session()
        time.sleep(pause)

    def close(self):
        for process in (self.serve, self.origin):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        self.kill_worker()
        self.place.close()

    # Checks

    def settle(self):
        """Stops the faults, and waits until every task has ended and its message has arrived."""
        connection = http.client.HTTPConnection("127.0.0.1", self.origin_port)
        connection.request("POST", "/pace/0")
        connection.getresponse().read()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not self.ended() >= set(self.tasks):
            time.sleep(0.2)
        missing = set(self.tasks) - self.ended()
        assert not missing, f"{len(missing)} tasks have no message about their end, such as {self.call('GET', '/v1/tasks/' + min(missing))}"

    def check(self):
        wrong, retries = [], 0
        with open(self.record) as f:
            uploads = {tuple(line.split()) for line in f}
        for id, (kind, number) in self.tasks.items():
            task = json.loads(self.call("GET", f"/v1/tasks/{id}")[1])
            content = fault_origin.body(number, self.seed)
            digest = hashlib.sha256(content).hexdigest()
            retries += task["retryCount"]
            if task["state"] != "completed" or task["error"] or task["response"]["status"] not in (200, 201, 206):
                wrong.append((id, kind, task["state"], task["error"]))
            elif kind == "upload" and (str(number), str(len(content)), digest) not in uploads:
                wrong.append((id, kind, "did not arrive"))
            elif kind == "download" and self.call("GET", f"/v1/tasks/{id}/body")[1] != content:
                wrong.append((id, kind, "other bytes"))
        with self.receiver.lock:
            ids = self.receiver.ids
            several = [id for id in self.tasks if len(set(ids[id])) != 1]
            repeats = sum(len(ids[id]) - 1 for id in self.tasks)
        left = [name for name in os.listdir(f"{self.data}/bodies") if name.endswith((".part", ".resume"))]
        print(f"{len(self.tasks)} tasks, {retries} retries, {repeats} webhooks repeated with the same id")
        assert not wrong, f"{len(wrong)} tasks are wrong, such as {wrong[:3]}"
        assert not several, f"not exactly one webhook id for the end of {several[:3]}"
        assert not left, f"partial files remain: {left[:5]}"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds = int(arguments[0]) if arguments else 200
    option = {name: int(value) for name, value in re.findall(r"--(\w+)=(\d+)", " ".join(sys.argv))}
    seed = option.get("seed", random.randrange(1 << 30))
    print(f"{rounds} rounds, seed {seed}", flush=True)
    chance = random.Random(seed)
    with scratch(True) as directory:
        world = World(directory, chance, seed, option.get("tasks", 500))
        try:
            world.start_origin()
            world.start_serve()
            world.open_session()
            while len(world.tasks) < world.target:
                world.replenish()
            start = time.monotonic()
            for number in range(1, rounds + 1):
                fault = chance.choices(FAULTS, WEIGHTS)[0]
                world.round(fault)
                world.replenish()
                under_way = len(set(world.tasks) - world.ended())
                print(f"{number:4} {time.monotonic() - start:6.1f} s  {fault:12} {under_way} running, "
                      f"{len(world.tasks)} accepted", flush=True)
            world.set_clock(0)
            world.settle()
            world.check()
            print("every task complete, every byte right, every webhook delivered")
        except BaseException:
            for name in (f"{directory}/serve.log", f"{world.data}/worker.log"):
                with contextlib.suppress(OSError):
                    print(f"--- {name}\n" + "".join(open(name).readlines()[-40:]))
            raise
        finally:
            world.close()


if __name__ == "__main__":
    main()
