"""The errors of the client. All of them are a `FerryError`."""
from __future__ import annotations

import json
from http.client import HTTPMessage
from typing import TYPE_CHECKING, List, Optional

if TYPE_CHECKING:
    from .models import FieldError, Task


class FerryError(Exception):
    """The base of all errors of this package."""


class UnreachableError(FerryError):
    """The service cannot be reached, or its reply broke off."""


class ProblemError(FerryError):
    """The service refused a request (RFC 9457)."""

    def __init__(self, status: int, type: str, title: str, detail: Optional[str] = None,
                 errors: Optional[List[FieldError]] = None, line: Optional[int] = None,
                 retry_after: Optional[float] = None, request_id: Optional[str] = None) -> None:
        self.status = status
        #: The path of the problem's page, such as `/problems/not-found`.
        self.type = type
        self.title = title
        self.detail = detail
        #: Each field at fault, with its JSON pointer.
        self.errors: List[FieldError] = errors or []
        #: The line of a batch.
        self.line = line
        #: The seconds until a repeat makes sense.
        self.retry_after = retry_after
        self.request_id = request_id
        fields = "".join(f"; {each['pointer']}: {each['detail']}" for each in self.errors)
        super().__init__(f"{status} {title}" + (f": {detail}" if detail else "") + fields)

    @property
    def name(self) -> str:
        """The last part of `type`, such as `not-found`."""
        return self.type.rsplit("/", 1)[-1]

    @classmethod
    def reply(cls, status: int, fields: HTTPMessage, body: bytes) -> ProblemError:
        try:
            members = json.loads(body)
        except ValueError:
            members = None
        if not isinstance(members, dict):
            members = {}
        delay = fields.get("Retry-After") or ""
        return cls(status, members.get("type", "about:blank"), members.get("title", "the reply is not a problem document"),
                   members.get("detail"), members.get("errors"), members.get("line"),
                   float(delay) if delay.isdecimal() else None, fields.get("Request-Id"))


class TaskFailedError(FerryError):
    """A task ended with an error. `name` and `code` are Apple's, or those of `FerryErrorDomain`."""

    def __init__(self, task: Task) -> None:
        error = task.get("error")
        if error is None:
            raise ValueError("task: the task has no error")
        self.task = task
        self.domain, self.code, self.name, self.message = error["domain"], error["code"], error["name"], error["message"]
        super().__init__(f"{task['id']}: {self.name} ({self.code}): {self.message}")


class WaitTimeoutError(FerryError, TimeoutError):
    """The task has not ended in time. `task` is its last state."""

    def __init__(self, task: Task) -> None:
        self.task = task
        super().__init__(f"{task['id']} has not ended: {task.get('phase') or task['state']}")


class DigestError(FerryError):
    """Content arrived that differs from its `Repr-Digest`."""


class WebhookVerificationError(FerryError):
    """A message is not the service's, or too old."""


def raise_for_error(task: Task) -> Task:
    """Return the task, or raise `TaskFailedError` if it ended with an error."""
    if task.get("error"):
        raise TaskFailedError(task)
    return task
