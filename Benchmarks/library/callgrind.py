"""A service under valgrind's callgrind, with its profile: instructions by function and thread, and calls of the allocator."""
import collections, glob
import harness
from harness import *

# The allocation functions of the C library. Nested calls count once.
ALLOCATORS = {name for plain in ("malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc")
              for name in (plain, f"__libc_{plain}", f"__{plain}")}


def program(directory, binary=None):
    """Returns a copy of the binary, `ferry` by default, with its function names only, because Valgrind 3.19 fails on Swift's debug
    information."""
    binary = binary or harness.FERRY
    copy = f"{directory}/{os.path.basename(binary)}"
    subprocess.run(["strip", "--strip-debug", "-o", copy, binary], check=True)
    return copy


class Counted:
    """A `ferry serve` process under callgrind, whose child processes run without callgrind."""
    # Seconds.
    patience = 30

    def __init__(self, binary, directory, by_thread=False):
        self.directory = directory
        self.prefix = f"{directory}/vgdb"
        self.ferry = Ferry(f"{directory}/data", "--log-level", "warning", binary=binary, under=(
            # The threads take turns, because a busy loop would keep the other threads from running.
            "valgrind", "--tool=callgrind", "--fair-sched=yes", "--vgdb=yes", f"--vgdb-prefix={self.prefix}",
            f"--callgrind-out-file={directory}/out", f"--separate-threads={'yes' if by_thread else 'no'}"))

    def tell(self, *command):
        """Sends a command to valgrind, which answers even while all threads sleep. vgdb waits until valgrind has made its FIFO."""
        done = subprocess.run(["vgdb", f"--wait={self.patience}", f"--vgdb-prefix={self.prefix}", f"--pid={self.ferry.pid}", *command],
                              timeout=2 * self.patience,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def rest(self, seconds=30):
        """Waits until the service is idle, after the work that a task leaves for later."""
        end, quiet = time.monotonic() + seconds, 0
        while quiet < 3:
            before = cpu_seconds(self.ferry.pid)
            time.sleep(0.1)
            quiet = quiet + 1 if cpu_seconds(self.ferry.pid) - before < 0.01 else 0
            assert time.monotonic() < end, "the service did not become idle"

    def measure(self, run, count):
        """Returns the profile of `run(count)` and of the work that it leaves for later."""
        self.rest()
        self.tell("zero")
        run(count)
        self.rest()
        names = self.threads()
        self.tell("dump")
        paths = sorted(glob.glob(f"{self.directory}/out.*"))
        profile = Profile()
        for path in paths:
            profile.read(path, names)
            os.unlink(path)
        return profile

    def threads(self):
        """Returns the names of the threads by valgrind's numbers."""
        names = {}
        for line in self.tell("v.info", "scheduler").splitlines():
            if line.startswith("Thread ") and "(lwpid " in line:
                number, task = line.split()[1].rstrip(":"), line.split("(lwpid ")[1].split(")")[0]
                with contextlib.suppress(OSError), open(f"/proc/{self.ferry.pid}/task/{task}/comm") as f:
                    name = f.read().strip()
                    names[int(number)] = name if name.startswith("ferry-") else "tasks"
        return names

    def stop(self):
        subprocess.run([harness.FERRY, "stop", "--worker", "--data-directory", self.ferry.directory],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.ferry.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Profile:
    """The instructions and calls of a run. A function is a pair of its library and its name.

    `digest` is the part of SHA-256. valgrind does not have its special instructions, so in a large body it would hide everything
    else."""

    def __init__(self):
        self.instructions, self.digest, self.allocations = 0, 0, 0
        self.own, self.inclusive, self.calls = collections.Counter(), collections.Counter(), collections.Counter()
        self.threads, self.libraries = collections.Counter(), collections.Counter()
        # The instructions by function, in each thread.
        self.own_by_thread = collections.defaultdict(collections.Counter)

    def read(self, path, names):
        """Reads a file in callgrind's format: https://valgrind.org/docs/manual/cl-format.html"""
        texts = {"ob": {}, "fn": {}}
        thread, place, function, callee_place, callee, calls = "", "", None, None, None, None

        def text(kind, value):
            """Returns a name. The file contains each name once, and then its number."""
            if not value.startswith("("):
                return value
            number, _, name = value.partition(")")
            if name:
                texts[kind][number] = name.strip()
            return texts[kind][number]

        with open(path) as f:
            for line in f:
                if line[0].isdigit() or line[0] in "+-*":
                    cost = int(line.split()[1]) if " " in line else 0
                    # A call from before the measurement does not count, but has a cost.
                    if calls is None:
                        self.count(thread, function, cost)
                        continue
                    if callee != function:
                        self.inclusive[function] += cost
                    self.call(function, callee, calls)
                    calls, callee_place = None, None
                    continue
                key, _, value = line.rstrip("\n").partition("=")
                if key == "fn":
                    function = (place, text("fn", value))
                elif key == "cfn":
                    callee = (callee_place or place, text("fn", value))
                elif key == "ob":
                    place = os.path.basename(text("ob", value))
                elif key == "cob":
                    callee_place = os.path.basename(text("ob", value))
                elif key == "calls":
                    calls = int(value.split()[0])
                elif key.startswith("thread: "):
                    number = int(key.split(": ")[1])
                    thread = names.get(number, f"thread {number}, ended")

    def count(self, thread, function, cost):
        self.instructions += cost
        self.own[function] += cost
        if "sha256_block_data_order" in function[1]:
            self.digest += cost
        self.inclusive[function] += cost
        self.threads[thread] += cost
        self.libraries[function[0]] += cost
        self.own_by_thread[function][thread] += cost

    @property
    def undigested(self):
        return self.instructions - self.digest

    def call(self, function, callee, calls):
        self.calls[callee] += calls
        # The names of nested calls of a recursion end with their depth, such as malloc'2.
        if callee[1].split("'")[0] in ALLOCATORS and function[1].split("'")[0] not in ALLOCATORS:
            self.allocations += calls


def readable(names):
    """Demangles Swift's names."""
    with contextlib.suppress(OSError):
        done = subprocess.run(["swift", "demangle", "--simplified"], input="\n".join(names), stdout=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return done.stdout.split("\n")
    return names
