#!/usr/bin/env python3
"""Sends a file to a URL with PUT. Ferry repeats the upload if the connection fails.
usage: upload_file.py FILE URL"""
import pathlib, sys
from ferry_client import Client, FerryError, raise_for_error

if len(sys.argv) != 3:
    sys.exit(__doc__)
client = Client()
try:
    stored = client.create_file(pathlib.Path(sys.argv[1]))
    try:
        task = client.create_shared_task({
            "kind": "upload", "resume": True, "failOnStatus": True, "retry": {"maximumAttempts": 5},
            "request": {"url": sys.argv[2], "method": "PUT", "body": {"file": stored["id"]}}})
        raise_for_error(client.wait(task["id"]))
    finally:
        client.delete_file(stored["id"])
except (FerryError, OSError) as error:
    sys.exit(f"upload_file.py: {error}")
print(f"{stored['size']} bytes sent")
