"""The program curl: with `--parallel` for many jobs, and a process for each single job."""
import resource
from .peer import *


class Curl(Peer):
    name, service = "curl", False
    same = {"files": "batch", "wait": "latency"}
    # The limit of --parallel-max in curl 7.88.
    MOST = 250

    def __init__(self, directory, origin, at_once, *options):
        super().__init__(directory, origin, at_once)
        self.held = []

    def meter(self):
        return Meter(None, lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]))

    def start(self, *arguments):
        return os.posix_spawn("/usr/bin/curl", ["curl", "-q", "-s", "-f", "--no-progress-meter", *arguments], os.environ)

    @staticmethod
    def wait_for(pid):
        assert os.waitpid(pid, 0)[1] == 0

    def start_many(self, prefix, numbers, at_once):
        numbers = list(numbers)
        path = f"{self.directory}/{numbers[0]}.conf"
        with open(path, "w") as f:
            f.writelines(f'url = "{prefix}{number}"\noutput = "{self.files}/{number}"\n' for number in numbers)
        return lambda: self.start("--parallel", "--parallel-immediate", "--parallel-max", str(at_once), "-K", path)

    def batch(self, prefix, count):
        start = self.start_many(prefix, range(count), self.at_once)
        return lambda: self.wait_for(start())

    def latency(self, prefix, count):
        return one_by_one(lambda url, name: self.wait_for(self.start("-o", f"{self.files}/{name}", url)), prefix, count)

    def starts(self, prefix, count):
        return [self.start_many(prefix, range(first, min(count, first + self.MOST)), self.MOST)
                for first in range(0, count, self.MOST)]

    def unladen(self, prefix, count):
        """Starts as many processes as `hold` needs, with one transfer each. Returns their memory."""
        self.held = [self.start_many(prefix, [number], 1)() for number in range(len(self.starts(prefix, count)))]
        time.sleep(1)
        before = self.resident()
        self.stop()
        return before

    def hold(self, prefix, count):
        self.held = [start() for start in self.starts(prefix, count)]

    def resident(self):
        return sum(resident(pid) for pid in self.held)

    def stop(self):
        for pid in self.held:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.held = []
