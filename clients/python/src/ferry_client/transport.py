"""Requests to the service: connections, retries, and content that is streamed both ways."""
from __future__ import annotations

import base64
import hashlib
import http.client
import io
import json
import math
import os
import pathlib
import random
import select
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
from typing import (TYPE_CHECKING, Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple,
                    TypeVar, Union)

from .errors import DigestError, FerryError, ProblemError, UnreachableError
from .events import EventStream

if TYPE_CHECKING:
    from typing_extensions import Self

    from .models import EventPage

#: Bytes, a path, an open file, or parts. Only the first two can be sent again after a lost connection.
Content = Union[bytes, "os.PathLike[str]", BinaryIO, Iterable[bytes]]
Item = TypeVar("Item")

RETRIES = 3
LONGEST_DELAY = 60.0
BLOCK = 64 * 1024
MOST_IDLE = 8
_sleep = time.sleep


def new_key() -> str:
    """A key that identifies a request, so that it can be repeated safely."""
    return str(uuid.uuid4())


def segment(text: str) -> str:
    """One segment of a path."""
    return urllib.parse.quote(text, safe="")


def pages(read: Callable[[Optional[str]], Any]) -> Iterator[Any]:
    """The items of pages that `read` returns by their cursor."""
    cursor: Optional[str] = None
    while True:
        page = read(cursor)
        yield from page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            return


class ContentReply:
    """The content of a file or body, which arrives in parts. Read it, iterate over its parts, or save it."""

    def __init__(self, transport: Transport, connection: http.client.HTTPConnection,
                 response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self._transport, self._connection, self._response = transport, connection, response
        self._is_over = False

    def __enter__(self) -> ContentReply:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        size, digest, length = 0, hashlib.sha256(), self.headers.get("Content-Length")
        try:
            while part := self._response.read1(BLOCK):
                size += len(part)
                digest.update(part)
                yield part
            if length is not None and size != int(length):
                raise UnreachableError(f"the content broke off after {size} of {length} bytes")
            expected = self.headers.get("Repr-Digest", "")
            actual = f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
            if self.status == 200 and expected.startswith("sha-256=") and expected != actual:
                raise DigestError(f"the content has the digest {actual}, and Repr-Digest is {expected}")
            self._is_over = True
            self._transport._keep(self._connection, self._response)
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"the content broke off after {size} bytes: {error!r}") from error
        finally:
            self.close()

    def read(self) -> bytes:
        with self:
            return b"".join(self)

    def save(self, path: Union[str, os.PathLike[str]]) -> pathlib.Path:
        """Write the content to a file. The file appears only when all of it has arrived and its digest is right."""
        target = pathlib.Path(path)
        part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            with self, open(part, "xb") as file:
                for block in self:
                    file.write(block)
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        return target

    def read_some(self) -> bytes:
        """The bytes that have arrived, at least one, or none at the end."""
        try:
            return self._response.read1(BLOCK)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise UnreachableError(f"the reply broke off: {error!r}") from error

    def set_timeout(self, seconds: float) -> None:
        """Change the seconds without a byte after which the reply breaks off."""
        if self._connection.sock:
            self._connection.sock.settimeout(seconds)

    def abort(self) -> None:
        """Close the connection, also while another thread reads from it."""
        if sock := self._connection.sock:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        """Give up the rest of the content."""
        if not self._is_over:
            self._is_over = True
            self._response.close()
            self._connection.close()


class _Secret:
    """A text that `repr` and `vars` do not show."""

    def __init__(self, text: str) -> None:
        self.reveal: Callable[[], str] = lambda: text

    def __repr__(self) -> str:
        return "(secret)"


class Transport:
    """Sends requests. Threads may share it."""

    def __init__(self, server: Optional[str] = None, token: Optional[str] = None, *, timeout: float = 30.0,
                 heartbeat_timeout: float = 45.0, context: Optional[ssl.SSLContext] = None) -> None:
        """`server` is `FERRY_SERVER` by default, or http://127.0.0.1:8080. `token` is `FERRY_TOKEN` by default.

        timeout: The seconds without a byte after which a request fails. Waiting for a task comes on top.
        heartbeat_timeout: The seconds without a byte after which an event stream reconnects. The service sends a comment
            every 15 seconds.
        context: Certificate authorities and client certificates for https.
        """
        server = server or os.environ.get("FERRY_SERVER") or "http://127.0.0.1:8080"
        url = urllib.parse.urlsplit(server)
        if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
            raise ValueError(f"server: {url.scheme}://{url.hostname or ''} is not the URL of a service; use http://host:port")
        if url.username is not None:
            raise ValueError("server: the URL has a user; pass the token as `token`, or set FERRY_TOKEN")
        self.server = f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}"
        self.timeout, self.heartbeat_timeout = timeout, heartbeat_timeout
        self._url, self._prefix = url, url.path.rstrip("/")
        self._context = context or (ssl.create_default_context() if url.scheme == "https" else None)
        token = token or os.environ.get("FERRY_TOKEN")
        self._token = _Secret(token) if token else None
        self._idle: List[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.server!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections. The client opens new ones if it is used again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()

    # Connections

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        while True:
            with self._lock:
                found = self._idle.pop() if self._idle else None
            if not found:
                break
            # A readable idle connection was closed by the service.
            if found.sock and not select.select([found.sock], [], [], 0)[0]:
                found.sock.settimeout(timeout)
                return found
            found.close()
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _keep(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        response.close()
        with self._lock:
            if connection.sock and not response.will_close and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    # Requests

    def _send(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
              fields: Optional[Mapping[str, Optional[str]]] = None, body: Any = None, content: Optional[Content] = None,
              content_type: str = "application/json", wait: Optional[float] = None, key: Optional[str] = None,
              accept: str = "application/json", retries: int = RETRIES) -> ContentReply:
        """Send a request, and repeat it after failures if the service carries a repeat out at most once."""
        headers = {"Accept": accept, "User-Agent": "ferry-client-python"}
        headers.update({name: value for name, value in (fields or {}).items() if value is not None})
        if self._token:
            headers["Authorization"] = "Bearer " + self._token.reveal()
        if wait is not None:
            headers["Prefer"] = f"wait={math.ceil(wait)}"
        if key is not None:
            headers["Idempotency-Key"] = key
        if body is not None:
            content = json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = content_type
        target = self._prefix + path + _query(query or {})
        limit = self.timeout + (wait or 0)
        repeats = (method == "GET" or key is not None) and (content is None or isinstance(content, (bytes, os.PathLike)))
        for attempt in range(retries + 1):
            try:
                return self._attempt(method, target, headers, content, limit)
            except (UnreachableError, ProblemError) as error:
                delay = _delay(error, attempt)
                if not repeats or attempt == retries or delay is None:
                    raise
                _sleep(delay)
        raise AssertionError("unreachable")

    def _attempt(self, method: str, target: str, headers: Dict[str, str], content: Optional[Content],
                 timeout: float) -> ContentReply:
        connection = self._connection(timeout)
        opened: Optional[BinaryIO] = None
        try:
            headers = dict(headers)
            if isinstance(content, os.PathLike):
                content = opened = open(content, "rb")
            sent, chunked = _body(content, headers)
            try:
                connection.request(method, target, sent, headers, encode_chunked=chunked)
            except (BrokenPipeError, ConnectionResetError):
                # The service may have refused the body before its end. Its reply says why.
                if connection.sock is None:
                    raise
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise UnreachableError(f"{method} {self.server}: {error!r}") from error
        except BaseException:
            connection.close()
            raise
        finally:
            if opened:
                opened.close()
        reply = ContentReply(self, connection, response)
        if response.status >= 300:
            raise ProblemError.reply(response.status, reply.headers, reply.read())
        return reply

    # The callers declare the type of the reply, which the contract promises.
    def _json(self, method: str, path: str, **request: Any) -> Item:  # type: ignore[type-var]
        reply = self._send(method, path, **request)
        try:
            found: Item = json.loads(reply.read())
            return found
        except ValueError as error:
            raise FerryError(f"{method} {path}: the reply is not JSON; is {self.server} a Ferry service?") from error

    def _text(self, method: str, path: str, **request: Any) -> str:
        return self._send(method, path, accept="*/*", **request).read().decode()

    def _nothing(self, method: str, path: str, **request: Any) -> None:
        self._send(method, path, **request).read()

    def _content(self, method: str, path: str, **request: Any) -> ContentReply:
        return self._send(method, path, accept="application/octet-stream, */*;q=0.9", **request)

    def _events(self, path: str, query: Dict[str, Any], on_disconnect: Optional[Callable[[Exception], None]]) -> EventStream:
        def connect(last: str) -> ContentReply:
            # The stream itself repeats a failed connection.
            reply = self._send("GET", path, query=query, fields={"Last-Event-ID": last}, accept="text/event-stream", retries=0)
            reply.set_timeout(self.heartbeat_timeout)
            return reply

        after = query.pop("after")
        if after is None:
            page: EventPage = self._json("GET", path, query={"limit": 1})
            after = page["nextAfter"]
        return EventStream(connect, str(after), on_disconnect)


def _query(members: Mapping[str, Any]) -> str:
    pairs: List[Tuple[str, str]] = []
    for name, value in members.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is not None:
                pairs.append((name, str(each).lower() if isinstance(each, bool) else str(each)))
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _body(content: Optional[Content], headers: Dict[str, str]) -> Tuple[Any, bool]:
    """The body as http.client sends it, and whether it is sent in chunks. Sets the fields that describe its length."""
    if content is None or isinstance(content, bytes):
        return content, False
    if hasattr(content, "read"):
        try:
            size = os.fstat(content.fileno()).st_size - content.tell()  # type: ignore[union-attr]
            headers["Content-Length"] = str(size)
            return content, False
        except (OSError, AttributeError, io.UnsupportedOperation):
            content = iter(lambda: content.read(BLOCK), b"")  # type: ignore[union-attr]
    headers["Transfer-Encoding"] = "chunked"
    return content, True


def _delay(error: FerryError, attempt: int) -> Optional[float]:
    """The seconds before a repeat, or None if a repeat fails too."""
    if isinstance(error, ProblemError):
        if error.status not in (429, 502, 503, 504) and error.name != "idempotency-in-progress":
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= LONGEST_DELAY else None
    return random.uniform(0.5, 1) * 0.2 * 4.0 ** attempt
