#!/usr/bin/env python3
"""Repeats kill -9 at random moments of a batch of downloads with webhooks, on one data directory.

At the end, no accepted task and no webhook may be lost, duplicates must have the same webhook-id, and the database must be intact.
usage: kill.py [rounds] [--seed=N]"""
import base64, os, random, re, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *
from receiver import Receiver

SECRET = base64.b64encode(b"a secret of thirty-two bytes ....").decode()
JOBS = 5000


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    rounds = int(arguments[0]) if arguments else 20
    seed = next((int(a[7:]) for a in sys.argv if a.startswith("--seed=")), random.randrange(1 << 30))
    chance = random.Random(seed)
    print(f"{rounds} rounds, seed {seed}")
    receiver, accepted = Receiver(SECRET), set()
    with scratch() as directory:
        origin = Origin(f"{directory}/origin")
        place = f"{directory}/ferry"
        for number in range(rounds):
            ferry = Ferry(place)
            accepted |= post_until_killed(ferry, origin, receiver, chance.uniform(0.02, 0.7), number)
        ferry = Ferry(place)
        ended = check_tasks(ferry, accepted)
        wait_for_webhooks(receiver, accepted)
        ferry.stop()
        origin.stop()
        integrity = subprocess.check_output(["sqlite3", f"{place}/ferry.db", "PRAGMA integrity_check"], text=True).strip()
    duplicates = sum(len(ids) - 1 for ids in receiver.ids.values())
    assert receiver.bad == 0 and integrity == "ok", (receiver.bad, integrity)
    assert all(len(set(ids)) == 1 for ids in receiver.ids.values()), "one message has two ids"
    table([("accepted", "completed", "networkConnectionLost", "webhooks", "repeated", "integrity"),
           (len(accepted), ended["completed"], ended["lost"], len(receiver.ids), duplicates, integrity)])
    print("no accepted task lost, no webhook lost, repeats only with the same id")


def post_until_killed(ferry, origin, receiver, delay, number):
    """Posts a batch and kills the service after `delay`. Returns the tasks that it had acknowledged."""
    session = ferry.session(httpMaximumConnectionsPerHost=64)
    line = {"kind": "download", "resume": True, "completion": {"webhook": {"url": receiver.url, "secret": "whsec_" + SECRET}}}
    accepted = set()

    def post():
        for start in range(0, JOBS, 100):
            lines = "".join(
                json.dumps({**line, "request": {"url": f"{origin.url}/f/{number}-{i}"}}) + "\n"
                for i in range(start, start + 100))
            try:
                status, text = ferry.call(
                    "POST", f"/v1/sessions/{session}/tasks", lines, {"Content-Type": "application/x-ndjson"})
            except (OSError, http.client.HTTPException):
                return
            assert status == 200
            accepted.update(json.loads(answer)["id"] for answer in text.splitlines())

    poster = threading.Thread(target=post)
    poster.start()
    time.sleep(delay)
    ferry.kill()
    poster.join()
    return accepted


def check_tasks(ferry, accepted):
    ended = {"completed": 0, "lost": 0}
    for task in accepted:
        deadline = time.monotonic() + 60
        while True:
            status, body = ferry.call("GET", f"/v1/tasks/{task}")
            assert status == 200, (task, status)
            if body["state"] == "completed":
                break
            assert time.monotonic() < deadline, body
            time.sleep(0.05)
        if body["error"] is None:
            ended["completed"] += 1
            assert body["body"]["size"] == 1024
        else:
            assert body["error"]["name"] == "networkConnectionLost", body["error"]
            ended["lost"] += 1
    return ended


def wait_for_webhooks(receiver, accepted):
    deadline = time.monotonic() + 120
    while True:
        with receiver.lock:
            missing = accepted - receiver.ids.keys()
        if not missing:
            return
        assert time.monotonic() < deadline, f"{len(missing)} webhooks are missing, {next(iter(missing))} for one"
        time.sleep(0.2)


if __name__ == "__main__":
    main()
