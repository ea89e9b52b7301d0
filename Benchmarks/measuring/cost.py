#!/usr/bin/env python3
"""Compares the instructions and allocations of a task with cost.json.

The service runs under valgrind's callgrind, which counts the instructions of the program and its libraries, but not the kernel's.
Other load hardly changes the numbers. If a number is too high, it is measured twice more, and the median counts.
usage: cost.py [--only=WORK,...]             fails if a task costs more than recorded
       cost.py --write [--only=WORK,...]     records medians of three runs
       cost.py --profile WORK                prints the functions with the most instructions"""
import atexit, concurrent.futures, itertools, os, platform, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *
from callgrind import Counted, program, readable
from peers.ferry import count_ends, specification
from recorder import Recorder

RECORD = os.path.join(ROOT, "Benchmarks/measuring/cost.json")
LARGE = 16 << 20
# SHA-256 has a row of its own, because it dominates the cost of a large body.
UNITS = {"instructions": "undigested", "of SHA-256": "digest", "allocations": "allocations"}
# The numbers also depend on these packages.
PACKAGES = ("valgrind", "libc6", "libcurl4", "libmicrohttpd12", "libsqlite3-0", "libssl3", "zlib1g")
GLUE = ("partial apply", "thunk for", "@objc closure", "DispatchQueue.", "closure #1 in DispatchQueue.",
        "closure #1 in closure #1 in DispatchQueue.", "dispatch_", "_dispatch_")
# Two services run at once, as many as the smallest machine has cores.
AT_ONCE = 2
# The endpoints that receive the end of each task.
ENDPOINTS = 10


def tasks(session):
    return f"/v1/sessions/{session}/tasks"


def ends(ferry, session):
    return EventStream(ferry.port, f"/v1/sessions/{session}/events?types=task.didComplete")


def post(ferry, origin):
    """One POST after the other on a persistent connection. An event stream reports each end."""
    session = ferry.session()
    client, stream = Client(ferry.port), ends(ferry, session)

    def run(count):
        for i in range(count):
            client.post(tasks(session), specification(f"{origin.url}/f/{i}"))
            count_ends(stream, 1)
    return run


def wait(ferry, origin, path="/f/1"):
    """A POST whose reply is the ended task."""
    session, client = ferry.session(), Client(ferry.port)

    def run(count):
        for _ in range(count):
            reply = client.post(tasks(session), specification(origin.url + path), "Prefer: wait=60\r\n")
            assert b'"state":"completed"' in reply and b'"error":null' in reply, reply
    return run


def batch(kind):
    """Many tasks in one POST, 64 at once. An event stream reports their ends."""
    def prepare(ferry, origin):
        session = ferry.session(httpMaximumConnectionsPerHost=64)
        # No URL repeats, so no response is in the session's cache.
        client, stream, numbers = Client(ferry.port), ends(ferry, session), itertools.count()

        def run(count):
            lines = "\n".join(specification(f"{origin.url}/f/{next(numbers)}", kind) for _ in range(count)) + "\n"
            status, _ = ferry.call("POST", tasks(session), lines, {"Content-Type": "application/x-ndjson"})
            assert status == 200, status
            count_ends(stream, count)
        return run
    return prepare


def delivery(ferry, origin):
    """A webhook message. The end of each task of a batch goes to ten endpoints, so a message has a tenth of a task's cost."""
    recorder = Recorder(f"{ferry.directory}/record", {f"{i}": "good" for i in range(ENDPOINTS)})
    atexit.register(recorder.stop)
    for url in recorder.urls.values():
        status, reply = ferry.call("POST", "/v1/webhooks/endpoints", {"url": url})
        assert status == 201, reply
    run_batch = batch("data")(ferry, origin)

    def run(count):
        run_batch(count // ENDPOINTS)
        arrived, deadline = 0, time.monotonic() + 60
        while arrived < count:
            arrived += len(recorder.arrivals())
            assert time.monotonic() < deadline, f"{arrived} of {count} messages arrived"
            time.sleep(0.02)
    return run


def background(ferry, origin):
    """A POST and its end, if a worker outside the measurement performs the task."""
    status, session = ferry.call("POST", "/v1/sessions", {"type": "background", "identifier": "cost", "delegate": {}})
    assert status == 201, session
    client, stream = Client(ferry.port), ends(ferry, session["id"])

    def run(count):
        for i in range(count):
            client.post(tasks(session["id"]), specification(f"{origin.url}/f/{i}"))
            count_ends(stream, 1)
    return run


def get(ferry, origin):
    """A GET of an ended task."""
    client = Client(ferry.port)
    task = json.loads(client.post("/v1/tasks", specification(f"{origin.url}/f/0"), "Prefer: wait=60\r\n"))

    def run(count):
        for _ in range(count):
            assert b'"state":"completed"' in client.get(f"/v1/tasks/{task['id']}")
    return run


def large(ferry, origin):
    """A download of 16 MiB."""
    return wait(ferry, origin, "/16m")


class Work:
    """A work, its repetitions before and during the measurement, and the tolerated increase of its cost."""

    def __init__(self, prepare, before, count, instructions, allocations):
        self.prepare, self.before, self.count = prepare, before, count
        self.tolerance = {"instructions": instructions, "of SHA-256": 0.01, "allocations": allocations}


# The tolerances are at least three times the differences between single runs. Timing changes the numbers. It decides
# how many tasks of a batch share a commit, how often the worker's reports are read, and how many pieces a large body
# has.
WORKS = {"post": Work(post, 50, 300, 0.04, 0.04), "wait": Work(wait, 50, 300, 0.05, 0.05), "get": Work(get, 50, 400, 0.04, 0.03),
         "batch": Work(batch("download"), 300, 800, 0.08, 0.08), "data": Work(batch("data"), 300, 800, 0.08, 0.08),
         "delivery": Work(delivery, 500, 2000, 0.08, 0.08), "background": Work(background, 50, 200, 0.20, 0.20),
         "large": Work(large, 1, 3, 0.05, 0.25)}


@contextlib.contextmanager
def place():
    """Yields the binary, a directory and an origin."""
    with scratch() as directory:
        binary = program(directory)
        origin = Origin(f"{directory}/origin")
        try:
            with open(f"{directory}/origin/www/16m", "wb") as f:
                f.write(os.urandom(LARGE))
            yield binary, directory, origin
        finally:
            origin.stop()


def measured(where, name, by_thread=False):
    binary, directory, origin = where
    work = WORKS[name]
    counted = Counted(binary, tempfile.mkdtemp(dir=directory), by_thread)
    try:
        run = work.prepare(counted.ferry, origin)
        run(work.before)
        return counted.measure(run, work.count)
    finally:
        counted.stop()


def costs(where, name):
    found = measured(where, name)
    return {unit: round(getattr(found, value) / WORKS[name].count) for unit, value in UNITS.items()}


def all_costs(where, names, rounds):
    """Returns the costs of each run by work. The longest works come first, so that no core waits for the last."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [(name, pool.submit(costs, where, name)) for _ in range(rounds) for name in sorted(names, key=LONGEST_FIRST.index)]
        found = {name: [] for name in names}
        for name, run in runs:
            found[name].append(run.result())
    return found


LONGEST_FIRST = ("background", "delivery", "batch", "data", "wait", "post", "large", "get")


def middle(runs, unit):
    return round(statistics.median(run[unit] for run in runs))


def conditions():
    """Returns the conditions in addition to Ferry that influence the numbers."""
    told = subprocess.run([FERRY, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    with open("/proc/cpuinfo") as f:
        vectors = " with AVX2" if " avx2 " in f.read() else ""
    found = {"machine": platform.machine() + vectors, "Swift": told.split("Swift ")[1].split()[0]}
    for package in PACKAGES:
        found[package] = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return found


def record():
    with open(RECORD) as f:
        return json.load(f)


def write(where, names):
    found = all_costs(where, names, 3)
    known = record() if os.path.exists(RECORD) else {}
    if set(names) != set(WORKS) and known.get("conditions") != conditions():
        sys.exit("the versions differ from the recorded ones; measure all works again")
    works = {**known.get("works", {}), **{name: {unit: middle(found[name], unit) for unit in UNITS} for name in names}}
    with open(RECORD, "w") as f:
        json.dump({"conditions": conditions(), "works": {name: works[name] for name in WORKS if name in works}}, f, indent=2)
        f.write("\n")
    rows = [("work", "", "recorded", "lowest", "highest", "spread")]
    for name in names:
        for unit in UNITS:
            values = [run[unit] for run in found[name]]
            rows.append((name, unit, f"{middle(found[name], unit):,}", f"{min(values):,}", f"{max(values):,}",
                         f"{(max(values) - min(values)) / max(middle(found[name], unit), 1) * 100:.1f} %"))
    table(rows)


def ratio(runs, known, unit):
    return middle(runs, unit) / max(known[unit], 1)


def compare(where, names):
    known = record()
    found = all_costs(where, names, 1)

    def off(name):
        return any(ratio(found[name], known["works"][name], unit) > 1 + WORKS[name].tolerance[unit] for unit in UNITS)

    doubtful = [name for name in names if off(name)]
    for name, more in all_costs(where, doubtful, 2).items():
        found[name] += more
    rows = [("a task of", "", "now", "recorded", "change", "allowed")]
    higher, lower = [], []
    for name in names:
        for unit in UNITS:
            if max(known["works"][name][unit], middle(found[name], unit)) == 0:
                continue
            change, tolerance = ratio(found[name], known["works"][name], unit) - 1, WORKS[name].tolerance[unit]
            rows.append((name, unit, f"{middle(found[name], unit):,}", f"{known['works'][name][unit]:,}",
                         f"{change * 100:+.1f} %", f"{tolerance * 100:.0f} %"))
            if abs(change) > tolerance:
                (higher if change > 0 else lower).append(f"{name} ({unit})")
    table(rows)
    now = conditions()
    other = [f"{key} {now[key] or 'none'} instead of {value or 'none'}"
             for key, value in known["conditions"].items() if now.get(key) != value]
    if other:
        print(f"The numbers were recorded with other versions, which may explain a change: now {', '.join(other)}.")
    if lower:
        print(f"Lower than recorded: {', '.join(lower)}. Record the gain with Benchmarks/measuring/cost.py --write.")
    if higher:
        print(f"Higher than recorded: {', '.join(higher)}. Benchmarks/measuring/cost.py --profile WORK shows where instructions go.")
        if other:
            print("Because the versions differ, measure the previous commit first. If its numbers are higher, too, record them again.")
        sys.exit(1)


def show(where, name, lines=40):
    found, count = measured(where, name, by_thread=True), WORKS[name].count
    print(f"{name}: {found.instructions / count:,.0f} instructions and {found.allocations / count:,.0f} allocations a task")
    for title, counter in (("thread", found.threads), ("library", found.libraries)):
        print()
        table([(f"by {title}", "a task", "share")] + [
            (key, f"{cost / count:,.0f}", f"{cost / found.instructions * 100:.1f} %")
            for key, cost in counter.most_common(10) if cost > found.instructions / 10000])
    for title, counter in (("itself", found.own), ("with what it calls", found.inclusive)):
        top = counter.most_common(lines * 10)
        texts = readable([function[1] for function, _ in top])
        # Functions that only call another function are omitted. Functions that call each other in a circle by jumps are counted
        # several times.
        named = [(*item, text) for item, text in zip(top, texts)
                 if counter is found.own or item[1] <= found.instructions and not text.startswith(GLUE)]
        print()
        rows = [(title, "share", "calls", "thread", "library", "function")]
        for function, cost, text in named[:lines]:
            threads = found.own_by_thread[function].most_common(1)
            rows.append((f"{cost / count:,.0f}", f"{cost / found.instructions * 100:.1f} %", f"{found.calls[function] / count:,.1f}",
                         threads[0][0] if threads else "", function[0][:14], text[:110]))
        table(rows)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    names = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--only=")), list(WORKS))
    if "--profile" in sys.argv and len(arguments) != 1 or not set(names + arguments) <= set(WORKS):
        sys.exit(f"{__doc__}\n\nWORK is one of {', '.join(WORKS)}")
    with place() as where:
        if "--profile" in sys.argv:
            show(where, arguments[0])
        elif "--write" in sys.argv:
            write(where, names)
        else:
            compare(where, names)


if __name__ == "__main__":
    main()
