"""Podman with its own store."""
import json, os, resource, shutil, subprocess


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


class Podman:
    def __init__(self, place):
        self.stores = [f"{place}/store", f"{place}/run"]
        root, run = self.stores
        self.words = ["podman", "--root", root, "--runroot", run, "--storage-driver", "vfs", "--runtime", "runc",
                      "--cgroup-manager", "cgroupfs"]
        self.close()
        self.log = f"{place}/log"
        open(self.log, "w").close()

    def call(self, *words):
        """Runs a command that must succeed. Returns its output."""
        made = self.ask(*words)
        if made.returncode != 0:
            raise SystemExit(f"podman {' '.join(words)[:300]}: exit code {made.returncode}\n{made.stdout}{made.stderr}")
        return made.stdout.strip()

    def ask(self, *words):
        return subprocess.run([*self.words, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)

    # Images

    def load(self, packed, name, variables):
        """Makes an image from a tar archive of a root."""
        changes = [word for key, value in variables.items() for word in ("--change", f"ENV {key}={value}")]
        self.call("import", *changes, packed, name)

    def build(self, name, context, file, arguments, lent):
        """- lent: Folders of this machine that are mounted at the same paths during the build."""
        given = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        volumes = [f"--volume={folder}:{folder}:ro" for folder in lent]
        with open(self.log, "a") as log:
            # Only the Docker format supports HEALTHCHECK.
            made = subprocess.run([*self.words, "build", "--format", "docker", "--isolation", "chroot", "--network", "host",
                                   "--pull=never", "--layers=false", *limits({}), *given, *volumes, "--file", file, "--tag", name,
                                   context], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if made.returncode != 0:
            raise SystemExit("".join(open(self.log, errors="replace").readlines()[-60:]) + f"podman build: {made.returncode}")

    def inspect(self, name):
        return json.loads(self.call("inspect", name))[0]

    def mount(self, image):
        """Returns the root directory of a new container of the image."""
        return self.call("mount", self.call("create", *limits({}), image))

    def close(self):
        """Ends all containers and deletes the store."""
        if os.path.exists(self.stores[0]):
            self.call("rm", "--all", "--force", "--time", "0")
        for store in self.stores:
            shutil.rmtree(store, ignore_errors=True)


def limits(wanted):
    """Returns the options for the `ulimits` of a compose file, within the limits of this machine. By default, podman asks for more
    processes than it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted.get("nofile", {"soft": soft, "hard": hard})
    return ["--ulimit", f"nofile={min(files['soft'], hard)}:{min(files['hard'], hard)}", "--ulimit", "nproc=4096:4096"]
