"""Runs an image as a service of a compose file, and tests it."""
import hashlib, http.server, json, os, signal, threading, time, urllib.request

import yaml

from podman import check, limits

TOKEN = "a-token-from-a-file"
BODY = bytes(index * 7 % 251 for index in range(300_000))


class Origin(http.server.BaseHTTPRequestHandler):
    """An origin that sends /file at once. Of /slow it sends the first half, and the rest after the gate opens."""
    gate, begun = threading.Event(), threading.Event()
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        first = int((self.headers.get("Range") or "bytes=0-")[len("bytes="):].split("-")[0])
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(BODY) - first))
        self.send_header("ETag", '"one"')
        self.send_header("Accept-Ranges", "bytes")
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(BODY) - 1}/{len(BODY)}")
        self.end_headers()
        half = max(first, len(BODY) // 2)
        self.wfile.write(BODY[first:half])
        if self.path == "/slow":
            self.begun.set()
            self.gate.wait()
        self.wfile.write(BODY[half:])

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *words):
        pass


def until(what, ask, seconds=30):
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: after {seconds} s this is still not true: {what}")
        time.sleep(0.1)


class Service:
    """A service of a compose file. Each start is a new container with the same volumes."""

    def __init__(self, podman, image, settings, secrets):
        """- secrets: Paths of files, by name."""
        self.podman, self.image = podman, image
        self.environment = settings["environment"]
        self.grace = int(settings["stop_grace_period"].removesuffix("s"))
        self.words = [word for key, value in settings.items() for word in self.option(key, value, secrets)]

    @staticmethod
    def option(key, value, secrets):
        match key:
            # Settings of the build, of a daemon, or of `start`.
            case "build" | "image" | "restart" | "environment" | "stop_grace_period" | "logging": return []
            # Docker mounts no temporary folders in a read-only root.
            case "read_only": return ["--read-only", "--read-only-tmpfs=false"]
            case "cap_drop": return [f"--cap-drop={one}" for one in value]
            case "security_opt": return [f"--security-opt={one.removesuffix(':true')}" for one in value]
            # The port is free, whatever else this machine serves.
            case "ports": return [f"--publish={address}::{port}" for address, _, port in (one.split(":") for one in value)]
            case "volumes": return [f"--volume={one}" for one in value]
            case "secrets": return [f"--volume={secrets[one]}:/run/secrets/{one}:ro" for one in value]
            case "mem_limit": return [f"--memory={value}"]
            case "pids_limit": return [f"--pids-limit={value}"]
            case "ulimits": return limits(value)
            case _: raise SystemExit(f"compose: {key} is not known here")

    def start(self, **changes):
        """- changes: Changed values of the environment. None removes a value."""
        environment = {key: value for key, value in {**self.environment, **changes}.items() if value is not None}
        self.name = self.podman.call("run", "--detach", *self.words, *[f"--env={key}={value}" for key, value in environment.items()],
                                     self.image)
        return self

    @property
    def state(self):
        return self.podman.inspect(self.name)["State"]

    def ended(self):
        """Waits for the end. Returns the exit code and the output."""
        code = int(self.podman.call("wait", self.name))
        said = self.podman.ask("logs", self.name)
        return code, said.stdout + said.stderr

    def is_healthy(self):
        if self.state["Status"] != "running":
            raise SystemExit(f"FAILED: the container has ended: {self.ended()}")
        return self.podman.ask("healthcheck", "run", self.name).returncode == 0

    def processes(self):
        """Returns (pid on this machine, state, command line) of every process in the container."""
        found, space = [], os.readlink(f"/proc/{self.state['Pid']}/ns/pid")
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/pid") == space:
                    state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
                    found.append((int(pid), state, open(f"/proc/{pid}/cmdline").read().replace("\0", " ").strip()))
            except OSError:
                continue
        return found

    def workers(self):
        return [pid for pid, state, command in self.processes() if state != "Z" and "ferry worker" in command]

    def stop(self):
        """Stops the container. Returns the exit code and the duration."""
        began = time.monotonic()
        self.podman.call("stop", "--time", str(self.grace), self.name)
        return self.state["ExitCode"], time.monotonic() - began

    def call(self, method, path, document=None, token=TOKEN, **headers):
        address = self.podman.call("port", self.name).rpartition(" ")[2]
        data = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(f"http://{address}{path}", data, method=method, headers={
            "Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers})
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.read()


def try_out(podman, compose, image):
    document = yaml.safe_load(open(compose))
    folder = os.path.dirname(podman.log)
    user = int(podman.inspect(image)["Config"]["User"].split(":")[0])
    secrets = {}
    for name in document["secrets"]:
        secrets[name] = f"{folder}/{name}"
        with open(secrets[name], "w") as file:
            file.write(TOKEN + "\n")
        os.chmod(file.name, 0o400)
        os.chown(file.name, user, user)
    gateway = json.loads(podman.call("network", "inspect", "podman"))[0]["subnets"][0]["gateway"]
    origin = http.server.ThreadingHTTPServer(("0.0.0.0", 0), Origin)
    origin.daemon_threads = True
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    settings, = document["services"].values()
    settings["environment"]["FERRY_ALLOW_NETWORK"] = f"{gateway}/32"
    service = Service(podman, image, settings, secrets)
    try:
        go_through(service, f"http://{gateway}:{origin.server_port}")
    except BaseException:
        print("".join(service.podman.ask("logs", "--tail", "30", service.name).stderr))
        raise


def check_confinement(service, user):
    pid = service.state["Pid"]
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)
    is_confined = (status["Uid"].split() == [user] * 4 and status["NSpid"].split()[-1] == "1" and status["NoNewPrivs"] == "1"
                   and int(status["CapEff"], 16) == 0 and int(status["CapBnd"], 16) == 0)
    check(is_confined, f"user {user} without capabilities, as PID 1")
    for folder in ("/tmp", "/run", "/etc"):
        refused = service.podman.ask("exec", service.name, "touch", f"{folder}/file")
        check("Read-only file system" in refused.stderr, f"{folder} cannot be written to")


def go_through(service, place):
    podman = service.podman
    asked = podman.ask("run", "--rm", *limits({}), "--entrypoint", '["ferry"]', service.image, "health")
    check(asked.returncode == 1, "the health check fails without a service")
    code, said = service.start(FERRY_TOKEN_FILE=None).ended()
    check(code not in (0, 137) and "token" in said, f"without tokens the service refuses to start: exit code {code}")

    service.start()
    until("the health check succeeds", service.is_healthy)
    check(True, "the health check succeeds with a token from a file")
    check_confinement(service, podman.inspect(service.image)["Config"]["User"].split(":")[0])
    task = json.loads(service.call("POST", "/v1/tasks", {"kind": "download", "resume": True, "request": {"url": f"{place}/file"}},
                                   Prefer="wait=20"))
    body = service.call("GET", f"/v1/tasks/{task['id']}/body")
    check(hashlib.sha256(body).digest() == hashlib.sha256(BODY).digest(), f"a download of {len(body)} bytes")

    session = json.loads(service.call("POST", "/v1/sessions", {
        "type": "background", "identifier": "image", "delegate": {"webhook": {"url": f"{place}/hook", "events": ["task.didComplete"]}}}))
    slow = json.loads(service.call("POST", f"/v1/sessions/{session['id']}/tasks", {
        "kind": "download", "resume": True, "request": {"url": f"{place}/slow"}}))
    until("the worker has the first half of the bytes", Origin.begun.is_set)
    worker, = service.workers()
    Origin.begun.clear()
    os.kill(worker, signal.SIGKILL)
    until("a new worker has started", lambda: service.workers() and service.workers() != [worker])
    until("the dead worker is reaped", lambda: worker not in [pid for pid, _, _ in service.processes()])
    check(not [one for one in service.processes() if one[1] == "Z"], "a dead worker is reaped and replaced")
    until("the new worker has requested the rest", Origin.begun.is_set)

    everything = [pid for pid, _, _ in service.processes()]
    volume = podman.inspect(service.name)["Mounts"]
    data = next(one["Source"] for one in volume if one["Type"] == "volume")
    code, seconds = service.stop()
    check("its progress is stored" in open(f"{data}/worker.log").read(), "a stop lets the worker store its progress")
    check(code == 0, f"PID 1 ends with exit code 0, after {seconds:.1f} s")
    check(not [pid for pid in everything if os.path.exists(f"/proc/{pid}")], f"of its {len(everything)} processes none is left")

    token = "a-token-from-the-environment"
    service.start(FERRY_TOKEN_FILE=None, FERRY_TOKENS=token)
    until("the health check succeeds", service.is_healthy)
    Origin.gate.set()
    until("the background task has ended",
          lambda: json.loads(service.call("GET", f"/v1/tasks/{slow['id']}", token=token))["state"] == "completed")
    body = service.call("GET", f"/v1/tasks/{slow['id']}/body", token=token)
    check(hashlib.sha256(body).digest() == hashlib.sha256(BODY).digest(), "the next container finishes the background task")
    code, _ = service.stop()
    check(code == 0, "the container ends with exit code 0")
