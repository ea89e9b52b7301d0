"""CPU time and memory of the measured processes and of all other processes on the machine."""
import contextlib, os, time

KERNEL_THREAD = 0x00200000  # PF_KTHREAD


def cpu_seconds(pid):
    """Returns the user and system time of a process, without its children."""
    return time.clock_gettime((~pid << 3) | 2)


def thread_seconds(pid):
    """Returns CPU seconds by thread name. Unnamed threads belong to Swift's pool."""
    seconds = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/task/{thread}/comm") as f:
                name = f.read().strip()
            with open(f"/proc/{pid}/task/{thread}/schedstat") as f:
                spent = int(f.read().split()[0]) / 1e9
            name = name if "-" in name and name.startswith("ferry-") else "tasks"
            seconds[name] = seconds.get(name, 0) + spent
    return seconds


def memory(pid):
    """Returns the current and the peak resident set in MiB."""
    values = {}
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith(("VmRSS", "VmHWM")):
                name, value = line.split(":")
                values[name] = int(value.split()[0]) / 1024
    return values


def processes():
    """Returns every process except kernel threads: its parent, its CPU seconds, and those of its reaped children."""
    found, tick = {}, os.sysconf("SC_CLK_TCK")
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
            if not int(fields[6]) & KERNEL_THREAD:
                user, system, waited_user, waited_system = (int(field) / tick for field in fields[11:15])
                found[int(name)] = (int(fields[1]), user + system, waited_user + waited_system)
    return found


def family(pid, found):
    """Returns a process and all of its descendants."""
    members = [pid]
    for member in members:
        members += [child for child, (parent, *_) in found.items() if parent == member]
    return members


def stolen_seconds():
    """Returns the time that the hypervisor gave to others although this machine needed it."""
    with open("/proc/stat") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """Returns the memory of a process and its descendants in KiB. Shared memory counts once."""
    total = 0
    for member in family(pid, processes()):
        with contextlib.suppress(OSError), open(f"/proc/{member}/smaps_rollup") as f:
            total += next(int(line.split()[1]) for line in f if line.startswith("Pss:"))
    return total


class Meter:
    """Measures wall and CPU time of a process and its children, and their peak memory, during a `with` block.

    `noise` is the share of the time that other processes and the hypervisor took. `spent` returns the CPU seconds of work without a
    permanent process."""

    # In a shorter time, the granularity of the clocks would look like noise.
    LEAST = 0.4

    def __init__(self, pid, spent=None):
        self.pid = pid
        self.spent = spent or self.spent_by_family

    def __enter__(self):
        if self.pid:
            with contextlib.suppress(OSError), open(f"/proc/{self.pid}/clear_refs", "w") as f:
                f.write("5")
            self.threads0 = thread_seconds(self.pid)
        self.others0, self.cpu0 = self.spent_by_others(), self.spent()
        self.start = time.monotonic()
        return self

    def __exit__(self, *_):
        self.wall = time.monotonic() - self.start
        self.cpu = self.spent() - self.cpu0
        self.noise = max(0, self.spent_by_others() - self.others0) / max(self.wall, self.LEAST)
        self.peak, self.threads = 0, {}
        if self.pid:
            self.peak = sum(memory(pid)["VmHWM"] for pid in family(self.pid, processes()))
            self.threads = {
                name: seconds - self.threads0.get(name, 0) for name, seconds in thread_seconds(self.pid).items()}

    def spent_by_family(self):
        found = processes()
        return sum(cpu_seconds(pid) + found[pid][2] for pid in family(self.pid, found))

    @staticmethod
    def spent_by_others():
        found = processes()
        ours = set(family(os.getpid(), found))
        return stolen_seconds() + sum(own + waited for pid, (_, own, waited) in found.items() if pid not in ours)
