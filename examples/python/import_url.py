#!/usr/bin/env python3
"""Downloads a URL into Ferry, which posts a webhook message when the download has ended.
usage: [SECRET=whsec_…] import_url.py URL WEBHOOK"""
import os, sys
from ferry_client import Client, FerryError, models

if len(sys.argv) != 3:
    sys.exit(__doc__)
url, webhook = sys.argv[1:]
receiver: models.CompletionWebhookCreation = {"url": webhook}
if "SECRET" in os.environ:
    receiver["secret"] = os.environ["SECRET"]  # without it, the service signs with its own secret
try:
    task = Client().create_shared_task({
        "kind": "download", "resume": True, "failOnStatus": True, "request": {"url": url}, "retry": {"maximumAttempts": 5},
        "completion": {"webhook": receiver}})
except FerryError as error:
    sys.exit(f"import_url.py: {error}")
print(task["id"])
