"""The client: all operations, and calls for the common combinations of them."""
from __future__ import annotations

import json
import os
import pathlib
import time
from typing import TYPE_CHECKING, Iterable, List, Optional, Union

from .errors import ProblemError, WaitTimeoutError, raise_for_error
from .operations import Operations
from .transport import new_key, segment

if TYPE_CHECKING:
    from .models import SessionID, StoredFile, Task, TaskCreation, TaskID

LONGEST_WAIT = 60.0
MOST_LINES = 1000
MOST_BYTES = 8 * 1024 * 1024
_clock = time.monotonic


class Client(Operations):
    """A client of a Ferry service. Threads may share it.

    The objects are dictionaries with the names of the contract: `task["response"]["status"]`. Every operation of the
    contract is a method. A request that fails is repeated if that is safe.
    """

    def wait(self, task: TaskID, timeout: Optional[float] = None) -> Task:
        """Wait until a task has ended, and return it. A suspended task does not end.

        timeout: The seconds after which `WaitTimeoutError` is raised. By default, the wait has no limit.
        """
        end = None if timeout is None else _clock() + timeout
        while True:
            rest = LONGEST_WAIT if end is None else min(LONGEST_WAIT, max(0.0, end - _clock()))
            found = self.get_task(task, wait=rest)
            if found["state"] == "completed":
                return found
            if end is not None and _clock() >= end:
                raise WaitTimeoutError(found)

    def download(self, url: str, path: Union[str, os.PathLike[str]], *, session: SessionID = "ses_shared",
                 timeout: Optional[float] = None) -> Task:
        """Download a URL to a file, and return the task. A status of 400 or more is an error (`TaskFailedError`)."""
        task = self.create_task(session, {"kind": "download", "resume": True, "failOnStatus": True, "request": {"url": url}})
        ended = raise_for_error(self.wait(task["id"], timeout))
        self.save_body(ended["id"], path)
        return ended

    def save_body(self, task: TaskID, path: Union[str, os.PathLike[str]]) -> pathlib.Path:
        """Write the body of a task's response to a file, and check its digest."""
        return self.get_body(task).save(path)

    def save_file(self, file: str, path: Union[str, os.PathLike[str]]) -> pathlib.Path:
        """Write a stored file to a file, and check its digest."""
        return self.get_file(file).save(path)

    def create_file_from_task(self, task: TaskID, *, idempotency_key: Optional[str] = None) -> StoredFile:
        """Keep the body of a task that has ended as a stored file."""
        stored: StoredFile = self._json("POST", "/v1/files", body={"fromTask": task}, key=idempotency_key or new_key())
        return stored

    def create_tasks(self, creations: Iterable[TaskCreation], *,
                     session: SessionID = "ses_shared") -> List[Union[Task, ProblemError]]:
        """Create many tasks, and return a task or a problem for each of them, in the same order.

        The tasks are created in batches of 1,000. A batch is created as a whole, or not at all.
        """
        results: List[Union[Task, ProblemError]] = []
        lines: List[bytes] = []
        size = 0
        for creation in creations:
            line = json.dumps(creation).encode() + b"\n"
            if lines and (len(lines) == MOST_LINES or size + len(line) > MOST_BYTES):
                results += self._batch(session, lines)
                lines, size = [], 0
            lines.append(line)
            size += len(line)
        return results + (self._batch(session, lines) if lines else [])

    def _batch(self, session: SessionID, lines: List[bytes]) -> List[Union[Task, ProblemError]]:
        reply = self._send("POST", f"/v1/sessions/{segment(session)}/tasks", content=b"".join(lines),
                           content_type="application/x-ndjson", accept="application/x-ndjson", key=new_key())
        found = [json.loads(line) for line in reply.read().splitlines()]
        return [each if "id" in each else ProblemError(each["status"], each["type"], each["title"], each.get("detail"),
                                                       each.get("errors"), each.get("line")) for each in found]
