"""What a party of the race can do, and how it is asked."""
from harness import *

# Where `scripts/race-peers.sh` puts what it makes.
MADE = os.path.join(ROOT, ".build/peers")
CONNECTIONS = 8
REST = 0.005


class Peer:
    """A party that runs: one that writes files, into `files`.

    `batch` and the like take what comes before each URL's number, and how many there are. They return a function: what is to be timed,
    with all that needs no clock done before. `hold` starts transfers and does not wait for them. `same` names the works that are no
    others than another one here; `needs` is a file that has to be there."""

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
        """KiB of memory."""
        return resident(self.pid)

    def unladen(self, prefix, count):
        """KiB of memory without the transfers that `hold` starts."""
        return self.resident()

    def warm_up(self):
        self.batch(f"{self.origin.url}/f/", 1)()

    def check(self, count, size):
        """What was fetched is there, each in its file."""
        sizes = [entry.stat().st_size for entry in os.scandir(self.files)]
        assert len(sizes) == count and set(sizes) == {size}, (self.name, len(sizes), set(sizes))

    def stop(self):
        if self.process:
            stop(self.process)


def one_by_one(once, prefix, count):
    """What is to be timed: job after job, each from its submission to the news of its end. It returns milliseconds."""

    def run():
        taken = []
        for number in range(count):
            start = time.perf_counter()
            once(f"{prefix}{number}", str(number))
            taken.append((time.perf_counter() - start) * 1000)
            time.sleep(REST)
        return taken

    return run
