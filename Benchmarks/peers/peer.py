"""The interface of a party of the race."""
from harness import *

# The output directory of `scripts/race-peers.sh`.
MADE = os.path.join(ROOT, ".build/peers")
CONNECTIONS = 8
REST = 0.005


class Peer:
    """A running party. By default it writes files into `files`.

    `batch` and similar methods get the URL without its number, and the number of jobs. Each returns a function to time, after all
    preparation. `hold` starts transfers without waiting for them. `same` maps works to equal works of this party. `needs` is
    a file that must exist."""

    name, service, needs, same = "", True, None, {}

    def __init__(self, directory, origin, at_once, *options):
        self.directory, self.origin, self.at_once = directory, origin, at_once
        self.files, self.process = f"{directory}/files", None
        os.makedirs(self.files)

    @property
    def pid(self):
        return self.process.pid

    def meter(self):
        return Meter(self.pid)

    def resident(self):
        """Returns the memory in KiB."""
        return resident(self.pid)

    def unladen(self, prefix, count):
        """Returns the memory in KiB without the transfers that `hold` starts."""
        return self.resident()

    def warm_up(self):
        self.batch(f"{self.origin.url}/f/", 1)()

    def check(self, count, size):
        """Checks that each fetched file exists and has the right size."""
        sizes = [entry.stat().st_size for entry in os.scandir(self.files)]
        assert len(sizes) == count and set(sizes) == {size}, (self.name, len(sizes), set(sizes))

    def stop(self):
        if self.process:
            stop(self.process)


def one_by_one(once, prefix, count):
    """Returns a function to time. It runs one job after the other, and returns the milliseconds from each submission to the
    notification of its end."""

    def run():
        taken = []
        for number in range(count):
            start = time.perf_counter()
            once(f"{prefix}{number}", str(number))
            taken.append((time.perf_counter() - start) * 1000)
            time.sleep(REST)
        return taken

    return run
