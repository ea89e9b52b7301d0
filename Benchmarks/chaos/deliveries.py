#!/usr/bin/env python3
"""Delivers messages to receivers that fail 30 % of the attempts, and kills the service (-9) twice meanwhile.

Four endpoints and the webhook of a session receive every event of the tasks. At the end, every event of the journal must have arrived
at every destination, with one webhook-id and one body. The messages of a task must have come in the order of its events. A message
that Ferry gave up is sent again first, as its client would do. No destination may starve, and memory must stay bounded.
usage: deliveries.py [deliveries] [--seed=N]"""
import calendar, collections, os, random, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *
from recorder import Recorder

TYPES = ["task.didCreate", "task.didChangeState", "dataTask.didReceiveResponse", "task.didFinishCollectingMetrics", "task.didComplete"]
# A task changes its state twice.
EACH = len(TYPES) + 1
ENDPOINTS, SESSION = ["first", "second", "third", "fourth"], "session"
DESTINATIONS = [*ENDPOINTS, SESSION]
KILLS, LOSS = 2, 0.3
# The attempts of a message are due within two seconds.
SCHEDULE = ",".join(["0", *["0.05"] * 40])
# Tasks with undelivered messages at once, and tasks of a batch. A message that waits for two seconds has one attempt.
AT_ONCE, BATCH = 48, 12
# A busy machine reaches this rate, a free machine with two cores 3,000.
SLOWEST = 1000
# The limit for the peak of the service's memory, and for the slowest destination's median delay as a multiple of the quickest's.
MEMORY, UNFAIR = 256, 3
PATIENCE = 60


class Book:
    """The arrivals so far."""

    def __init__(self, recorder):
        self.recorder, self.all = recorder, []
        # The destinations at which the end of each task has arrived.
        self.ends, self.delivered = collections.Counter(), {}

    def read(self):
        for arrival in self.recorder.arrivals():
            self.all.append(arrival)
            if arrival.status == 204 and arrival.id not in self.delivered:
                self.delivered[arrival.id] = arrival
                self.ends[arrival.task] += arrival.type == "task.didComplete"

    def has_ended(self, task):
        return self.ends[task] == len(DESTINATIONS)


class Service:
    """The service, which is killed and started again with the same data."""

    def __init__(self, directory):
        self.directory, self.peak, self.gaps = directory, 0, []
        self.ferry = self.start()

    def start(self):
        return Ferry(self.directory, "--webhook-schedule", SCHEDULE, "--log-level", "error")

    def kill(self, delay):
        """Kills the service after a delay. Returns the thread that starts it again."""
        thread = threading.Thread(target=self.replace, args=(delay,))
        thread.start()
        return thread

    def replace(self, delay):
        time.sleep(delay)
        self.note_memory()
        since = time.time()
        self.ferry.kill()
        self.ferry = self.start()
        self.gaps.append((since, time.time()))

    def note_memory(self):
        self.peak = max(self.peak, memory(self.ferry.pid)["VmHWM"])


def create(service, recorder):
    """Creates the endpoints and a session, and returns its id."""
    for name in ENDPOINTS:
        status, endpoint = service.ferry.call("POST", "/v1/webhooks/endpoints", {"url": recorder.urls[name], "events": TYPES})
        assert status == 201, endpoint
    status, session = service.ferry.call("POST", "/v1/sessions", {
        "configuration": {"httpMaximumConnectionsPerHost": 64}, "delegate": {"webhook": {"url": recorder.urls[SESSION], "events": TYPES}}})
    assert status == 201, session
    return session["id"]


def run(service, origin, book, session, count, chance):
    """Creates tasks as quickly as their messages are delivered. Returns the tasks that the service acknowledged."""
    accepted, open_tasks, numbers = [], set(), iter(range(1 << 30))
    kills = sorted(chance.randrange(count // 5, count * 4 // 5) for _ in range(KILLS))
    progressed = time.monotonic()
    while len(accepted) < count:
        book.read()
        ended = {task for task in open_tasks if book.has_ended(task)}
        open_tasks -= ended
        if len(open_tasks) > AT_ONCE - BATCH:
            progressed = time.monotonic() if ended else progressed
            assert time.monotonic() < progressed + PATIENCE, f"{len(open_tasks)} tasks have undelivered messages"
            time.sleep(0.002)
            continue
        killer = service.kill(chance.uniform(0, 0.05)) if kills and len(accepted) >= kills[0] else None
        tasks = post(service, origin, session, numbers)
        accepted += tasks
        open_tasks.update(tasks)
        if killer:
            killer.join()
            kills.pop(0)
            # Messages that waited meanwhile may be given up.
            open_tasks = set()
    return accepted


def post(service, origin, session, numbers):
    lines = "".join(json.dumps({"kind": "data", "resume": True, "request": {"url": f"{origin.url}/f/{next(numbers)}"}}) + "\n"
                    for _ in range(BATCH))
    try:
        status, text = service.ferry.call("POST", f"/v1/sessions/{session}/tasks", lines, {"Content-Type": "application/x-ndjson"})
    except (OSError, http.client.HTTPException):
        return []
    assert status == 200, text
    return [json.loads(line)["id"] for line in text.splitlines()]


def deliveries(service, state):
    """Returns the deliveries in a state."""
    found, cursor = [], ""
    while cursor is not None:
        status, page = service.ferry.call("GET", f"/v1/webhooks/deliveries?state={state}&limit=500" + (cursor and f"&cursor={cursor}"))
        assert status == 200, page
        found += page["items"]
        cursor = page["nextCursor"]
    return found


def settle(service, book):
    """Waits until every message is delivered. Returns the ids of those that were given up before."""
    given_up, deadline = set(), time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline, "messages were neither delivered nor given up"
        time.sleep(0.2)
        if service.ferry.call("GET", "/v1/webhooks/deliveries?state=pending&limit=1")[1]["items"]:
            continue
        failed = deliveries(service, "failed")
        if not failed:
            break
        given_up |= {delivery["webhookId"] for delivery in failed}
        status, reply = service.ferry.call("POST", "/v1/webhooks/deliveries/redeliver", {"state": "failed"})
        assert status in (200, 202) and reply["redelivered"] == len(failed), (status, reply, len(failed))
    book.read()
    return given_up


def journal(service):
    """Returns the events of each task, in order, as pairs of type and time."""
    found, after = collections.defaultdict(list), 0
    while True:
        status, page = service.ferry.call(
            "GET", f"/v1/events?after={after}&limit=500&types={','.join(TYPES)}", headers={"Accept": "application/json"})
        assert status == 200, page
        if not page["items"]:
            return found
        for event in page["items"]:
            found[event["taskId"]].append((event["type"], event["time"]))
        after = page["nextAfter"]


def check(book, events, accepted, given_up):
    assert set(accepted) <= events.keys(), "an accepted task has no events"
    about = {}
    for arrival in book.all:
        known = about.setdefault(arrival.id, arrival)
        assert known[5:] == arrival[5:] and known.receiver == arrival.receiver, f"two messages have one id: {known}, {arrival}"
    firsts, successes = {}, collections.defaultdict(list)
    for number, arrival in enumerate(book.all):
        firsts.setdefault(arrival.id, number)
        if arrival.status == 204 and arrival is book.delivered[arrival.id]:
            successes[arrival.receiver, arrival.task].append((number, arrival))
    for task, expected in events.items():
        for name in DESTINATIONS:
            check_task(task, name, expected, successes[name, task], firsts, given_up)
    wanted = sum(map(len, events.values())) * len(DESTINATIONS)
    assert len(about) == wanted, f"{len(about)} messages for {wanted} events and destinations"


def check_task(task, name, expected, arrived, firsts, given_up):
    found = [(arrival.type, arrival.timestamp) for _, arrival in arrived]
    assert sorted(found) == sorted(expected), f"{name} got {found} for {expected} of {task}"
    # Messages that are sent again come later.
    ordered = [pair for pair in arrived if pair[1].id not in given_up]
    wanted = list(expected)
    for _, arrival in arrived:
        if arrival.id in given_up:
            wanted.remove((arrival.type, arrival.timestamp))
    assert [(arrival.type, arrival.timestamp) for _, arrival in ordered] == wanted, f"{name} got {found}, but {task} had {expected}"
    for (number, _), (_, following) in zip(ordered, ordered[1:]):
        assert firsts[following.id] > number, f"{following.id} was sent to {name} before the message before it had arrived"


def seconds(timestamp):
    return calendar.timegm(time.strptime(timestamp[:19], "%Y-%m-%dT%H:%M:%S")) + float(timestamp[19:-1])


def rate(delivered, gaps):
    """Returns the messages that were delivered in a second. Starts of the service do not count."""
    times = sorted(arrival.time for arrival in delivered)
    down = sum(end - since for since, end in gaps)
    return len(times) / (times[-1] - times[0] - down)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    seed = next((int(a[7:]) for a in sys.argv if a.startswith("--seed=")), random.randrange(1 << 30))
    count = int(arguments[0]) // (EACH * len(DESTINATIONS)) if arguments else 3334
    print(f"{count} tasks, seed {seed}", flush=True)
    with scratch() as directory:
        recorder = Recorder(f"{directory}/record", {name: "lossy" for name in DESTINATIONS}, LOSS, seed)
        origin, service, book = Origin(f"{directory}/origin"), Service(f"{directory}/ferry"), Book(recorder)
        try:
            session = create(service, recorder)
            accepted = run(service, origin, book, session, count, random.Random(seed))
            until = time.time()
            given_up = settle(service, book)
            service.note_memory()
            events = journal(service)
        finally:
            service.ferry.stop()
            origin.stop()
            recorder.stop()
    check(book, events, accepted, given_up)
    steady = [arrival for arrival in book.delivered.values() if arrival.time < until]
    delays = {name: [1000 * (arrival.time - seconds(arrival.timestamp)) for arrival in steady
                     if arrival.receiver == name and arrival.id not in given_up] for name in DESTINATIONS}
    table([("destination", "messages", "p50 ms", "p99 ms", "worst ms")] + [
        (name, len(values), *(f"{percentile(values, share):.0f}" for share in (0.5, 0.99, 1))) for name, values in delays.items()])
    found = rate(steady, service.gaps)
    table([("delivered", "attempts", "given up and sent again", "delivered a second", "peak MiB"),
           (len(book.delivered), len(book.all), len(given_up), f"{found:.0f}", f"{service.peak:.0f}")])
    medians = [percentile(values, 0.5) for values in delays.values()]
    assert max(medians) <= UNFAIR * min(medians), "one destination waits for the others"
    assert found >= SLOWEST, "the messages are delivered too slowly"
    assert service.peak <= MEMORY, "the service takes too much memory"
    print("no message lost, ids stable, each task's messages in order")


if __name__ == "__main__":
    main()
