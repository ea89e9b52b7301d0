#!/usr/bin/env python3
"""Downloads a URL to a file, and logs in if the server asks for a user and a password.
usage: ORIGIN_USER=… ORIGIN_PASSWORD=… answer_challenge.py URL FILE"""
import os, sys
from ferry_client import Client, FerryError, raise_for_error

if len(sys.argv) != 3:
    sys.exit(__doc__)


def answer(challenge):
    """The answer to one challenge. A password that was refused is not sent again."""
    if challenge["previousFailureCount"] > 0:
        return {"disposition": "cancelAuthenticationChallenge"}
    return {"disposition": "useCredential", "credential": {
        "user": os.environ["ORIGIN_USER"], "password": os.environ["ORIGIN_PASSWORD"]}}


client = Client()
try:
    session = client.create_session({"delegate": {"taskChallenges": "ask"}})
    with client.stream_session_events(session["id"], types=["task.didReceiveChallenge", "task.didComplete"]) as events:
        task = client.create_task(session["id"], {
            "kind": "download", "resume": True, "failOnStatus": True, "request": {"url": sys.argv[1]}})
        for event in events:
            if event["type"] == "task.didComplete":
                break
            if event["type"] == "task.didReceiveChallenge":
                print(f"{event['data']['protectionSpace']['host']} asks for a password")
                client.answer_decision(event["data"]["decisionId"], answer(event["data"]))
    raise_for_error(client.get_task(task["id"]))
    client.save_body(task["id"], sys.argv[2])
    client.invalidate_session(session["id"])
except (FerryError, OSError) as error:
    sys.exit(f"answer_challenge.py: {error}")
