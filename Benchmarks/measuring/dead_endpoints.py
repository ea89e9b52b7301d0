#!/usr/bin/env python3
"""Measures how much 1,000 dead webhook destinations slow down a good one.

A quarter of them refuse connections, a quarter accept and say nothing, a quarter reply after ten seconds, and a quarter reply with 500.
In the first case they belong to one tenant, as webhooks of tasks and as endpoints. In the second case they are endpoints of ten other
tenants. The good endpoint must get 99 of 100 messages in less than 100 ms after their events, and memory must stay bounded.
usage: dead_endpoints.py [--seconds=N]"""
import calendar, itertools, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *
from recorder import Recorder, raise_descriptors

# Milliseconds of the 99th percentile, and the MiB by which the service's peak may grow.
SLOWEST, GROWTH = 100, 128
KINDS, EACH = ["refused", "silent", "slow", "error"], 250
# Each round posts tasks whose ends go to the good endpoint.
ROUNDS_A_SECOND = 60
# The tasks of a round in the first case, and the dead endpoints, each of which gets a message about every task. The slow ones must get
# more messages a second than there are slots for attempts.
BATCH, OWN = 5, 4
TENANTS, ENDPOINTS = 10, 100
# The dead destinations are tried again and again.
SCHEDULE = "0,1,2,4,8,16,32,64"


def seconds(timestamp):
    return calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S")) + float(timestamp[19:-1])


class Tenant:
    def __init__(self, ferry, name):
        self.ferry, self.fields = ferry, {"Authorization": f"Bearer token-{name}"}

    def endpoint(self, url):
        status, endpoint = self.ferry.call("POST", "/v1/webhooks/endpoints", {"url": url}, self.fields)
        assert status == 201, endpoint

    def tasks(self, lines):
        headers = {"Content-Type": "application/x-ndjson", **self.fields}
        status, text = self.ferry.call("POST", "/v1/tasks", "".join(json.dumps(line) + "\n" for line in lines), headers)
        assert status == 200, text


def task(url, **members):
    return {"kind": "data", "resume": True, "request": {"url": url}, **members}


def one_tenant(ferry, good, dead):
    """Returns a function that posts the tasks of a round, and returns the number of the good tenant's tasks."""
    for url in dead[:OWN]:
        good.endpoint(url)
    hooks = itertools.cycle(dead[OWN:])

    def post_round(_, url):
        good.tasks([task(url, completion={"webhook": {"url": next(hooks)}}) for _ in range(BATCH)])
        return BATCH
    return post_round


def ten_tenants(ferry, good, dead):
    others = [Tenant(ferry, f"other{i}") for i in range(TENANTS)]
    for number, url in enumerate(dead):
        others[number // ENDPOINTS].endpoint(url)

    def post_round(number, url):
        good.tasks([task(url)])
        # A task of another tenant has a message for each of its endpoints. Each tenant has one task a second.
        if number % (ROUNDS_A_SECOND // TENANTS) == 0:
            others[number // (ROUNDS_A_SECOND // TENANTS) % TENANTS].tasks([task(url)])
        return 1
    return post_round


def measure(prepare, directory, lasting):
    names = [f"{kind}-{i}" for i in range(EACH) for kind in KINDS]
    recorder = Recorder(f"{directory}/record", {
        name: name.split("-")[0] for name in ["good", *names] if not name.startswith("refused")})
    # Nothing listens on the addresses of the destinations that refuse connections.
    dead = [recorder.urls.get(name) or f"http://127.2.0.{names.index(name) // len(KINDS) + 1}:1/hook" for name in names]
    tokens = f"{directory}/tokens"
    with open(os.open(tokens, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.writelines(f"{name} token-{name}\n" for name in ["good", *(f"other{i}" for i in range(TENANTS))])
    origin = Origin(f"{directory}/origin")
    ferry = Ferry(f"{directory}/ferry", "--token-file", tokens, "--webhook-schedule", SCHEDULE, "--log-level", "error")
    try:
        good = Tenant(ferry, "good")
        good.endpoint(recorder.urls["good"])
        post_round = prepare(ferry, good, dead)
        before, count = memory(ferry.pid)["VmRSS"], 0
        start = time.monotonic()
        with Meter(ferry.pid) as meter:
            for number in range(lasting * ROUNDS_A_SECOND):
                time.sleep(max(0, start + number / ROUNDS_A_SECOND - time.monotonic()))
                count += post_round(number, f"{origin.url}/f/{number}")
            sent = time.monotonic() - start
            arrivals, deadline = [], time.monotonic() + 30
            while sum(arrival.receiver == "good" for arrival in arrivals) < count and time.monotonic() < deadline:
                arrivals += recorder.arrivals()
                time.sleep(0.1)
    finally:
        ferry.stop()
        origin.stop()
        recorder.stop()
    delays = [1000 * (arrival.time - seconds(arrival.timestamp)) for arrival in arrivals if arrival.receiver == "good"]
    reached = {arrival.receiver for arrival in arrivals} - {"good"}
    row = (len(delays), *(f"{percentile(delays, share):.0f}" for share in (0.5, 0.99, 1)), len(arrivals) - len(delays), len(reached),
           f"{sent:.0f}", f"{meter.cpu / meter.wall:.2f}", f"{meter.peak - before:.0f}")
    faults = [text for is_wrong, text in [
        (len(delays) != count, f"{len(delays)} of {count} messages arrived at the good endpoint"),
        (percentile(delays, 0.99) > SLOWEST, f"99 of 100 messages took up to {percentile(delays, 0.99):.0f} ms"),
        (len(reached) < EACH * (len(KINDS) - 1) * 0.9, f"only {len(reached)} dead destinations got messages"),
        (meter.peak - before > GROWTH, f"the service took {meter.peak - before:.0f} MiB")] if is_wrong]
    return row, faults


def main():
    lasting = next((int(a[10:]) for a in sys.argv if a.startswith("--seconds=")), 25)
    raise_descriptors()
    rows, failures = [("dead destinations of", "messages", "p50 ms", "p99 ms", "worst ms", "attempts to the dead", "reached", "seconds",
                       "CPU share", "MiB more")], []
    for name, prepare in {"one tenant": one_tenant, "ten tenants": ten_tenants}.items():
        with scratch() as directory:
            row, faults = measure(prepare, directory, lasting)
        rows.append((name, *row))
        failures += [f"{name}: {fault}" for fault in faults]
    table(rows)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
