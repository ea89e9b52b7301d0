#!/usr/bin/env python3
"""Downloads the URLs of a list, one a line, to a directory, and shows the progress.
usage: mirror_list.py LIST DIRECTORY"""
import pathlib, sys, uuid
from urllib.parse import urlsplit
from ferry_client import Client, FerryError, ProblemError

if len(sys.argv) != 3:
    sys.exit(__doc__)
urls = pathlib.Path(sys.argv[1]).read_text().split()
directory = pathlib.Path(sys.argv[2])
names = [pathlib.PurePosixPath(urlsplit(url).path).name for url in urls]
names = ["index.html" if name in ("", "..") else name for name in names]
if twice := {name for name in names if names.count(name) > 1}:
    sys.exit(f"mirror_list.py: several URLs have these names: {', '.join(sorted(twice))}")
client, group, failures = Client(), f"mirror-{uuid.uuid4()}", 0
try:
    directory.mkdir(parents=True, exist_ok=True)
    results = client.create_tasks({
        "kind": "download", "resume": True, "failOnStatus": True, "retry": {"maximumAttempts": 5}, "group": group,
        "labels": {"file": name}, "request": {"url": url}} for name, url in zip(names, urls))
    for url, result in zip(urls, results):
        if isinstance(result, ProblemError):
            failures += 1
            print(f"{url}: {result}", file=sys.stderr)
    if failures < len(urls):
        found = client.close_group(group)
        while True:
            tasks = found["tasks"]
            ended = sum(tasks[outcome] for outcome in ("succeeded", "failed", "cancelled"))
            print(f"{ended} of {sum(tasks.values())} files, {found['countOfBytesReceived']:,} bytes", flush=True)
            if found["state"] == "completed":
                break
            found = client.get_group(group, wait=1)
        for task in client.iterate_all_tasks(group=group):
            if error := task.get("error"):
                failures += 1
                print(f"{task['originalRequest']['url']}: {error['message']}", file=sys.stderr)
            else:
                client.save_body(task["id"], directory / task["labels"]["file"])
except (FerryError, OSError) as error:
    sys.exit(f"mirror_list.py: {error}")
sys.exit(1 if failures else 0)
