#!/usr/bin/env python3
"""Installs the Debian package in a minimal system: Debian 12 with systemd as its first process, in its own namespaces.

usage: package-test.py [--keep]

First, the test follows README.md in a system without systemd. Then it installs, downloads, upgrades the running service during a background task, removes, and purges. Nothing may remain. The root
is packed under .build for the next run. Needs root.
"""
import ctypes, glob, http.client, http.server, json, os, re, shutil, signal, subprocess, sys, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_roots as roots  # noqa: E402

PLACE = os.path.abspath(".build/package-test")
ROOT = PLACE + "/root-debian"
SYSTEM = "systemd systemd-sysv dbus"
NETWORK = 0x40000000
SIZE = 3_000_000
BODY = bytes(range(256)) * (SIZE // 256 + 1)
PATIENCE = 60
# Paths that a package manager and a running system change.
UNCOUNTED = ("/dev", "/proc", "/run", "/sys", "/tmp", "/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/lib/systemd", "/var/log",
             "/root", "/etc/ld.so.cache", "/etc/machine-id", "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-",
             "/etc/systemd/system/multi-user.target.wants", "/etc/.pwd.lock", "/etc/.updated", "/var/.updated", "/var/tmp", "/etc/resolv.conf",
             "/etc/udev/hwdb.bin", "/var/lib/dbus/machine-id", "/etc/mtab", "/etc/hostname")
BOOT = """
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount -t sysfs -o ro sys "$0/sys"
mount -t tmpfs -o mode=755 dev "$0/dev"
for device in null zero full random urandom tty; do touch "$0/dev/$device"; mount --bind "/dev/$device" "$0/dev/$device"; done
mkdir "$0/dev/pts" "$0/dev/shm"
mount -t tmpfs shm "$0/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
ln -s pts/ptmx "$0/dev/ptmx"
ln -s /proc/self/fd "$0/dev/fd"
mount -t tmpfs -o mode=755 run "$0/run"
mount -t tmpfs -o mode=1777 tmp "$0/tmp"
mount -t tmpfs -o mode=755 cgroup "$0/sys/fs/cgroup"
mount -t cgroup2 cgroup "$0/sys/fs/cgroup"
ip link set lo up
# chroot does not work here: a process inside one cannot create a user namespace (PrivateUsers=).
cd "$0"
pivot_root . .
umount -l .
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --show-status=false
"""


def say(text):
    print(text, flush=True)


def fail(text):
    raise SystemExit("package test: " + text)


def make_root(package):
    """Makes a Debian with systemd and the package's dependencies, but without the package."""
    root = roots.make_root(PLACE, "debian", "bookworm", SYSTEM.split())
    roots.install(root, roots.output("dpkg-deb", "-f", package, "Depends"), verb="satisfy")
    roots.try_tarball(root)
    for mounted in ("proc", "dev"):
        subprocess.run(["umount", "-R", f"{root}/{mounted}"], check=True)
    os.unlink(root + "/etc/resolv.conf")


def follow_readme(package):
    """Follows README.md in a Debian that has nothing but its base system, without systemd: installs the package, and runs every block."""
    root = roots.make_root(PLACE, "readme", "bookworm")
    shutil.copy(package, root + "/root/ferry.deb")
    roots.install(root, "/root/ferry.deb", "curl", "python3")
    for page in ("README.md", "scripts/tutorial.py", "scripts/page_blocks.py", "scripts/ports.py"):
        shutil.copy(page, root + "/root")
    subprocess.run(["chroot", root, "env", "-i", f"PATH={roots.PATH}", "HOME=/root", "BINARY=/usr/bin/ferry",
                    "/root/tutorial.py", "/root/README.md"], check=True)
    for mounted in ("proc", "dev"):
        subprocess.run(["umount", "-R", f"{root}/{mounted}"], check=True)
    shutil.rmtree(root)


def later(package):
    """Makes the same package with a later version."""
    place, version = PLACE + "/later", roots.output("dpkg-deb", "-f", package, "Version").strip()
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run(["dpkg-deb", "-R", package, place], check=True)
    control = open(place + "/DEBIAN/control").read()
    open(place + "/DEBIAN/control", "w").write(control.replace(f"Version: {version}", f"Version: {version}+1"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", place, f"{ROOT}/root/later.deb"], check=True, stdout=subprocess.DEVNULL)


def everything():
    """Returns every path of the system with its type, and its users."""
    found = set()
    for directory, names, files in os.walk(ROOT):
        inside = directory[len(ROOT):]
        names[:] = [name for name in names if f"{inside}/{name}" not in UNCOUNTED]
        found |= {f"{inside}/{name}" for name in names + files if f"{inside}/{name}" not in UNCOUNTED}
    users = open(ROOT + "/etc/passwd").read().splitlines() + open(ROOT + "/etc/group").read().splitlines()
    return found | set(users)


class System:
    """The booted system."""

    def __init__(self):
        cgroup = f"/sys/fs/cgroup/unified/ferry-package-{os.getpid()}"
        self.cgroup = cgroup if os.path.isdir("/sys/fs/cgroup/unified") else cgroup.replace("/unified", "")
        os.mkdir(self.cgroup)
        flags = ["--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--uts", "--ipc", "--net"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'echo 0 >"{self.cgroup}/cgroup.procs"; exec unshare {" ".join(flags)} sh -c "$0" "$1"', BOOT, ROOT],
            stdin=subprocess.DEVNULL, stdout=open(PLACE + "/boot.log", "w"), stderr=subprocess.STDOUT)
        self.pid = None
        wait("systemd has not started", self.find)
        wait("the system did not finish its start", lambda: self.run("systemctl", "is-system-running").strip() in ("running", "degraded"))

    def find(self):
        """Returns the pid of the system's systemd, which is the child of unshare once it runs systemd."""
        for line in open(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read().split():
            if "systemd" in open(f"/proc/{line}/cmdline").read():
                self.pid = int(line)
        return self.pid

    def run(self, *command, check=False):
        made = subprocess.run(
            ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup", "--root", "--wd",
             "env", "-i", f"PATH={roots.PATH}", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and made.returncode != 0:
            fail(f"{' '.join(command)}: exit code {made.returncode}\n{made.stdout}{self.run('journalctl', '-u', 'ferry', '--no-pager')}")
        return made.stdout

    def enter_network(self):
        """Moves this process to the system's network, so that client and origin are on its loopback."""
        with open(f"/proc/{self.pid}/ns/net") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NETWORK) != 0:
                fail("the network of the system cannot be entered")

    def ferries(self):
        """Returns the arguments of every Ferry process."""
        lines = self.run("sh", "-c", "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null && echo; done").splitlines()
        return [line for line in lines if re.match(r"(\S*/)?ferry (serve|worker)\b", line)]

    def property(self, name):
        return self.run("systemctl", "show", "ferry", "-p", name, "--value", check=True).strip()

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        wait("the system's processes did not end", self.is_gone)

    def is_gone(self):
        """Removes the control groups, which is possible after all processes have ended."""
        for directory, _, _ in os.walk(self.cgroup, topdown=False):
            os.rmdir(directory)
        return True


class Origin(http.server.BaseHTTPRequestHandler):
    """An origin that sends all of /whole at once, and only half of /held before `go`."""
    protocol_version = "HTTP/1.1"
    go = threading.Event()
    halfway = threading.Event()

    def do_GET(self):
        first = int((re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) or [0, 0])[1])
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{SIZE - 1}/{SIZE}")
        self.send_header("Content-Length", str(SIZE - first))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"one"')
        self.end_headers()
        body = BODY[first:SIZE]
        if self.path == "/held" and not self.go.is_set():
            self.wfile.write(body[:SIZE // 2])
            self.wfile.flush()
            self.halfway.set()
            body = body[SIZE // 2:]
            self.go.wait(PATIENCE)
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def wait(otherwise, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        time.sleep(0.1)
    fail(otherwise)


def call(method, path, body=None, port=8080, **fields):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", **fields})
    reply = connection.getresponse()
    data = reply.read()
    if reply.status >= 400:
        fail(f"{method} {path}: {reply.status} {data.decode(errors='replace')}")
    return data


def download(port, path, session="ses_shared"):
    request = {"url": f"http://127.0.0.1:{port}{path}"}
    return json.loads(call("POST", f"/v1/sessions/{session}/tasks", {"kind": "download", "resume": True, "request": request}))["id"]


def finished(task):
    seen = wait(f"task {task} has not ended", lambda: (t := json.loads(call("GET", f"/v1/tasks/{task}")))["state"] == "completed" and t)
    if seen["error"] or call("GET", f"/v1/tasks/{task}/body") != BODY[:SIZE]:
        fail(f"task {task}: {seen}")


def main():
    packages = glob.glob(".build/dist/ferry_*.deb")
    if len(packages) != 1:
        fail("make dist makes the package")
    subprocess.run(["scripts/install-packages.sh", "deploy"], check=True)
    roots.leave_mounts()
    follow_readme(packages[0])
    make_root(packages[0])
    before = everything()
    shutil.copy(packages[0], ROOT + "/root/ferry.deb")
    later(packages[0])
    system = System()
    try:
        carry_out(system, before)
    finally:
        system.close()
    if "--keep" not in sys.argv:
        shutil.rmtree(ROOT)
    print("package test: installed, downloaded, upgraded, removed and purged, and README.md was followed")


def commands(system):
    """Checks that commands without options use the packaged service, and that its journal has no refused thread priorities."""
    shown = system.run("ferry", "config", check=True)
    if not re.search(r"^data-directory +/var/lib/ferry +ferry.service$", shown, re.M) or \
            not re.search(r"^allow-network +127.0.0.0/8 +/etc/ferry/ferry.env$", shown, re.M):
        fail(f"ferry config does not show the service's settings:\n{shown}")
    system.run("ferry", "health", "--ready", check=True)
    refused = system.run("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "ferry", "stop")
    if "sudo" not in refused:
        fail(f"ferry stop of a user without rights: {refused}")
    stopped = system.run("ferry", "stop", "--worker", check=True)
    if "stopped the service" not in stopped or system.run("systemctl", "is-active", "ferry").strip() != "inactive":
        fail(f"ferry stop --worker has not stopped the service: {stopped}")
    again = system.run("sh", "-c", "ferry stop; echo $?")
    if again.split()[-1] != "3":
        fail(f"ferry stop without a service: {again}")
    logged = system.run("journalctl", "--no-pager", "-o", "cat", "-u", "ferry")
    if "thread priority" in logged:
        fail(f"the system refuses priorities of threads:\n{logged}")
    system.run("systemctl", "start", "ferry", check=True)


def carry_out(system, before):
    system.enter_network()
    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    port = origin.server_address[1]

    say("install")
    system.run("dpkg", "-i", "/root/ferry.deb", check=True)
    # With Type=notify, the unit becomes active when the service listens.
    system.run("systemctl", "is-active", "ferry", check=True)
    call("GET", "/readyz")
    if system.run("stat", "-c", "%U %a", "/var/lib/ferry").split() != ["ferry", "700"]:
        fail("the data directory does not belong to the service")
    if system.run("stat", "-c", "%U:%G %a", "/etc/ferry/ferry.env").strip() != "root:ferry 640":
        fail("others than root and the service can read the settings")
    system.run("test", "-s", "/usr/share/doc/ferry/examples/ferry-stop-worker.conf", check=True)
    for page in ("ferry", "ferry-serve", "ferry-get", "ferry-hooks-resend"):
        system.run("test", "-s", f"/usr/share/man/man1/{page}.1.gz", check=True)

    say("configure, and the first download")
    with open(ROOT + "/etc/ferry/ferry.env", "a") as file:
        file.write("FERRY_ALLOW_NETWORK=127.0.0.0/8\n")
    system.run("systemctl", "restart", "ferry", check=True)
    finished(download(port, "/whole"))
    system.run("systemctl", "reload", "ferry", check=True)
    commands(system)

    say("upgrade during a background task")
    session = json.loads(call("POST", "/v1/sessions", {"type": "background", "identifier": "upgraded", "delegate": {}}))["id"]
    task = download(port, "/held", session)
    if not Origin.halfway.wait(PATIENCE):
        fail("the background task did not start")
    first, version = system.property("MainPID"), system.run("dpkg-query", "-W", "-f", "${Version}", "ferry")
    system.run("dpkg", "-i", "/root/later.deb", check=True)
    if system.run("dpkg-query", "-W", "-f", "${Version}", "ferry") == version:
        fail("the package was not upgraded")
    system.run("systemctl", "is-active", "ferry", check=True)
    if system.property("MainPID") == first:
        fail("the upgrade did not restart the service")
    if "FERRY_ALLOW_NETWORK=127" not in open(ROOT + "/etc/ferry/ferry.env").read():
        fail("the upgrade lost a setting")
    Origin.go.set()
    finished(task)

    say("remove")
    system.run("dpkg", "-r", "ferry", check=True)
    wait("a process remains", lambda: not system.ferries())
    if not os.path.exists(ROOT + "/var/lib/ferry/ferry.db"):
        fail("removing the package deleted the data")
    say("purge")
    system.run("dpkg", "-P", "ferry", check=True)
    left = everything() - before
    if left:
        fail("left behind: " + ", ".join(sorted(left)[:20]))


if __name__ == "__main__":
    main()
