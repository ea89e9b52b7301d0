#!/usr/bin/env python3
"""Compares two builds of Ferry round by round in one run.
usage: side_by_side.py BINARY [rounds] [--disk] [--only=WORK,...]

BINARY is the build to compare with. The other is .build/release/ferry, or $BINARY. Each row is a median with its ratio. Better is
above 1 in rates and below 1 in costs."""
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
import works
from peers.ferry import FerryPeer
from works import *

STREAMS_HERE = 2000
# Threads with fewer µs a task are not printed.
LEAST = 0.1


def data(peer):
    return rates(timed(peer, peer.batch(f"{peer.origin.url}/f/", BATCH, "data"), BATCH, KIB), BATCH)


def background(peer):
    """The row omits the cost of the worker, which is another process."""
    count, identifier = BATCH // 5, f"side-{time.monotonic_ns()}"
    run = peer.batch(f"{peer.origin.url}/f/", count, type="background", identifier=identifier, delegate={})
    return rates(timed(peer, run, count, KIB), count)


def streams(peer):
    return works.streams(peer, STREAMS_HERE)


WORKS = {"batch": batch, "data": data, "single": single, "latency": latency, "wait": wait, "slow": slow, "streams": streams,
         "gigabyte": gigabyte, "background": background}


class This(FerryPeer):
    name = "this"


class Other(FerryPeer):
    name = "other"


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    Other.binary, rounds = arguments[0], int(arguments[1]) if len(arguments) > 1 else 5
    only = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--only=")), list(WORKS))
    raise_descriptors(STREAMS_HERE)
    found = {}
    with scratch("--disk" in sys.argv) as directory:
        origin = Origin(f"{directory}/origin", gigabyte="gigabyte" in only)
        try:
            for number in range(rounds):
                for work in only:
                    # Each build goes first as often as the other.
                    for build in (This, Other) if number % 2 == 0 else (Other, This):
                        place = f"{directory}/{build.name}-{work}-{number}"
                        peer = build(place, origin, SLOW if work == "slow" else AT_ONCE)
                        try:
                            peer.warm_up()
                            for unit, value in WORKS[work](peer).items():
                                found.setdefault((work, unit), {}).setdefault(build.name, []).append(value)
                        finally:
                            peer.stop()
                            shutil.rmtree(place, ignore_errors=True)
        finally:
            origin.stop()
    print(f"medians of {rounds} rounds, on {'disk' if '--disk' in sys.argv else 'tmpfs'}; noise: the share of the time that other processes took")
    rows = [("work", "", "this", "other", "ratio")]
    for (work, unit), values in found.items():
        this, than = (statistics.median(values.get(name, [0])) for name in ("this", "other"))
        if unit.startswith("µs in") and max(this, than) < LEAST:
            continue
        rows.append((work, unit, f"{this:.3g}", f"{than:.3g}", f"{this / than if than else 0:.2f}"))
    table(rows)


if __name__ == "__main__":
    main()
