"""The operations of the contract. clients/generate.py writes this file from openapi.yaml."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Literal, Optional

from . import models
from .events import EventStream
from .transport import Content, ContentReply, Transport, new_key, pages, segment as _segment


class Operations(Transport):
    """One method for each operation of the service, by its operationId in Python's spelling."""

    def create_session(
        self, body: models.SessionCreation, *, idempotency_key: Optional[str] = None
    ) -> models.Session:
        """Create a session.

        The configuration and the delegate of a session cannot change after its creation.

        The identifier of a background session belongs to one session until the session is invalid. A further request
        with the same identifier does not create another one:

        - If configuration, delegate and description are those of the existing session, the reply is 200 with that
          session. Properties that have no effect in background sessions may differ.
        - If one of them differs otherwise, or if the session is being invalidated, the reply is 409
          `identifier-in-use`.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/sessions", body=body, key=idempotency_key or new_key())

    def list_sessions(
        self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None, type: Optional[models.SessionType] = None,
        state: Optional[models.SessionState] = None
    ) -> models.SessionPage:
        """List the sessions, oldest first.

        The list includes invalid sessions until they are deleted. For the next page, pass `nextCursor` as `cursor`, or
        follow the `Link`.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        - `type`: The list has only sessions of this type.
        - `state`: The list has only sessions in this state.
        """
        return self._json(
            "GET", "/v1/sessions", query={"limit": limit, "cursor": cursor, "order": order, "type": type,
            "state": state})

    def iterate_sessions(
        self, *, order: Optional[Literal["oldest", "newest"]] = None, type: Optional[models.SessionType] = None,
        state: Optional[models.SessionState] = None
    ) -> Iterator[models.Session]:
        """Return the items of all pages of `list_sessions`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_sessions(
            order=order, type=type, state=state, cursor=cursor, limit=500))

    def get_session(self, session: models.SessionID) -> models.Session:
        """Read a session.

        The reply has the effective configuration and delegate, including defaults. It has no secrets.
        """
        return self._json("GET", f"/v1/sessions/{_segment(session)}")

    def delete_session(self, session: models.SessionID) -> None:
        """Delete an invalid session with its tasks, bodies, decisions and events.

        A session must be invalid before it can be deleted; otherwise the reply is 409. After the deletion, no part of
        the session can be read.
        """
        self._nothing("DELETE", f"/v1/sessions/{_segment(session)}")

    def invalidate_session(
        self, session: models.SessionID, body: Optional[models.Invalidation] = None
    ) -> models.Session:
        """Invalidate a session.

        The operation corresponds to `URLSession.finishTasksAndInvalidate()` or, with `cancelTasks`,
        `invalidateAndCancel()`. The session accepts no further tasks. Its state becomes `invalidating`, or `invalid` at
        once if every task has ended. Suspended tasks have not ended.

        You may call the operation again, for example to cancel the tasks after `finishTasks`. The shared session cannot
        be invalidated (409).
        """
        return self._json("POST", f"/v1/sessions/{_segment(session)}/invalidate", body=body)

    def reset_session(self, session: models.SessionID) -> models.Session:
        """Delete the cookies, the cache and the credentials of a session.

        The operation corresponds to `URLSession.reset()`. Running transfers continue. Later requests of the session
        open new connections.
        """
        return self._json("POST", f"/v1/sessions/{_segment(session)}/reset")

    def flush_session(self, session: models.SessionID) -> models.Session:
        """Write cookies and cache to disk, and close idle connections.

        The operation corresponds to `URLSession.flush()`. After the reply, the session's cookies and cache survive a
        failure of the machine. An ephemeral session has nothing on disk, so Ferry closes only its idle connections.
        Running transfers continue.
        """
        return self._json("POST", f"/v1/sessions/{_segment(session)}/flush")

    def create_task(
        self, session: models.SessionID, body: models.TaskCreation, *, include: Optional[Literal["body"]] = None,
        wait: Optional[float] = None, idempotency_key: Optional[str] = None
    ) -> models.Task:
        """Create one task or a batch of tasks.

        `application/json` creates one task. With `Prefer: wait=N`, the reply waits for the end of the task, for at most
        N seconds. Ferry does not wait if `resume` is false, because a suspended task does not end. The reply is then 202
        with a `hint`.

        A task has a completion handler if the reply waits for its end, or if the request has `completion`. The delegate
        of such a task still decides about challenges, redirects and delayed requests. It does not decide about
        responses and caching. Its webhook receives neither `downloadTask.didFinishDownloading` nor `task.didComplete`,
        but event streams have all events. In a background session, the completion webhook receives one more message at
        the end of the task, `Prefer: wait` only waits, and the delegate's webhook still receives all of its events.

        `application/x-ndjson` creates a batch, one task a line:

        - A batch has at most 20000 lines and 64 MiB, and a line has at most 1 MiB. A larger batch gets 413.
        - The request bodies of all lines have at most 64 MiB together. They include the bodies of uploads that the
          batch resumes with `resumeData`. Each line that exceeds the limit gets a problem with status 413 instead of a
          task. Send it in another batch.
        - The reply has one line, a task or a problem, for each line of the batch, in the same order. It has none for
          blank lines.
        - `Prefer` and `include` have no effect on a batch.
        - Without an `Idempotency-Key`, Ferry creates the tasks in groups of 256 lines while the batch arrives. The
          limit for request bodies then applies to each group. If an error ends the batch after the first group, the
          reply is 200 and its last line is the problem.
        - With an `Idempotency-Key`, Ferry creates the tasks of all valid lines together, or none of them.

        Options:

        - `include`: With `body`, the task's `body` also has the bytes: as `text` if they are UTF-8, and otherwise
          as `base64`. Larger bodies are left out; the limit is a setting of the service (`--small-body-limit`, 32
          KiB by default). When a task is created, `include` has an effect only with `Prefer: wait`.
        - `wait`: Ferry replies when the awaited state is reached, or after this number of seconds, at most 300.
        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json(
            "POST", f"/v1/sessions/{_segment(session)}/tasks", query={"include": include}, body=body, wait=wait,
            key=idempotency_key or new_key())

    def list_tasks(
        self, session: models.SessionID, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None, kind: Optional[models.TaskKind] = None,
        state: Optional[models.TaskState] = None, outcome: Optional[models.TaskOutcome] = None,
        group: Optional[models.GroupName] = None, label: Optional[List[str]] = None, url: Optional[str] = None,
        url_prefix: Optional[str] = None, description: Optional[str] = None, never_resumed: Optional[bool] = None,
        since: Optional[str] = None, id: Optional[str] = None
    ) -> models.TaskPage:
        """List the tasks of a session.

        The operation corresponds to `URLSession.allTasks`. The list includes tasks that have ended, until they expire
        (`--task-retention`, 30 days by default). For the next page, pass `nextCursor` as `cursor`, or follow the
        `Link`.

        A task must match all filters. The filters `url`, `urlPrefix`, `description` and a second `label` look at 5000
        tasks a page at most, the newest first unless `order` is given. A page may therefore have few tasks, or none, and
        still have a `nextCursor`.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        - `kind`: The list has only tasks of this kind.
        - `state`: The list has only tasks in this state.
        - `outcome`: The list has only tasks that have ended with this outcome.
        - `group`: The list has only tasks of this group.
        - `label`: The list has only tasks with this label, `key:value`. The parameter may be given several times; a
          task must have all labels.
        - `url`: The list has only tasks whose original URL matches the pattern. `*` stands for any text, and `?`
          for one byte.
        - `url_prefix`: The list has only tasks whose original URL begins with the text.
        - `description`: The list has only tasks whose description contains the text.
        - `never_resumed`: If true, the list has only suspended tasks that were neither resumed nor suspended since
          their creation.
        - `since`: The list has only tasks that were created at this time or later.
        - `id`: The list has only tasks whose id begins with the text, if it begins with `tsk_`. The id ends with
          any other text. The text has at least eight hexadecimal digits.
        """
        return self._json(
            "GET", f"/v1/sessions/{_segment(session)}/tasks", query={"limit": limit, "cursor": cursor, "order": order,
            "kind": kind, "state": state, "outcome": outcome, "group": group, "label": label, "url": url,
            "urlPrefix": url_prefix, "description": description, "neverResumed": never_resumed, "since": since,
            "id": id})

    def iterate_tasks(
        self, session: models.SessionID, *, order: Optional[Literal["oldest", "newest"]] = None,
        kind: Optional[models.TaskKind] = None, state: Optional[models.TaskState] = None,
        outcome: Optional[models.TaskOutcome] = None, group: Optional[models.GroupName] = None,
        label: Optional[List[str]] = None, url: Optional[str] = None, url_prefix: Optional[str] = None,
        description: Optional[str] = None, never_resumed: Optional[bool] = None, since: Optional[str] = None,
        id: Optional[str] = None
    ) -> Iterator[models.Task]:
        """Return the items of all pages of `list_tasks`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_tasks(
            session, order=order, kind=kind, state=state, outcome=outcome, group=group, label=label, url=url,
            url_prefix=url_prefix, description=description, never_resumed=never_resumed, since=since, id=id,
            cursor=cursor, limit=500))

    def create_shared_task(
        self, body: models.TaskCreation, *, include: Optional[Literal["body"]] = None, wait: Optional[float] = None,
        idempotency_key: Optional[str] = None
    ) -> models.Task:
        """Create one task or a batch of tasks in the shared session.

        The shared session corresponds to `URLSession.shared`. Its id is `ses_shared`. It always exists, with the
        default configuration and no delegate. The operation does the same as in other sessions.

        Options:

        - `include`: With `body`, the task's `body` also has the bytes: as `text` if they are UTF-8, and otherwise
          as `base64`. Larger bodies are left out; the limit is a setting of the service (`--small-body-limit`, 32
          KiB by default). When a task is created, `include` has an effect only with `Prefer: wait`.
        - `wait`: Ferry replies when the awaited state is reached, or after this number of seconds, at most 300.
        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json(
            "POST", "/v1/tasks", query={"include": include}, body=body, wait=wait, key=idempotency_key or new_key())

    def list_all_tasks(
        self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None, kind: Optional[models.TaskKind] = None,
        state: Optional[models.TaskState] = None, outcome: Optional[models.TaskOutcome] = None,
        group: Optional[models.GroupName] = None, label: Optional[List[str]] = None, url: Optional[str] = None,
        url_prefix: Optional[str] = None, description: Optional[str] = None, never_resumed: Optional[bool] = None,
        since: Optional[str] = None, id: Optional[str] = None
    ) -> models.TaskPage:
        """List the tasks of all sessions.

        The list has the tasks of all sessions of the tenant, ephemeral sessions included. Cursors and filters are those
        of the list of a session.

        If several services share the data directory, a task of a session in another service has the state that its row
        has. The progress in that row may be older than the progress that `GET /v1/tasks/{task}` shows.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        - `kind`: The list has only tasks of this kind.
        - `state`: The list has only tasks in this state.
        - `outcome`: The list has only tasks that have ended with this outcome.
        - `group`: The list has only tasks of this group.
        - `label`: The list has only tasks with this label, `key:value`. The parameter may be given several times; a
          task must have all labels.
        - `url`: The list has only tasks whose original URL matches the pattern. `*` stands for any text, and `?`
          for one byte.
        - `url_prefix`: The list has only tasks whose original URL begins with the text.
        - `description`: The list has only tasks whose description contains the text.
        - `never_resumed`: If true, the list has only suspended tasks that were neither resumed nor suspended since
          their creation.
        - `since`: The list has only tasks that were created at this time or later.
        - `id`: The list has only tasks whose id begins with the text, if it begins with `tsk_`. The id ends with
          any other text. The text has at least eight hexadecimal digits.
        """
        return self._json(
            "GET", "/v1/tasks", query={"limit": limit, "cursor": cursor, "order": order, "kind": kind, "state": state,
            "outcome": outcome, "group": group, "label": label, "url": url, "urlPrefix": url_prefix,
            "description": description, "neverResumed": never_resumed, "since": since, "id": id})

    def iterate_all_tasks(
        self, *, order: Optional[Literal["oldest", "newest"]] = None, kind: Optional[models.TaskKind] = None,
        state: Optional[models.TaskState] = None, outcome: Optional[models.TaskOutcome] = None,
        group: Optional[models.GroupName] = None, label: Optional[List[str]] = None, url: Optional[str] = None,
        url_prefix: Optional[str] = None, description: Optional[str] = None, never_resumed: Optional[bool] = None,
        since: Optional[str] = None, id: Optional[str] = None
    ) -> Iterator[models.Task]:
        """Return the items of all pages of `list_all_tasks`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_all_tasks(
            order=order, kind=kind, state=state, outcome=outcome, group=group, label=label, url=url,
            url_prefix=url_prefix, description=description, never_resumed=never_resumed, since=since, id=id,
            cursor=cursor, limit=500))

    def cancel_tasks(
        self, body: Optional[models.TaskSelection] = None, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Cancel many tasks.

        Ferry cancels each selected task that has not ended, as `POST /v1/tasks/{task}/cancel` does.

        The body has the filters of the lists as members, and `labels` as an object. A body without a filter gets 422,
        so that an empty variable in a script does not concern all tasks; `{"all": true}` selects them. With `dryRun`,
        Ferry only counts. The filters hold at the time of the request, and select any number of tasks.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/tasks/cancel", body=body, key=idempotency_key or new_key())

    def suspend_tasks(
        self, body: Optional[models.TaskSelection] = None, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Suspend many tasks.

        Ferry suspends each selected task that has not ended, as `POST /v1/tasks/{task}/suspend` does.

        The body has the filters of the lists as members, and `labels` as an object. A body without a filter gets 422,
        so that an empty variable in a script does not concern all tasks; `{"all": true}` selects them. With `dryRun`,
        Ferry only counts. The filters hold at the time of the request, and select any number of tasks.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/tasks/suspend", body=body, key=idempotency_key or new_key())

    def resume_tasks(
        self, body: Optional[models.TaskSelection] = None, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Resume many tasks.

        Ferry resumes each selected suspended task, as `POST /v1/tasks/{task}/resume` does.

        The body has the filters of the lists as members, and `labels` as an object. A body without a filter gets 422,
        so that an empty variable in a script does not concern all tasks; `{"all": true}` selects them. With `dryRun`,
        Ferry only counts. The filters hold at the time of the request, and select any number of tasks.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/tasks/resume", body=body, key=idempotency_key or new_key())

    def retry_tasks(
        self, body: Optional[models.TaskSelection] = None, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Retry many tasks.

        Ferry repeats each selected task that has failed or was cancelled, and starts the next attempt of each task in
        `waitingToRetry`, as `POST /v1/tasks/{task}/retry` does. A task that was repeated before is repeated again.

        A repeat of the request with the same `Idempotency-Key` retries no task twice, even if the first request was
        interrupted.

        The body has the filters of the lists as members, and `labels` as an object. A body without a filter gets 422,
        so that an empty variable in a script does not concern all tasks; `{"all": true}` selects them. With `dryRun`,
        Ferry only counts. The filters hold at the time of the request, and select any number of tasks.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/tasks/retry", body=body, key=idempotency_key or new_key())

    def delete_tasks(
        self, body: Optional[models.TaskSelection] = None, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Delete many tasks.

        Ferry deletes each selected task that has ended, as `DELETE /v1/tasks/{task}` does.

        The body has the filters of the lists as members, and `labels` as an object. A body without a filter gets 422,
        so that an empty variable in a script does not concern all tasks; `{"all": true}` selects them. With `dryRun`,
        Ferry only counts. The filters hold at the time of the request, and select any number of tasks.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/tasks/delete", body=body, key=idempotency_key or new_key())

    def get_task(
        self, task: models.TaskID, *, include: Optional[Literal["body"]] = None, wait: Optional[float] = None
    ) -> models.Task:
        """Read a task.

        The reply has the current state and progress. If you poll, send `If-None-Match`: the reply is a short 304 while
        nothing changes. Event streams report every change without polling.

        With `Prefer: wait=N`, the reply waits for the end of the task, for at most N seconds. If the task was not
        started meanwhile, the reply has a `hint`.

        Options:

        - `include`: With `body`, the task's `body` also has the bytes: as `text` if they are UTF-8, and otherwise
          as `base64`. Larger bodies are left out; the limit is a setting of the service (`--small-body-limit`, 32
          KiB by default). When a task is created, `include` has an effect only with `Prefer: wait`.
        - `wait`: Ferry replies when the awaited state is reached, or after this number of seconds, at most 300.
        """
        return self._json("GET", f"/v1/tasks/{_segment(task)}", query={"include": include}, wait=wait)

    def delete_task(self, task: models.TaskID) -> None:
        """Delete a task that has ended.

        Ferry deletes the task with its body, its decisions and its events. Webhook messages of the task that are not
        delivered yet are still sent. A task that has not ended gets 409.
        """
        self._nothing("DELETE", f"/v1/tasks/{_segment(task)}")

    def update_task(
        self, task: models.TaskID, body: models.TaskPatch, *, if_match: Optional[str] = None
    ) -> models.Task:
        """Change a task.

        The body is a merge patch (RFC 7396). An absent member keeps its value, and null resets it. A new `priority`
        applies while the task waits to start. A new `maximumBytesPerSecond` applies at once. A new `earliestBeginDate`
        applies until the task has begun. A task that has ended can also be changed, except its request.

        `request` changes the URL or the header fields, for example if a signed link has expired. The task must be
        suspended or in the phase `queued`, `waitingForConnectivity` or `waitingToRetry`; otherwise the reply is 409.

        - The change applies to all later attempts, also after a restart of the service.
          `POST /v1/tasks/{task}/retry` uses the changed request as well. `originalRequest` stays, and `currentRequest`
          shows the new request.
        - Ferry stops an attempt that has been submitted, and keeps the bytes of a download. The next attempt asks for
          the rest with `Range` and `If-Range`. If the origin sends another version, Ferry fetches the whole body.
        - If the URL of an upload stays, the upload continues after the bytes that its server has received. Otherwise it
          starts again.
        - The reply is also 409 if the client has received the response of a data or upload task, or if the transfer has
          asked for a streamed body. It is 409, too, if a suspended task has sent a request whose method is not
          idempotent, such as POST. This does not apply to a task with its own `retry`.
        - In a background session, the worker may already have begun an attempt. It stops this attempt and begins another
          with the changed request. If the response was already reported, or the method is not idempotent, the attempt
          continues, and the change applies to a later one only.

        With `If-Match`, Ferry changes the task only if it still has the `ETag` that the client read without `include`.
        Otherwise, the reply is 412. The `ETag` covers state and progress, so it changes often while the task transfers
        bytes.

        Options:

        - `if_match`: The value is a list of ETags, or `*`. The reply is 412 if none of them is the current `ETag`.
          Ferry checks `If-Match` before other conditions. A weak `ETag` never matches in a read (RFC 9110 §13.1.1).
          In a change, the weak `ETag` of a compressed reply matches too.
        """
        return self._json("PATCH", f"/v1/tasks/{_segment(task)}", fields={"If-Match": if_match}, body=body)

    def resume_task(self, task: models.TaskID, *, wait: Optional[float] = None) -> models.Task:
        """Resume a task.

        The operation corresponds to `URLSessionTask.resume()`. The operation undoes one suspension, and the task runs
        when it has no suspension left. A new task has one suspension. The operation has no effect on a task that runs
        or has ended.

        With `Prefer: wait=N`, the reply waits for the end of the task, for at most N seconds.

        Options:

        - `wait`: Ferry replies when the awaited state is reached, or after this number of seconds, at most 300.
        """
        return self._json("POST", f"/v1/tasks/{_segment(task)}/resume", wait=wait)

    def suspend_task(self, task: models.TaskID) -> models.Task:
        """Suspend a task.

        The operation corresponds to `URLSessionTask.suspend()`. The operation adds one suspension, which one resume
        undoes. Timeouts do not run while the task is suspended. The operation has no effect on a task that has ended.
        """
        return self._json("POST", f"/v1/tasks/{_segment(task)}/suspend")

    def cancel_task(
        self, task: models.TaskID, body: Optional[models.Cancellation] = None
    ) -> models.CancelledTask:
        """Cancel a task.

        The operation corresponds to `URLSessionTask.cancel()`. The task ends soon after the reply, with the error
        `cancelled` (-999). The operation has no effect on a task that has ended.

        With `producingResumeData`, Ferry keeps the bytes that it received, waits for the end, and adds `resumeData` to
        the reply. The wait lasts at most 30 seconds. Without the member, Ferry deletes the received bytes.

        An upload can be resumed if its server supports resumable uploads. A download can be resumed if all of these
        conditions are true:

        - Its request is a GET.
        - The origin accepts range requests.
        - The response has no content coding.
        - The response has a strong `ETag` or a `Last-Modified`.
        """
        return self._json("POST", f"/v1/tasks/{_segment(task)}/cancel", body=body)

    def retry_task(self, task: models.TaskID, *, idempotency_key: Optional[str] = None) -> models.Task:
        """Retry a task.

        The effect depends on the task.

        - For a failed or cancelled task, Ferry creates and starts a new task in the same session. It has the same
          request with its secrets, as changed by `PATCH`, and the same other members. `retryOf` is the id of the earlier task. If the earlier
          task has resume data, the new one continues from there.
        - For a task in the phase `waitingToRetry`, the next attempt starts now.
        - For every other task the reply is 409. So it is if the body of the request was a stream, if its stored file
          was deleted, and if the session is invalid.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", f"/v1/tasks/{_segment(task)}/retry", key=idempotency_key or new_key())

    def get_resume_data(self, task: models.TaskID) -> models.ResumeData:
        """Read the resume data of a task that failed or was cancelled.

        The operation corresponds to `NSURLSessionDownloadTaskResumeData` and `NSURLSessionUploadTaskResumeData`. The
        reply is 404 unless the task's `error.resumeDataAvailable` is true. Pass the data as `resumeData` of a new task
        of the same kind and tenant, instead of a `request`. Every read returns a different text with the same meaning.

        A resumed download requests the missing bytes. A resumed upload sends the bytes that the server does not have
        yet. The server must support resumable uploads (draft-ietf-httpbis-resumable-upload, interop version 8 or 6).
        """
        return self._json("GET", f"/v1/tasks/{_segment(task)}/resume-data")

    def get_metrics(self, task: models.TaskID) -> models.Metrics:
        """Read the metrics of a task that has ended.

        The reply corresponds to `URLSessionTaskMetrics`. The reply is 404 before the end of the task.
        """
        return self._json("GET", f"/v1/tasks/{_segment(task)}/metrics")

    def list_groups(
        self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None
    ) -> models.GroupPage:
        """List the groups of tasks.

        A group exists from the creation of its first task. For the next page, pass `nextCursor` as `cursor`, or follow
        the `Link`.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        """
        return self._json("GET", "/v1/groups", query={"limit": limit, "cursor": cursor, "order": order})

    def iterate_groups(self, *, order: Optional[Literal["oldest", "newest"]] = None) -> Iterator[models.Group]:
        """Return the items of all pages of `list_groups`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_groups(
            order=order, cursor=cursor, limit=500))

    def get_group(self, group: models.GroupName, *, wait: Optional[float] = None) -> models.Group:
        """Read the state and the counts of a group.

        The counts of a group that is not completed are those of its present tasks. A completed group keeps the counts
        that it had at its end.

        A data task that became a download counts as that download only. A group without tasks that is open or completed
        expires `--task-retention` after its creation or its end.

        With `Prefer: wait=N`, the reply waits until all tasks of the group have ended, for at most N seconds.

        Options:

        - `wait`: Ferry replies when the awaited state is reached, or after this number of seconds, at most 300.
        """
        return self._json("GET", f"/v1/groups/{_segment(group)}", wait=wait)

    def close_group(self, group: models.GroupName) -> models.Group:
        """Close a group.

        A closed group accepts no new tasks: a creation gets 409. When all tasks of the group have ended, the group is
        completed, and one event `group.didComplete` reports its counts. The operation may be repeated.
        """
        return self._json("POST", f"/v1/groups/{_segment(group)}/close")

    def cancel_group(
        self, group: models.GroupName, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Cancel the tasks of a group.

        Ferry cancels each task of the group that has not ended, as `POST /v1/tasks/cancel` does.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", f"/v1/groups/{_segment(group)}/cancel", key=idempotency_key or new_key())

    def suspend_group(
        self, group: models.GroupName, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Suspend the tasks of a group.

        Ferry suspends each task of the group that has not ended, as `POST /v1/tasks/suspend` does.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", f"/v1/groups/{_segment(group)}/suspend", key=idempotency_key or new_key())

    def resume_group(
        self, group: models.GroupName, *, idempotency_key: Optional[str] = None
    ) -> models.CommandCounts:
        """Resume the tasks of a group.

        Ferry resumes each suspended task of the group, as `POST /v1/tasks/resume` does.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", f"/v1/groups/{_segment(group)}/resume", key=idempotency_key or new_key())

    def get_body(self, task: models.TaskID, *, range: Optional[str] = None) -> ContentReply:
        """Read the body of a task's response.

        While a data or upload task runs, the reply is a stream of its body from the first byte. The reply starts when
        the response starts, and breaks off if the transfer fails. A slow reader slows the origin down. The reply has no
        `ETag`, no digest and no ranges.

        The body of a task that has ended can be read until `body.expiresAt`. The file at a task's destination can be
        read while it is unchanged in its place; afterwards the reply is 404 `body-not-found`. Before the end, the reply is 409 if there
        is no such stream. That is so for downloads, for tasks with `prefersIncrementalDelivery` false, and for tasks
        that do not run yet. Content codings are already decoded.

        Options:

        - `range`: The value is one range of bytes of complete content, such as `bytes=0-1023`. Ferry ignores a list
          of several ranges and replies with the complete content.
        """
        return self._content("GET", f"/v1/tasks/{_segment(task)}/body", fields={"Range": range})

    def send_body(
        self, task: models.TaskID, content: Content, *, content_type: str = "application/octet-stream"
    ) -> None:
        """Send the body of a task whose request has `"body":{"stream":true}`.

        Ferry sends the bytes to the origin as fast as the origin reads them. If the PUT has a `Content-Length`, the
        origin receives the same `Content-Length`.

        The event `task.needNewBodyStream` asks for the body, after the challenges of the connection are answered. The
        event comes again if a redirect repeats the body. The client may also send the body before the event; the bytes
        then wait for the task.

        If the task's `request` has a `Content-Length` header field, the body must have that length. A body of another
        length gets 400, and the task ends with `requestBodyStreamExhausted`. The origin never receives a truncated
        request as complete.

        Errors:

        - 409 `conflict`: the task has no streamed body, has one already, or has ended. Do not repeat the request.
        - 409 `upload-interrupted`: the task ended before the origin received the whole body, or the origin sent a
          response of 300 or more before that. Read the task, and send the body again if an event asks for it. Ferry
          replies at once, then reads and discards the rest of the body. So a client that writes everything before it
          reads also receives the reply.
        - 408 `request-timeout`: no byte arrived for `timeoutIntervalForRequest` plus 15 seconds. Time in which Ferry
          waits for the origin does not count.

        If the client closes the connection early, a task that has read a part of the body fails. If the client sends no
        byte for `timeoutIntervalForRequest` while the task waits for bytes, the task ends with `timedOut`.
        """
        self._nothing("PUT", f"/v1/tasks/{_segment(task)}/body", content=content, content_type=content_type)

    def delete_body(self, task: models.TaskID) -> None:
        """Delete the body of a task before it expires.

        The reply is the same if the task has no body. Ferry also deletes the data from which the task could be resumed.
        The file at a task's destination stays; only the task's `body` becomes null.
        """
        self._nothing("DELETE", f"/v1/tasks/{_segment(task)}/body")

    def list_decisions(
        self, session: models.SessionID, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None, state: Optional[models.DecisionState] = None
    ) -> models.DecisionPage:
        """List the decisions of a session, oldest first.

        The list has pending, answered, expired and withdrawn decisions. For the next page, pass `nextCursor` as
        `cursor`, or follow the `Link`.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        - `state`: The list has only decisions in this state.
        """
        return self._json(
            "GET", f"/v1/sessions/{_segment(session)}/decisions", query={"limit": limit, "cursor": cursor,
            "order": order, "state": state})

    def iterate_decisions(
        self, session: models.SessionID, *, order: Optional[Literal["oldest", "newest"]] = None,
        state: Optional[models.DecisionState] = None
    ) -> Iterator[models.Decision]:
        """Return the items of all pages of `list_decisions`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_decisions(
            session, order=order, state=state, cursor=cursor, limit=500))

    def get_decision(self, decision: models.DecisionID) -> models.Decision:
        """Read a decision.

        The reply has the arguments of the call, the time when the decision expires, and the default that then applies.
        """
        return self._json("GET", f"/v1/decisions/{_segment(decision)}")

    def answer_decision(self, decision: models.DecisionID, body: models.DecisionAnswer) -> models.Decision:
        """Answer a decision.

        The `type` of the decision determines the form of the answer. You may send the same answer again. A different
        answer, or one that comes too late, gets 409 `decision-settled`. A `task.needNewBodyStream` gets 400 here; send
        the body with PUT of the task's body instead.
        """
        return self._json("POST", f"/v1/decisions/{_segment(decision)}", body=body)

    def list_credentials(
        self, session: models.SessionID, *, host: Optional[str] = None, port: Optional[int] = None,
        protocol: Optional[str] = None, realm: Optional[str] = None,
        authentication_method: Optional[models.AuthenticationMethod] = None, is_proxy: Optional[bool] = None
    ) -> models.CredentialPage:
        """List a session's protection spaces with credentials.

        The operation corresponds to `URLCredentialStorage.allCredentials`. The list has credentials that clients set,
        and answers to challenges that last longer than their task. It has users but neither passwords nor keys. All
        entries are on one page.

        Options:

        - `host`: The operation applies only to protection spaces of this host.
        - `port`: The operation applies only to protection spaces of this port.
        - `protocol`: The operation applies only to protection spaces of this protocol: `http`, `https` or `socks5`.
        - `realm`: The operation applies only to protection spaces of this realm.
        - `authentication_method`: The operation applies only to protection spaces with this authentication method.
        - `is_proxy`: The operation applies only to protection spaces of proxies (true), or only to those of origins
          (false).
        """
        return self._json(
            "GET", f"/v1/sessions/{_segment(session)}/credentials", query={"host": host, "port": port,
            "protocol": protocol, "realm": realm, "authenticationMethod": authentication_method, "isProxy": is_proxy})

    def set_credential(
        self, session: models.SessionID, body: models.CredentialSetting
    ) -> models.CredentialEntry:
        """Set the credential of a protection space.

        The operation corresponds to `URLCredentialStorage.setDefaultCredential(_:for:)`. The credential replaces the
        previous one of the space. If the delegate decides about challenges, Ferry proposes the credential in the
        challenge; otherwise, Ferry uses it. A `permanent` credential is stored encrypted. A `forSession` credential is
        lost when the service stops, except in a background session.

        A session has at most 5000 credentials, which have at most 4 MiB together; more get 422. The reply is 409 if
        `urlCredentialStorage` of the session is false.
        """
        return self._json("PUT", f"/v1/sessions/{_segment(session)}/credentials", body=body)

    def delete_credentials(
        self, session: models.SessionID, body: Optional[models.CredentialDeletion] = None, *,
        host: Optional[str] = None, port: Optional[int] = None, protocol: Optional[str] = None,
        realm: Optional[str] = None, authentication_method: Optional[models.AuthenticationMethod] = None,
        is_proxy: Optional[bool] = None
    ) -> None:
        """Delete credentials of a session.

        The query and the body select protection spaces; without both, Ferry deletes all credentials. Requests that
        begin later do not use the deleted credentials. Connections that were authenticated with them may stay in use.

        Options:

        - `host`: The operation applies only to protection spaces of this host.
        - `port`: The operation applies only to protection spaces of this port.
        - `protocol`: The operation applies only to protection spaces of this protocol: `http`, `https` or `socks5`.
        - `realm`: The operation applies only to protection spaces of this realm.
        - `authentication_method`: The operation applies only to protection spaces with this authentication method.
        - `is_proxy`: The operation applies only to protection spaces of proxies (true), or only to those of origins
          (false).
        """
        self._nothing(
            "DELETE", f"/v1/sessions/{_segment(session)}/credentials", query={"host": host, "port": port,
            "protocol": protocol, "realm": realm, "authenticationMethod": authentication_method, "isProxy": is_proxy},
            body=body)

    def list_cookies(
        self, session: models.SessionID, *, domain: Optional[str] = None, path: Optional[str] = None,
        name: Optional[str] = None
    ) -> models.CookiePage:
        """List the cookies of a session, oldest first.

        The operation corresponds to `HTTPCookieStorage.cookies`. The query selects cookies by domain, path and name;
        without it, the list has the cookies of all origins. One page has all of the selected cookies. The list leaves
        out expired cookies.

        Options:

        - `domain`: The operation applies only to cookies of this domain. With a leading dot, it also applies to
          cookies of its subdomains.
        - `path`: The operation applies only to cookies with this path.
        - `name`: The operation applies only to cookies with this name.
        """
        return self._json(
            "GET", f"/v1/sessions/{_segment(session)}/cookies", query={"domain": domain, "path": path, "name": name})

    def set_cookies(self, session: models.SessionID, body: models.CookieSettings) -> models.Cookies:
        """Set cookies.

        The operation corresponds to `HTTPCookieStorage.setCookie(_:)`. The body is one cookie, or a list in the form
        that the session's list of cookies has. A cookie replaces the existing cookie of the same domain, path and name.
        If its date has passed, Ferry deletes the existing cookie instead.

        The rules of RFC 6265bis for servers apply. A domain must not be a public suffix. A cookie whose name begins
        with `__Secure-` or `__Host-` must have the attributes that the prefix requires. At most 3000 cookies fit in one
        request; a request with more gets 422 and changes nothing.
        """
        return self._json("PUT", f"/v1/sessions/{_segment(session)}/cookies", body=body)

    def delete_cookies(
        self, session: models.SessionID, *, domain: Optional[str] = None, path: Optional[str] = None,
        name: Optional[str] = None
    ) -> None:
        """Delete cookies of a session.

        The query selects the cookies by domain, path and name; without it, Ferry deletes all of them. Requests that
        begin later do not carry the deleted cookies. An origin may set them again.

        Options:

        - `domain`: The operation applies only to cookies of this domain. With a leading dot, it also applies to
          cookies of its subdomains.
        - `path`: The operation applies only to cookies with this path.
        - `name`: The operation applies only to cookies with this name.
        """
        self._nothing(
            "DELETE", f"/v1/sessions/{_segment(session)}/cookies", query={"domain": domain, "path": path, "name": name})

    def get_cache(self, session: models.SessionID, *, limit: Optional[int] = None) -> models.Cache:
        """Read the usage of a session's cache and its entries, last used first.

        The capacities are those of the configuration's `urlCache`. The entries include responses of which only a part
        is stored. The reply has at most `limit` entries and no cursor; `countOfEntries` counts all.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        """
        return self._json("GET", f"/v1/sessions/{_segment(session)}/cache", query={"limit": limit})

    def empty_cache(self, session: models.SessionID) -> None:
        """Delete all entries of a session's cache.

        The operation corresponds to `URLCache.removeAllCachedResponses()`. Running transfers continue, including those
        that read from the cache.
        """
        self._nothing("DELETE", f"/v1/sessions/{_segment(session)}/cache")

    def create_configuration(
        self, body: models.ConfigurationCreation, *, idempotency_key: Optional[str] = None
    ) -> models.NamedConfiguration:
        """Create a named configuration.

        A session starts from the configuration if the `named` member of its own configuration has the name. The reply
        is 409 if the tenant already has a configuration with this name. PUT replaces it.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/configurations", body=body, key=idempotency_key or new_key())

    def list_configurations(
        self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None
    ) -> models.ConfigurationPage:
        """List the named configurations by name.

        For the next page, pass `nextCursor` as `cursor`, or follow the `Link`.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with the configuration that was created first or last. Without `order`, it is
          sorted by name. A `cursor` is valid only with the same kind of order.
        """
        return self._json("GET", "/v1/configurations", query={"limit": limit, "cursor": cursor, "order": order})

    def iterate_configurations(
        self, *, order: Optional[Literal["oldest", "newest"]] = None
    ) -> Iterator[models.NamedConfiguration]:
        """Return the items of all pages of `list_configurations`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_configurations(
            order=order, cursor=cursor, limit=500))

    def get_configuration(self, name: models.ConfigurationName) -> models.NamedConfiguration:
        """Read a named configuration.

        Sessions that name this configuration start from it. Send the `ETag` of the reply as `If-Match` when you replace
        the configuration.
        """
        return self._json("GET", f"/v1/configurations/{_segment(name)}")

    def replace_configuration(
        self, name: models.ConfigurationName, body: models.SessionConfiguration, *, if_match: Optional[str] = None,
        if_none_match: Optional[str] = None
    ) -> models.NamedConfiguration:
        """Create or replace a named configuration.

        Existing sessions have copies of the configuration and do not change. With `If-None-Match: *`, Ferry only
        creates a configuration, and replies 412 if the name is taken.

        Options:

        - `if_match`: The value is a list of ETags, or `*`. The reply is 412 if none of them is the current `ETag`.
          Ferry checks `If-Match` before other conditions. A weak `ETag` never matches in a read (RFC 9110 §13.1.1).
          In a change, the weak `ETag` of a compressed reply matches too.
        - `if_none_match`: The value is a list of ETags, or `*`. A read gets 304 if one of them is the current
          `ETag`. A PUT gets 412 instead.
        """
        return self._json(
            "PUT", f"/v1/configurations/{_segment(name)}", fields={"If-Match": if_match,
            "If-None-Match": if_none_match}, body=body)

    def delete_configuration(self, name: models.ConfigurationName) -> None:
        """Delete a named configuration.

        Sessions that started from the configuration keep their copies.
        """
        self._nothing("DELETE", f"/v1/configurations/{_segment(name)}")

    def probe_origin(self, body: models.Probe) -> models.Reachability:
        """Test whether Ferry can reach an origin.

        Ferry looks up the name, connects and, for https, does the TLS handshake. The reply has the duration of each
        step. Ferry sends no HTTP request. The networks that are forbidden to transfers are forbidden to probes.

        Identical concurrent probes share one result. At most 64 probes run at once, and at most 8 of one tenant if the
        service has tokens. Further probes wait for up to 30 seconds, then get 429. A tenant has at most 256 waiting
        probes; one more gets 429 at once.
        """
        return self._json("POST", "/v1/reachability", body=body)

    def create_file(
        self, content: Content, *, content_type: str = "application/octet-stream",
        idempotency_key: Optional[str] = None
    ) -> models.StoredFile:
        """Store a file, or keep the body of a task as a file.

        With any other type than `application/json`, Ferry stores the body of the request as a file. A request without a
        body stores an empty file. The file stays until a client deletes it. There is no limit for the size of a file.

        With `application/json`, `fromTask` names a task that has ended. The task's body becomes a file, and the task's
        `body` is null afterwards. A body that is the file at the task's destination stays there, and the reply is 409.
        To store a file that is itself JSON, send it as another type, such as
        `application/octet-stream`.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json(
            "POST", "/v1/files", content=content, content_type=content_type, key=idempotency_key or new_key())

    def list_files(
        self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None
    ) -> models.FilePage:
        """List the stored files, oldest first.

        The list has all files that are not deleted. For the next page, pass `nextCursor` as `cursor`, or follow the
        `Link`.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        """
        return self._json("GET", "/v1/files", query={"limit": limit, "cursor": cursor, "order": order})

    def iterate_files(
        self, *, order: Optional[Literal["oldest", "newest"]] = None
    ) -> Iterator[models.StoredFile]:
        """Return the items of all pages of `list_files`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_files(
            order=order, cursor=cursor, limit=500))

    def get_file(self, file: models.FileID, *, range: Optional[str] = None) -> ContentReply:
        """Read the bytes or the description of a file.

        The reply has the bytes with the type that the file was stored with. If `Accept` allows `application/json` but
        not that type, the reply is the description of the file, a `StoredFile`. HEAD returns size and digest without
        the bytes.

        Options:

        - `range`: The value is one range of bytes of complete content, such as `bytes=0-1023`. Ferry ignores a list
          of several ranges and replies with the complete content.
        """
        return self._content("GET", f"/v1/files/{_segment(file)}", fields={"Range": range})

    def get_file_info(self, file: models.FileID) -> models.StoredFile:
        """Read the description of the resource instead of its content."""
        return self._json("GET", f"/v1/files/{_segment(file)}")

    def delete_file(self, file: models.FileID) -> None:
        """Delete a file.

        A running upload of the file continues. An upload that begins later fails.
        """
        self._nothing("DELETE", f"/v1/files/{_segment(file)}")

    def stream_events(
        self, *, after: Optional[int] = None, types: Optional[List[models.EventType]] = None,
        group: Optional[models.GroupName] = None, label: Optional[List[str]] = None, progress: Optional[bool] = None,
        data: Optional[Literal["inline"]] = None, on_disconnect: Optional[Callable[[Exception], None]] = None
    ) -> EventStream:
        """Stream the events of all sessions.

        The stream has the events of all sessions of the tenant, in the order in which they happened.

        Options:

        - `after`: The stream first replays the stored events with higher ids than `after`, then continues with new
          events. Without `after`, the stream has only new events.
        - `types`: The stream has only events of these types, which are separated by commas. By default, it has all
          types.
        - `group`: The reply has only events of tasks of this group, and the event `group.didComplete` of this
          group.
        - `label`: The reply has only events of tasks with this label, `key:value`. The parameter may be given
          several times; a task must have all labels.
        - `progress`: If false, the stream has no progress events. `1` and `0` are also valid. For a slow reader,
          Ferry combines several progress events of a task into one with their total. The stream never repeats
          progress from before the reader connected, or from while it read older events.
        - `data`: With `inline`, the stream has the bytes that data and upload tasks receive. They are the `data` of
          `dataTask.didReceiveData`, and arrive in order with the other events of their task. `progress` has no
          effect on them. A body that is already arriving starts with its first byte. The stream leaves no bytes
          out, so a slow reader slows the origins down. Bytes are not replayed.
        """
        return self._events(
            "/v1/events", {"after": after, "types": ",".join(types) if types else None, "group": group, "label": label,
            "progress": progress, "data": data}, on_disconnect)

    def list_events(
        self, *, after: Optional[int] = None, types: Optional[List[models.EventType]] = None,
        group: Optional[models.GroupName] = None, label: Optional[List[str]] = None, progress: Optional[bool] = None,
        limit: Optional[int] = None, wait: Optional[float] = None
    ) -> models.EventPage:
        """Read a page of the events of `stream_events`.

        `nextAfter` is the `after` of the next page. With `wait`, a page without events waits for the first one.
        """
        return self._json(
            "GET", "/v1/events", query={"after": after, "types": ",".join(types) if types else None, "group": group,
            "label": label, "progress": progress, "limit": limit}, wait=wait)

    def stream_session_events(
        self, session: models.SessionID, *, after: Optional[int] = None,
        types: Optional[List[models.EventType]] = None, group: Optional[models.GroupName] = None,
        label: Optional[List[str]] = None, progress: Optional[bool] = None, data: Optional[Literal["inline"]] = None,
        on_disconnect: Optional[Callable[[Exception], None]] = None
    ) -> EventStream:
        """Stream the events of a session and its tasks.

        The stream has the events in the order in which they happened. The last event is `session.didBecomeInvalid`; the
        stream stays open after it.

        Options:

        - `after`: The stream first replays the stored events with higher ids than `after`, then continues with new
          events. Without `after`, the stream has only new events.
        - `types`: The stream has only events of these types, which are separated by commas. By default, it has all
          types.
        - `group`: The reply has only events of tasks of this group, and the event `group.didComplete` of this
          group.
        - `label`: The reply has only events of tasks with this label, `key:value`. The parameter may be given
          several times; a task must have all labels.
        - `progress`: If false, the stream has no progress events. `1` and `0` are also valid. For a slow reader,
          Ferry combines several progress events of a task into one with their total. The stream never repeats
          progress from before the reader connected, or from while it read older events.
        - `data`: With `inline`, the stream has the bytes that data and upload tasks receive. They are the `data` of
          `dataTask.didReceiveData`, and arrive in order with the other events of their task. `progress` has no
          effect on them. A body that is already arriving starts with its first byte. The stream leaves no bytes
          out, so a slow reader slows the origins down. Bytes are not replayed.
        """
        return self._events(
            f"/v1/sessions/{_segment(session)}/events", {"after": after, "types": ",".join(types) if types else None,
            "group": group, "label": label, "progress": progress, "data": data}, on_disconnect)

    def list_session_events(
        self, session: models.SessionID, *, after: Optional[int] = None,
        types: Optional[List[models.EventType]] = None, group: Optional[models.GroupName] = None,
        label: Optional[List[str]] = None, progress: Optional[bool] = None, limit: Optional[int] = None,
        wait: Optional[float] = None
    ) -> models.EventPage:
        """Read a page of the events of `stream_session_events`.

        `nextAfter` is the `after` of the next page. With `wait`, a page without events waits for the first one.
        """
        return self._json(
            "GET", f"/v1/sessions/{_segment(session)}/events", query={"after": after,
            "types": ",".join(types) if types else None, "group": group, "label": label, "progress": progress,
            "limit": limit}, wait=wait)

    def stream_task_events(
        self, task: models.TaskID, *, after: Optional[int] = None, types: Optional[List[models.EventType]] = None,
        progress: Optional[bool] = None, data: Optional[Literal["inline"]] = None,
        on_disconnect: Optional[Callable[[Exception], None]] = None
    ) -> EventStream:
        """Stream the events of a task.

        The last event of a task is `task.didComplete`, or `dataTask.didBecomeDownloadTask` if another task continues
        the transfer. The stream stays open after it.

        Options:

        - `after`: The stream first replays the stored events with higher ids than `after`, then continues with new
          events. Without `after`, the stream has only new events.
        - `types`: The stream has only events of these types, which are separated by commas. By default, it has all
          types.
        - `progress`: If false, the stream has no progress events. `1` and `0` are also valid. For a slow reader,
          Ferry combines several progress events of a task into one with their total. The stream never repeats
          progress from before the reader connected, or from while it read older events.
        - `data`: With `inline`, the stream has the bytes that data and upload tasks receive. They are the `data` of
          `dataTask.didReceiveData`, and arrive in order with the other events of their task. `progress` has no
          effect on them. A body that is already arriving starts with its first byte. The stream leaves no bytes
          out, so a slow reader slows the origins down. Bytes are not replayed.
        """
        return self._events(
            f"/v1/tasks/{_segment(task)}/events", {"after": after, "types": ",".join(types) if types else None,
            "progress": progress, "data": data}, on_disconnect)

    def list_task_events(
        self, task: models.TaskID, *, after: Optional[int] = None, types: Optional[List[models.EventType]] = None,
        progress: Optional[bool] = None, limit: Optional[int] = None, wait: Optional[float] = None
    ) -> models.EventPage:
        """Read a page of the events of `stream_task_events`.

        `nextAfter` is the `after` of the next page. With `wait`, a page without events waits for the first one.
        """
        return self._json(
            "GET", f"/v1/tasks/{_segment(task)}/events", query={"after": after,
            "types": ",".join(types) if types else None, "progress": progress, "limit": limit}, wait=wait)

    def get_liveness(self) -> str:
        """Check that the service is alive.

        Supervisors call this operation to find frozen services. A service that is about to stop still replies 200.
        """
        return self._text("GET", "/livez")

    def get_readiness(self) -> str:
        """Check that the service can serve requests.

        The reply is 503 if the database accepts no writes, if the data directory was removed or replaced, or if the
        service is about to stop. The text counts the
        documents in the database that only another version of Ferry can read. Their tasks wait for a service that can.
        """
        return self._text("GET", "/readyz")

    def get_version(self) -> models.Version:
        """Read the version of the service.

        The reply has the name of the program and its version.
        """
        return self._json("GET", "/version")

    def get_contract(self) -> str:
        """Read this document.

        The reply is the OpenAPI 3.1 document, in YAML, of the running version.
        """
        return self._text("GET", "/openapi.yaml")

    def get_contract_in_json(self) -> Dict[str, Any]:
        """Read this document in JSON.

        The reply has the content of `/openapi.yaml`, for tools that read JSON only.
        """
        return self._json("GET", "/openapi.json")

    def get_reference(self) -> str:
        """Read this document as a page.

        The page shows the contract in a browser. Requests can be tried against the service that the page comes from,
        also under a path prefix.
        """
        return self._text("GET", "/docs")

    def get_dashboard(self) -> str:
        """Open the dashboard.

        The page shows the tasks, sessions, decisions and webhook messages of a tenant, in a browser. It has no data
        itself and needs no token. It asks for the token, keeps it in memory, and reads the API with it. A client whose
        `Accept` does not prefer HTML gets 404.
        """
        return self._text("GET", "/")

    def get_usage(self) -> models.Usage:
        """Read the number of the tenant's tasks and the free disk space.

        The reply counts all tasks of the tenant. In a group of services, it leaves out the tasks of ephemeral sessions
        of the other services.
        """
        return self._json("GET", "/v1/usage")

    def get_settings(self) -> models.ServiceSettings:
        """Read the settings and limits of the service.

        The reply has the settings with which the service started, as `ferry config --json` prints them, and the fixed
        limits. Secrets are `<redacted>`. Only the tenant `default` sees the settings. For other tenants `settings` is
        empty, because it names the paths and networks of the operator.
        """
        return self._json("GET", "/v1/settings")

    def get_problem_page(self, problem: models.ProblemName) -> models.Problem:
        """Read the explanation of a problem.

        The `type` of each problem is the path of such a page. The page explains the problem and what to do about it. A
        client that asks for JSON gets a problem whose `detail` is the explanation.
        """
        return self._json("GET", f"/problems/{_segment(problem)}")

    def create_endpoint(
        self, body: models.EndpointCreation, *, idempotency_key: Optional[str] = None
    ) -> models.EndpointWithSecret:
        """Create a webhook endpoint.

        An endpoint receives events of all sessions of the tenant, in addition to the webhooks of sessions and tasks. A
        tenant has at most 100 endpoints; more get 409.

        The reply has the `secret` of an endpoint with the signature `v1`. No other reply has it, except that of
        `rotate-secret`, so store it now. A repeat with the same `Idempotency-Key` returns it again.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json("POST", "/v1/webhooks/endpoints", body=body, key=idempotency_key or new_key())

    def list_endpoints(
        self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        order: Optional[Literal["oldest", "newest"]] = None
    ) -> models.EndpointPage:
        """List the webhook endpoints.

        Ferry lists all endpoints of the tenant, in the order of their creation.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        """
        return self._json("GET", "/v1/webhooks/endpoints", query={"limit": limit, "cursor": cursor, "order": order})

    def iterate_endpoints(
        self, *, order: Optional[Literal["oldest", "newest"]] = None
    ) -> Iterator[models.Endpoint]:
        """Return the items of all pages of `list_endpoints`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_endpoints(
            order=order, cursor=cursor, limit=500))

    def get_endpoint(self, endpoint: models.EndpointID) -> models.Endpoint:
        """Read a webhook endpoint.

        The reply has the settings of the endpoint, and the reason if it is disabled. It has no secret.
        """
        return self._json("GET", f"/v1/webhooks/endpoints/{_segment(endpoint)}")

    def update_endpoint(
        self, endpoint: models.EndpointID, body: models.EndpointPatch, *, if_match: Optional[str] = None
    ) -> models.Endpoint:
        """Change, disable or enable a webhook endpoint.

        An absent member keeps its value. `headers` and `events` replace the previous ones as a whole. In `headers`,
        `(redacted)` keeps the value of a secret field. `signature` cannot change.

        While an endpoint is disabled, Ferry sends it nothing. Its messages wait until it is enabled or deleted, or
        until `--delivery-retention` has passed since their creation. Disabling an endpoint causes the event `webhook.endpointDidDisable`.

        Options:

        - `if_match`: The value is a list of ETags, or `*`. The reply is 412 if none of them is the current `ETag`.
          Ferry checks `If-Match` before other conditions. A weak `ETag` never matches in a read (RFC 9110 §13.1.1).
          In a change, the weak `ETag` of a compressed reply matches too.
        """
        return self._json(
            "PATCH", f"/v1/webhooks/endpoints/{_segment(endpoint)}", fields={"If-Match": if_match}, body=body)

    def delete_endpoint(self, endpoint: models.EndpointID) -> None:
        """Delete a webhook endpoint.

        Ferry gives up the pending messages of the endpoint. They then have the state `failed`, and their `url` is null.
        """
        self._nothing("DELETE", f"/v1/webhooks/endpoints/{_segment(endpoint)}")

    def rotate_endpoint_secret(
        self, endpoint: models.EndpointID, body: Optional[models.EndpointRotation] = None, *,
        idempotency_key: Optional[str] = None
    ) -> models.EndpointWithSecret:
        """Replace the secret of a webhook endpoint.

        The reply has the new `secret`, or the new `publicKey` of an endpoint with the signature `v1a`. For `overlap`
        seconds, Ferry signs each message with the new key and with the previous one. A repeat with the same
        `Idempotency-Key` returns the same secret again.

        Options:

        - `idempotency_key`: The key identifies the request, so that a repeat gets the first reply again. The client
          makes one if it is absent.
        """
        return self._json(
            "POST", f"/v1/webhooks/endpoints/{_segment(endpoint)}/rotate-secret", body=body,
            key=idempotency_key or new_key())

    def test_endpoint(self, endpoint: models.EndpointID) -> models.Delivery:
        """Send a test message to a webhook endpoint.

        Ferry posts a message of the type `webhook.test`, whatever the `events` of the endpoint are. Read the delivery at
        `Location` to see the response of the endpoint. A disabled endpoint gets 409.
        """
        return self._json("POST", f"/v1/webhooks/endpoints/{_segment(endpoint)}/test")

    def list_deliveries(
        self, *, limit: Optional[int] = None, cursor: Optional[str] = None,
        endpoint: Optional[models.EndpointID] = None, state: Optional[models.DeliveryState] = None,
        task: Optional[models.TaskID] = None, since: Optional[models.Time] = None,
        order: Optional[Literal["oldest", "newest"]] = None
    ) -> models.DeliveryPage:
        """List the deliveries of webhook messages.

        The list has the deliveries to endpoints and to the webhooks of sessions and tasks. Delivered and failed ones
        stay for `--delivery-retention`. For the next page, pass `nextCursor` as `cursor`, or follow the `Link`.

        Options:

        - `limit`: A page has at most `limit` items. It ends earlier if it reaches 4 MiB.
        - `cursor`: `cursor` is the `nextCursor` of the previous page. Clients must not interpret it.
        - `endpoint`: The list has only deliveries to this endpoint.
        - `state`: The list has only deliveries in this state.
        - `task`: The list has only deliveries of messages about this task.
        - `since`: The list has only deliveries that were created at this time or later.
        - `order`: The list begins with its oldest or its newest items. A `cursor` is valid in both orders: the page
          continues from its item in the given order. A search of tasks by `url`, `urlPrefix`, `description` or a
          second `label` begins with the newest by default.
        """
        return self._json(
            "GET", "/v1/webhooks/deliveries", query={"limit": limit, "cursor": cursor, "endpoint": endpoint,
            "state": state, "task": task, "since": since, "order": order})

    def iterate_deliveries(
        self, *, endpoint: Optional[models.EndpointID] = None, state: Optional[models.DeliveryState] = None,
        task: Optional[models.TaskID] = None, since: Optional[models.Time] = None,
        order: Optional[Literal["oldest", "newest"]] = None
    ) -> Iterator[models.Delivery]:
        """Return the items of all pages of `list_deliveries`, which this method reads one after the other."""
        return pages(lambda cursor: self.list_deliveries(
            endpoint=endpoint, state=state, task=task, since=since, order=order, cursor=cursor, limit=500))

    def get_delivery(self, delivery: models.DeliveryID) -> models.Delivery:
        """Read a delivery.

        The reply has the state of the delivery and its last 20 attempts, each with the beginning of the response.
        """
        return self._json("GET", f"/v1/webhooks/deliveries/{_segment(delivery)}")

    def redeliver(self, delivery: models.DeliveryID) -> models.Delivery:
        """Send a message again.

        The message becomes pending again in any state, with the same `webhook-id`, and its schedule starts anew. It
        neither waits for other messages nor holds them up. While its endpoint is disabled, it waits. If its endpoint
        was deleted, the reply is 409.
        """
        return self._json("POST", f"/v1/webhooks/deliveries/{_segment(delivery)}/redeliver")

    def redeliver_many(self, body: models.Redelivery) -> models.RedeliveryCount:
        """Send all selected messages again.

        Ferry sends again the messages that match all members of the body. At least one member is required; an empty
        object gets 422. The operation does the same for each as the operation for one message.
        """
        return self._json("POST", "/v1/webhooks/deliveries/redeliver", body=body)
