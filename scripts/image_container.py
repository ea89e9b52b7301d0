"""Runs an image's root as a container engine would: PID 1 of its own, without privileges, with a root that cannot be written to."""
import ctypes, fcntl, hashlib, http.server, json, os, shutil, signal, socket, struct, subprocess, threading, time, urllib.request

import image_roots

A_NETWORK_OF_ITS_OWN = 0x40000000
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
SECRETS = "/run/secrets"
BODY = bytes(index * 7 % 251 for index in range(300_000))


class Origin(http.server.BaseHTTPRequestHandler):
    """/file at once; /slow its first half, and the rest once the gate is open."""
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


class Container:
    started = []

    def __init__(self, image, root, log, **environment):
        self.image, self.log = image, log
        self.environment = {"PATH": image_roots.PATH, "HOME": "/", **image.environment, **environment}
        user, group = image.user.split(":")
        self.bounds = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs", "--inh-caps=-all",
                       "--bounding-set=-all"]
        with open(log, "ab") as file:
            self.process = subprocess.Popen(
                ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--ipc", "--uts", "--root", root,
                 "--wd", image.directory, *self.bounds, *image.entrypoint, *image.command],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.started.append(self.process)

    def first(self):
        """PID 1, as this machine counts."""
        def ask():
            if self.process.poll() is not None:
                raise SystemExit(f"FAILED: the container has ended, with exit code {self.process.returncode}")
            children = open(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read().split()
            return int(children[0]) if children else None
        return until("there is a PID 1", ask)

    def processes(self):
        """(pid here, state, command line) of all that is in it."""
        first, found = self.first(), []
        space = os.readlink(f"/proc/{first}/ns/pid")
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

    def run(self, command):
        """A second process in it, as a health check or `exec` is."""
        return subprocess.run(["nsenter", "--target", str(self.first()), "--mount", "--pid", "--ipc", "--uts", "--root", "--wd",
                               *self.bounds, *command], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def health(self):
        return self.run(self.image.health).returncode

    def stop(self):
        """The exit code, and how long it took."""
        began = time.monotonic()
        os.kill(self.first(), signal.Signals[self.image.stop_signal])
        return self.process.wait(timeout=30), time.monotonic() - began


def until(what, ask, seconds=30):
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: after {seconds} s it is still not so that {what}")
        time.sleep(0.05)


def call(method, path, token, document=None, **headers):
    data = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(f"http://127.0.0.1:8080{path}", data, method=method, headers={
        "Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return reply.read()


def network():
    """One with loopback alone: the image listens on its own port, whatever else this machine serves."""
    if ctypes.CDLL(None, use_errno=True).unshare(A_NETWORK_OF_ITS_OWN) != 0:
        raise SystemExit("there is no network of its own to be had")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, SET_FLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))


def close_root(image, root, volume):
    """From here on nothing but the volumes can be written to. A new volume has what the image has in its place, as engines do it."""
    image_roots.mount(root, root, "--rbind")
    user, group = map(int, image.user.split(":"))
    shutil.rmtree(volume, ignore_errors=True)
    os.makedirs(root + SECRETS, exist_ok=True)
    for place in image.volumes:
        subprocess.run(["cp", "-a", root + place, volume], check=True)
    image_roots.mount(None, root, "-o", "remount,bind,ro")
    for place in image.volumes:
        image_roots.mount(volume, root + place, "--bind")
    image_roots.mount("tmpfs", root + SECRETS, "-t", "tmpfs", "-o", "mode=755")
    with open(f"{root}{SECRETS}/ferry-tokens", "w") as file:
        file.write("a-token-from-a-file\n")
    os.chmod(file.name, 0o400)
    os.chown(file.name, user, group)


def try_out(image, root, volume, check):
    network()
    close_root(image, root, volume)
    log = f"{volume}.log"
    open(log, "w").close()
    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    origin.daemon_threads = True
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{origin.server_port}"
    try:
        go_through(image, root, log, place, check)
    except BaseException:
        print("".join(open(log, errors="replace").readlines()[-30:]))
        raise
    finally:
        for process in Container.started:
            process.kill()


def go_through(image, root, log, place, check):
    environment = {"PATH": image_roots.PATH, **image.environment}
    asked = subprocess.run(["chroot", f"--userspec={image.user}", root, *image.health], env=environment,
                           capture_output=True)
    check(asked.returncode == 1, f"HEALTHCHECK {image.health} fails without a service")
    opened = {"FERRY_ALLOW_NETWORK": "127.0.0.0/8"}
    code = Container(image, root, log, **opened).process.wait(timeout=30)
    check(code not in (0, 137) and "token" in open(log).read(), f"without tokens it does not serve the network: exit code {code}")

    token = "a-token-from-a-file"
    container = Container(image, root, log, FERRY_TOKEN_FILE=f"{SECRETS}/ferry-tokens", **opened)
    until("the health check is content", lambda: container.health() == 0)
    check(True, "it is content with one")
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{container.first()}/status").read().splitlines() if ":\t" in line)
    check(status["Uid"].split() == [image.user.split(":")[0]] * 4 and status["NSpid"].split()[-1] == "1"
          and int(status["CapEff"], 16) == 0 and int(status["CapBnd"], 16) == 0, f"user {image.user} without capabilities, as PID 1")
    refused = container.run(["touch", "/tmp/file"])
    check("Read-only file system" in refused.stderr, "the root cannot be written to")

    task = json.loads(call("POST", "/v1/tasks", token, {"kind": "download", "resume": True, "request": {"url": f"{place}/file"}},
                           Prefer="wait=20"))
    body = call("GET", f"/v1/tasks/{task['id']}/body", token)
    check(hashlib.sha256(body).digest() == hashlib.sha256(BODY).digest(), f"a download of {len(body)} bytes")

    session = json.loads(call("POST", "/v1/sessions", token, {
        "type": "background", "identifier": "image", "delegate": {"webhook": {"url": f"{place}/hook", "events": ["task.didComplete"]}}}))
    slow = json.loads(call("POST", f"/v1/sessions/{session['id']}/tasks", token, {
        "kind": "download", "resume": True, "request": {"url": f"{place}/slow"}}))
    until("the worker has the bytes' first half", Origin.begun.is_set)
    worker, = container.workers()
    Origin.begun.clear()
    os.kill(worker, signal.SIGKILL)
    until("another worker is there", lambda: container.workers() and container.workers() != [worker])
    until("the dead worker is reaped", lambda: worker not in [pid for pid, _, _ in container.processes()])
    check(not [one for one in container.processes() if one[1] == "Z"], "a worker that died is reaped, and another is there")
    until("the new worker has asked for the rest", Origin.begun.is_set)

    everything = [pid for pid, _, _ in container.processes()]
    code, seconds = container.stop()
    written = "all that it has done is written down" in open(f"{root}{image.volumes[0]}/worker.log").read()
    check(written, f"after {image.stop_signal} the worker writes down how far it is")
    check(code == 0, f"and PID 1 ends with exit code 0, after {seconds:.1f} s")
    check(not [pid for pid in everything if os.path.exists(f"/proc/{pid}")], f"of its {len(everything)} processes none is left")

    token = "a-token-from-the-environment"
    container = Container(image, root, log, FERRY_TOKENS=token, **opened)
    until("the health check is content", lambda: container.health() == 0)
    Origin.gate.set()
    until("the background task has ended", lambda: json.loads(call("GET", f"/v1/tasks/{slow['id']}", token))["state"] == "completed")
    body = call("GET", f"/v1/tasks/{slow['id']}/body", token)
    check(hashlib.sha256(body).digest() == hashlib.sha256(BODY).digest(), "the next container ends the background task")
    code, _ = container.stop()
    check(code == 0, "and ends with exit code 0")
