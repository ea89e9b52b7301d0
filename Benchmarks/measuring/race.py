#!/usr/bin/env python3
"""Compares Ferry with other programs and libraries that fetch, each through its own interface, at the same works, from one nginx.

Ferry commits every task and every event with fsync. Of the others, only the home-made service stores anything, and none syncs. Like
Ferry, the services get their work from other processes. The loops around libraries do not, so they show the limit of the machine. A
round is quiet if other processes and the hypervisor took less than 8 % of its time. Noisy rounds are repeated up to three times the
number of rounds, and the quietest rounds count.
usage: race.py [rounds] [--only=WORK,...] [--peers=NAME,...] [--disk] [--at-least=RATIO]    5 rounds of all by default

RATIO is the least ratio of Ferry's rate to aria2's at the first work: 1 by default."""
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
import works
from peers import PEERS
from peers.peer import CONNECTIONS
from works import *

QUIET, TRIES = 0.08, 3
# The limit of a measurement in seconds.
LIMIT = 180


class Work:
    """A measurement, the method of a peer that it needs, and the units of its rows. Also the number of concurrent transfers, the
    MiB that are written, and Ferry's options for it."""

    def __init__(self, title, measure, way, *rows, at_once=AT_ONCE, writes=100, options=()):
        self.title, self.measure, self.way, self.rows = title, measure, way, rows
        self.at_once, self.writes, self.options = at_once, writes, options


WORKS = {
    "batch": Work(f"{BATCH} × 1 KiB, {AT_ONCE} at once, one POST", works.batch, "batch", "jobs/s", "CPU ms"),
    "files": Work("  each body a file", works.batch, "batch", "jobs/s", "CPU ms", options=("--small-body-limit", "0")),
    "single": Work(f"  one POST each, {CONNECTIONS} connections", works.single, "single", "jobs/s", "CPU ms"),
    "gigabyte": Work("1 GiB down", works.gigabyte, "batch", "MB/s", "CPU s", writes=1200),
    "slow": Work(f"{SLOW} slow transfers", works.slow, "hold", "KiB each", at_once=SLOW),
    "latency": Work("submit to notified, idle", works.latency, "latency", "p50 ms"),
    "wait": Work("  completion reply", works.wait, "wait", "p50 ms"),
    "database": Work("database of 1 KiB tasks", works.database, "database", "bytes each"),
    "streams": Work("idle event streams", works.streams, "channel", "streams", "KiB each", "p99 ms", "share of a core",
                    options=("--maximum-connections", str(STREAMS + SPARE))),
}
# Additions to the title of a work for some rows.
SAYS = {"p99 ms": "  10 events/s to each; a GET's", "share of a core": "  10 events/s to each"}
RATES = ("jobs/s", "MB/s")


class Race:
    def __init__(self, directory, origin, rounds, chosen, peers):
        self.directory, self.origin, self.rounds, self.peers = directory, origin, rounds, peers
        self.figures = {(name, peer): [] for name in chosen for peer in peers
                        if name not in PEERS[peer].same and hasattr(PEERS[peer], WORKS[name].way)}
        # If a work equals another work of this peer, that one is run.
        for name, peer in [(PEERS[peer].same.get(name), peer) for name in chosen for peer in peers]:
            if name and hasattr(PEERS[peer], WORKS[name].way):
                self.figures.setdefault((name, peer), [])

    def run(self):
        for number in range(self.rounds * TRIES):
            wanted = [cell for cell in self.figures if self.quiet(cell) < self.rounds]
            if not wanted:
                break
            for name in WORKS:
                # Each peer goes first as often as last.
                peers = [peer for work, peer in wanted if work == name]
                for peer in peers if number % 2 == 0 else reversed(peers):
                    self.figures[name, peer].append(self.measure(name, peer, number))
            print(f"round {number + 1}: {len(wanted)} measurements", file=sys.stderr, flush=True)

    def measure(self, name, peer, number):
        work, place = WORKS[name], f"{self.directory}/{peer}-{name}-{number}"
        os.makedirs(place)
        runs = PEERS[peer](place, self.origin, work.at_once, *work.options)
        signal.alarm(LIMIT)
        try:
            runs.warm_up()
            self.touch(work.writes)
            return work.measure(runs)
        finally:
            signal.alarm(0)
            runs.stop()
            shutil.rmtree(place, ignore_errors=True)

    def touch(self, mebibytes):
        """Writes this number of MiB and deletes them, so that the hypervisor has provided the memory before a peer needs it."""
        block, path = b"x" * (1 << 20), f"{self.directory}/touched"
        with open(path, "wb") as f:
            for _ in range(mebibytes):
                f.write(block)
        os.remove(path)

    def quiet(self, cell):
        return sum(figures["noise"] < QUIET for figures in self.figures[cell])

    def cell(self, name, peer):
        return PEERS[peer].same.get(name, name), peer

    def quietest(self, name, peer):
        return sorted(self.figures.get(self.cell(name, peer), []), key=lambda figures: figures["noise"])[:self.rounds]

    def median(self, name, peer, unit):
        found = [figures[unit] for figures in self.quietest(name, peer) if unit in figures]
        return statistics.median(found) if found else None

    def text(self, name, peer, unit):
        value = self.median(name, peer, unit)
        if value is None:
            return "–"
        noisy = self.quiet(self.cell(name, peer)) < self.rounds
        return (f"{value:.0f}" if value >= 1000 else f"{value:.3g}") + ("*" if noisy else "")

    def ratio(self, name, unit, service):
        """Returns the ratio of Ferry's figure to the best figure of the services, or of the libraries."""
        own = self.median(name, "ferry", unit) if "ferry" in self.peers else None
        others = {peer: value for peer in self.peers if peer != "ferry" and PEERS[peer].service == service
                  and (value := self.median(name, peer, unit))}
        if not others or own is None or unit == "streams":
            return "–"
        best = (max if unit in RATES else min)(others, key=others.get)
        return f"{own / others[best]:.2f} {best}"

    def show(self, chosen):
        rows = [("work", "", *self.peers, "of services", "of libraries", "quiet")]
        for name in chosen:
            title = WORKS[name].title
            cells = [cell for cell in (self.cell(name, peer) for peer in self.peers) if cell in self.figures]
            quiet = f"{min(map(self.quiet, cells), default=0)} of {max((len(self.figures[cell]) for cell in cells), default=0)}"
            for unit in WORKS[name].rows:
                rows.append((SAYS.get(unit, title), unit, *(self.text(name, peer, unit) for peer in self.peers),
                             self.ratio(name, unit, True), self.ratio(name, unit, False), quiet))
                title, quiet = "", ""
        table(rows)

    def show_threads(self):
        found = self.quietest("batch", "ferry")
        units = sorted((unit for unit in found[0] if unit.startswith("µs in ")), key=lambda unit: -found[0][unit])
        print("where Ferry's time goes, CPU us/job by thread:")
        table([(unit[len("µs in "):], f"{statistics.median(figures.get(unit, 0) for figures in found):.1f}") for unit in units])


def give_up(*_):
    raise TimeoutError(f"a measurement has taken {LIMIT} s")


def option(name):
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), None)


def names(given, known):
    chosen = given.split(",") if given else list(known)
    if unknown := set(chosen) - set(known):
        sys.exit(f"race.py: {', '.join(unknown)}: known are {', '.join(known)}")
    return [name for name in known if name in chosen]


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds = int(arguments[0]) if arguments else 5
    chosen = names(option("only"), WORKS)
    peers = names(option("peers") and "ferry," + option("peers"), PEERS)
    for peer in peers:
        if PEERS[peer].needs and not os.path.exists(PEERS[peer].needs):
            sys.exit(f"race.py: no {PEERS[peer].needs}: `make race` makes it, or leave {peer} out with --peers=")
    on_disk = "--disk" in sys.argv
    raise_descriptors(STREAMS)
    signal.signal(signal.SIGALRM, give_up)
    with scratch(on_disk) as directory:
        origin = Origin(f"{directory}/origin", gigabyte="gigabyte" in chosen)
        try:
            race = Race(directory, origin, rounds, chosen, peers)
            race.run()
        finally:
            origin.stop()
    print(f"medians of the {rounds} quietest rounds, on {'disk' if on_disk else 'tmpfs'}. The last column has the quiet rounds and all "
          "rounds; * marks rows with too few quiet rounds.")
    print("Ratios are Ferry's figure to that of the best of the services and of the libraries: good above 1 in rates, below 1 in costs.")
    race.show(chosen)
    if race.quietest("batch", "ferry"):
        race.show_threads()
    own, than = (race.median("batch", peer, "jobs/s") for peer in ("ferry", "aria2"))
    if own and than:
        ratio, least = own / than, float(option("at-least") or 1)
        print(f"ratio ferry/aria2: {ratio:.2f}")
        if ratio < least:
            sys.exit("race.py: slower than aria2" if least == 1 else f"race.py: below {least} of aria2")
    elif option("at-least"):
        sys.exit("race.py: --at-least wants batch and aria2 in the race")


if __name__ == "__main__":
    main()
