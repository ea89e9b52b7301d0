#!/usr/bin/env python3
"""Two services on one data directory under load. Alternately, one of them is killed (-9), frozen (SIGSTOP) or ended (SIGTERM) at a
random moment and then replaced. In other rounds it is frozen for a second, or the worker is killed.

At the end, no accepted task and no webhook may be lost. Each task must end once, duplicates must have the same webhook-id, and each
stream must contain each event once, in one order. The database must be intact, and background tasks must have continued. Requests
and tasks may fail only because of a kill or a freeze: SIGTERM must go unnoticed.
usage: takeover.py [rounds] [--seed=N] [--beside=BINARY] [--burners=N]
--beside: another build of Ferry; each service runs one of the builds. --burners: processes that keep the cores busy."""
import os, random, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from clients import *
from kill import SECRET, wait_for_webhooks
from receiver import Receiver

PAUSE, WORKER = "pause", "worker"
ENDS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGTERM, signal.SIGTERM, signal.SIGSTOP, PAUSE, WORKER]
# The lease in seconds, after which a frozen service is taken over.
LEASE = 10
# Seconds after which each service has checked the other.
LOOK = 2


def option(name, default=None):
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), default)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds = int(arguments[0]) if arguments else 50
    seed = int(option("seed", random.randrange(1 << 30)))
    random.seed(seed)
    print(f"{rounds} rounds, seed {seed}", flush=True)
    receiver = Receiver(SECRET)
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(int(option("burners", 0)))]
    try:
        with scratch() as directory:
            torment(directory, rounds, seed, receiver)
    finally:
        for burner in burners:
            stop(burner)


def torment(directory, rounds, seed, receiver):
    origin = Origin(f"{directory}/origin")
    place = f"{directory}/ferry"
    pair = Pair(place, [FERRY] + [b for b in [option("beside")] if b])
    try:
        load = Load(pair, origin, receiver, SECRET, seed)
        counts = {end: 0 for end in ENDS}
        try:
            for _ in range(rounds):
                time.sleep(random.uniform(0.3, 1.5))
                victim, how = random.randrange(2), random.choice(ENDS)
                counts[how] += 1
                disturb(pair, victim, how)
                assert not load.errors, load.errors
        finally:
            load.end()
        assert not load.errors, load.errors
        figures = check(pair, load, place, receiver)
        print({getattr(end, "name", end): count for end, count in counts.items()})
        table(figures)
    except BaseException:
        if keep := os.environ.get("KEEP"):
            shutil.copytree(directory, keep, dirs_exist_ok=True, ignore=lambda _, names: [
                n for n in names if n.endswith((".socket", ".bell", ".feed"))])
        raise
    finally:
        for ferry in pair.ferries:
            ferry.stop()
        subprocess.run([FERRY, "stop", "--worker", "--data-directory", place], stdout=subprocess.DEVNULL)
        origin.stop()
    print("no accepted task lost, no webhook lost, repeats only with the same id, no event lost or repeated")


def disturb(pair, victim, how):
    since = time.time()
    if how == WORKER:
        with contextlib.suppress(OSError, ValueError), open(f"{pair.place}/worker.lock") as f:
            os.kill(json.load(f)["pid"], signal.SIGKILL)
        return
    process = pair.ferries[victim].process
    # The period begins before the fault, because other threads read it meanwhile.
    end = [since, float("inf"), victim, how]
    pair.ends.append(end)
    if how in (PAUSE, signal.SIGSTOP):
        pair.silent = victim
        process.send_signal(signal.SIGSTOP)
        time.sleep(random.uniform(0.1, 3) if how == PAUSE else LEASE + LOOK)
        process.send_signal(signal.SIGCONT)
        pair.silent = None
    else:
        process.send_signal(how)
    if how != PAUSE:
        code = process.wait(timeout=60)
        # A frozen service exits by itself after it continues, or a starting service kills it.
        assert code in {signal.SIGKILL: [-9], signal.SIGTERM: [0], signal.SIGSTOP: [1, -9]}[how], (how, code)
        pair.ferries[victim].log.close()
        pair.replace(victim)
    end[1] = time.time() + (0 if how == signal.SIGTERM else LOOK)


def check(pair, load, place, receiver):
    chance = random.Random(0)
    tasks = {}
    for session in list(load.sessions):
        if session in load.deleted:
            continue
        deadline = time.time() + 120
        while True:
            found = load.pages(chance, f"/v1/sessions/{session}/tasks")
            if all(task["state"] == "completed" for task in found):
                break
            assert time.time() < deadline, f"tasks of {session} did not end: {[t for t in found if t['state'] != 'completed'][0]}"
            time.sleep(0.1)
        tasks |= {task["id"]: task for task in found}
    urls = [task["originalRequest"]["url"] for task in tasks.values()]
    assert len(set(urls)) == len(urls), "one request created two tasks"
    lost = load.accepted.keys() - tasks.keys()
    assert not lost, f"{len(lost)} accepted tasks are lost, such as {min(lost)}"
    ended = {"completed": 0, CONNECTION_LOST: 0, CANCELLED: 0}
    for task, url in load.accepted.items():
        found = tasks[task]
        assert found["originalRequest"]["url"] == url
        name = found["error"]["name"] if found["error"] else "completed"
        allowed = {"completed", *load.mayEnd[task]}
        if load.sessions[found["sessionId"]] == "default" and pair.is_rough(*[seconds(found["completedAt"]) + d for d in (-0.1, 0.1)]):
            allowed.add(CONNECTION_LOST)
        assert name in allowed, found
        ended[name] += 1
        if name == "completed" and "/f/" in url:
            assert found["body"]["size"] == 1024, found
    check_events(pair, load, tasks)
    wait_for_webhooks(receiver, load.messages)
    excuses = pair.inexcusable()
    assert not excuses, (len(excuses), excuses[:5])
    for ferry in pair.ferries:
        ferry.stop()
    subprocess.run([FERRY, "stop", "--worker", "--data-directory", place], stdout=subprocess.DEVNULL)

    def ask(sql):
        return subprocess.check_output(["sqlite3", f"{place}/ferry.db", sql], text=True).strip()
    integrity, unfinished = ask("PRAGMA integrity_check"), ask("SELECT count(*) FROM task WHERE state <> 'completed'")
    assert receiver.bad == 0 and integrity == "ok" and unfinished == "0", (receiver.bad, integrity, unfinished)
    assert all(len(set(ids)) == 1 for ids in receiver.ids.values()), "one message has two ids"
    repeats = sum(len(ids) - 1 for ids in receiver.ids.values())
    events = sum(len(ids) for _, ids in load.streams)
    return [("accepted", *ended, "answers", "unanswered", "events", "webhooks", "repeated", "integrity"),
            (len(load.accepted), *ended.values(), pair.answers, len(pair.faults), events, len(receiver.ids), repeats, integrity)]


def check_events(pair, load, tasks):
    """Checks that both services have the same events, that each task ends once, and that each stream is a part of them."""
    chance = random.Random(1)
    _, last = pair.insist(chance, "POST", f"/v1/sessions/{list(load.sessions)[0]}/tasks", load.line(list(load.sessions)[0]))
    load.messages.add(last["id"])
    stories = [replay(ferry, "/v1/events", last["id"]) for ferry in pair.ferries]
    assert stories[0] == stories[1], "the two services have different events"
    story = stories[0]
    ids = [event[0] for event in story]
    assert all(a < b for a, b in zip(ids, ids[1:])), "events are out of order"
    ends = [task for _, kind, _, task in story if kind == "task.didComplete"]
    assert len(set(ends)) == len(ends), "a task ended twice"
    assert tasks.keys() <= set(ends), "the event of a task's end is missing"
    for session, heard in load.streams:
        if not heard:
            continue
        written = [number for number, _, of, _ in story if (session is None or of == session) and number <= heard[-1]]
        if session is None:
            # The events of deleted sessions are no longer returned.
            missing = set(written) - set(heard)
        else:
            missing = set(written) ^ set(heard)
        assert not missing, f"a stream of {session or 'all'} lacks {len(missing)} events, such as {min(missing)}"


def seconds(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


if __name__ == "__main__":
    main()
