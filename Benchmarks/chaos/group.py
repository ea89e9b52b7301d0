#!/usr/bin/env python3
"""Runs 10,000 tasks of one group, of which some fail and some are cancelled, and kills the service (-9) twice meanwhile.

The second kill comes after the group is closed, at a random moment around its completion. There must be one event, and one message to
each receiver, with the numbers of the tasks that the lists show.
usage: group.py [rounds] [--tasks=N] [--seed=N]"""
import collections, os, random, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *
from recorder import Recorder

EVENT = "group.didComplete"
RECEIVERS = ["endpoint", "session"]
OUTCOMES = ["succeeded", "failed", "cancelled"]
BATCH, PATIENCE = 500, 60


def post(ferry, session, group, lines):
    """Creates tasks. Returns the number that the service acknowledged."""
    text = "".join(json.dumps({"kind": "data", "group": group, **line}) + "\n" for line in lines)
    try:
        status, reply = ferry.call("POST", f"/v1/sessions/{session}/tasks", text, {"Content-Type": "application/x-ndjson"})
    except (OSError, http.client.HTTPException):
        return 0
    assert status == 200, reply
    return sum("id" in json.loads(line) for line in reply.splitlines())


class Killer(threading.Thread):
    """Kills the service after a delay, and starts it again."""

    def __init__(self, place, ferry, delay):
        super().__init__()
        self.place, self.ferry, self.delay = place, ferry, delay
        self.start()

    def run(self):
        time.sleep(self.delay)
        self.ferry.kill()
        self.ferry = start(self.place)

    def replaced(self):
        self.join()
        return self.ferry


def start(place):
    return Ferry(place, "--webhook-schedule", "0,0.2,0.5,1,2", "--log-level", "error")


def command(ferry, group, verb):
    """Sends a command until a service confirms it, as a careful client does."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        status, reply = ferry.call("POST", f"/v1/groups/{group}/{verb}", {})
        assert status == 200, reply
        return True
    return False


def run(place, ferry, origin, session, group, count, chance):
    """Returns the service that runs in the end, and the number of acknowledged tasks."""
    kinds = [{"resume": True, "request": {"url": f"{origin.url}/f/1"}}] * (count * 4 // 10)
    kinds += [{"resume": True, "request": {"url": "http://127.0.0.1:1/"}}] * (count * 3 // 10)
    kinds += [{"request": {"url": f"{origin.url}/f/1"}}] * (count - len(kinds))
    chance.shuffle(kinds)
    killer, accepted = Killer(place, ferry, chance.uniform(0.1, 1)), 0
    for begin in range(0, count, BATCH):
        while not (done := post(killer.ferry, session, group, kinds[begin:begin + BATCH])):
            time.sleep(0.05)
        accepted += done
    ferry = killer.replaced()
    assert command(ferry, group, "close")
    killer = Killer(place, ferry, chance.uniform(0, 1.5))
    while not command(killer.ferry, group, "cancel"):
        time.sleep(0.05)
    return killer.replaced(), accepted


def tasks(ferry, group):
    """Returns the number of the group's tasks by outcome, counted in the list of tasks."""
    found, cursor = collections.Counter(), ""
    while cursor is not None:
        status, page = ferry.call("GET", f"/v1/tasks?group={group}&limit=500" + (cursor and f"&cursor={cursor}"))
        assert status == 200, page
        found.update(task["outcome"] for task in page["items"])
        cursor = page["nextCursor"]
    return found


def events(ferry, group):
    status, page = ferry.call("GET", f"/v1/events?after=0&types={EVENT}", headers={"Accept": "application/json"})
    assert status == 200, page
    return [event for event in page["items"] if event["data"]["name"] == group]


def check(ferry, recorder, group, accepted):
    begun, deadline = time.monotonic(), time.monotonic() + PATIENCE
    status, state = ferry.call("GET", f"/v1/groups/{group}", headers={"Prefer": f"wait={PATIENCE}"})
    assert status == 200 and state["state"] == "completed" and time.monotonic() < deadline - 1, \
        f"the reply came after {time.monotonic() - begun:.0f} s: {state}"
    found = tasks(ferry, group)
    assert sum(found.values()) >= accepted, f"{accepted} tasks were accepted, but only {found} are in the list"
    assert found["cancelled"] > 0 and found["failed"] > 0, found
    [event] = events(ferry, group)
    shown = {outcome: event["data"]["tasks"][outcome] for outcome in OUTCOMES}
    assert shown == {outcome: found[outcome] for outcome in OUTCOMES}, (event, found)
    # A repeated attempt would come with the same id.
    while ferry.call("GET", "/v1/webhooks/deliveries?state=pending&limit=1")[1]["items"]:
        assert time.monotonic() < deadline, "a message is not delivered"
        time.sleep(0.1)
    arrivals = recorder.arrivals()
    ids = {name: {arrival.id for arrival in arrivals if arrival.receiver == name} for name in RECEIVERS}
    assert all(len(each) == 1 for each in ids.values()), f"messages: {ids}"
    assert {arrival.timestamp for arrival in arrivals} == {event["time"]}, arrivals
    assert len({arrival.digest for arrival in arrivals}) == 1, "the messages differ"
    status, refusal = ferry.call("POST", "/v1/tasks", {"kind": "data", "group": group, "request": {"url": "http://127.0.0.1:1/"}})
    assert status == 409, refusal
    return (group, sum(found.values()), *(found[outcome] for outcome in OUTCOMES), len(arrivals) - len(RECEIVERS))


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    options = dict(a[2:].split("=") for a in sys.argv if a.startswith("--"))
    seed, count = int(options.get("seed", random.randrange(1 << 30))), int(options.get("tasks", 10_000))
    chance, rounds = random.Random(seed), int(arguments[0]) if arguments else 3
    print(f"{rounds} rounds of {count} tasks, seed {seed}", flush=True)
    rows = [("group", "tasks", *OUTCOMES, "repeated messages")]
    with scratch() as directory:
        place, origin = f"{directory}/ferry", Origin(f"{directory}/origin")
        recorder, ferry = Recorder(f"{directory}/record", {name: "lossy" for name in RECEIVERS}, 0.2, seed), start(place)
        try:
            status, reply = ferry.call("POST", "/v1/webhooks/endpoints", {"url": recorder.urls["endpoint"], "events": [EVENT]})
            assert status == 201, reply
            for number in range(rounds):
                status, session = ferry.call("POST", "/v1/sessions", {
                    "delegate": {"webhook": {"url": recorder.urls["session"], "events": [EVENT]}}})
                assert status == 201, session
                group = f"import-{number}"
                ferry, accepted = run(place, ferry, origin, session["id"], group, count, chance)
                rows.append(check(ferry, recorder, group, accepted))
        finally:
            ferry.stop()
            origin.stop()
            recorder.stop()
    table(rows)
    print("one event and one message to each receiver, with the right numbers")


if __name__ == "__main__":
    main()
