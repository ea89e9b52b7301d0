"""Event streams: the parser of server-sent events, and a stream that reconnects."""
from __future__ import annotations

import json
import logging
import random
import threading
from typing import TYPE_CHECKING, Callable, Iterator, List, NamedTuple, Optional

from .errors import ProblemError, UnreachableError

if TYPE_CHECKING:
    from .models import Event
    from .transport import ContentReply

LONGEST_DELAY = 30.0
_log = logging.getLogger("ferry_client")


class ServerSentEvent(NamedTuple):
    type: str
    data: str
    #: The id of this event, or of the last one that had an id.
    id: str


class EventParser:
    """Parses `text/event-stream` that arrives in parts of any size (WHATWG HTML, section 9.2)."""

    def __init__(self) -> None:
        self.last_id = ""
        #: The delay before a reconnection in seconds, if the service sent one.
        self.retry: Optional[float] = None
        self._rest, self._is_first, self._ends_with_return = bytearray(), True, False
        self._type, self._id = "", ""
        self._data: List[str] = []

    def feed(self, part: bytes) -> List[ServerSentEvent]:
        """Return the events that this part completes."""
        if self._ends_with_return and part:
            # The line ended with the part before this one, so a line feed is the second half of its end.
            part, self._ends_with_return = part[1:] if part[:1] == b"\n" else part, False
        self._rest += part
        events: List[ServerSentEvent] = []
        while True:
            ends = [place for place in (self._rest.find(b"\n"), self._rest.find(b"\r")) if place >= 0]
            if not ends:
                return events
            end = min(ends)
            line, next_line = bytes(self._rest[:end]), end + 1
            if self._rest[end:end + 1] == b"\r":
                if next_line == len(self._rest):
                    self._ends_with_return = True
                elif self._rest[next_line:next_line + 1] == b"\n":
                    next_line += 1
            del self._rest[:next_line]
            event = self._line(line)
            if event:
                events.append(event)

    def _line(self, line: bytes) -> Optional[ServerSentEvent]:
        if self._is_first:
            line, self._is_first = line[3:] if line.startswith(b"\xef\xbb\xbf") else line, False
        if not line:
            return self._dispatch()
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self._type = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdecimal():
            self.retry = int(value) / 1000
        return None

    def _dispatch(self) -> Optional[ServerSentEvent]:
        data, type, self._data, self._type = self._data, self._type, [], ""
        self.last_id = self._id
        return ServerSentEvent(type or "message", "\n".join(data), self.last_id) if data else None


class EventStream(Iterator["Event"]):
    """The events of a session, a task or all sessions. Iterate over it, and close it.

    The stream has every stored event since the call that made it. If the connection is lost, the stream reconnects and
    the service replays the missed events. If they have expired, the next event is `events.didReset`: read the state of
    your tasks again. Progress events are not replayed.
    """

    def __init__(self, connect: Callable[[str], ContentReply], after: str,
                 on_disconnect: Optional[Callable[[Exception], None]]) -> None:
        self.last_event_id = after
        self._connect, self._on_disconnect = connect, on_disconnect
        self._parser = EventParser()
        self._ready: List[ServerSentEvent] = []
        self._failures, self._delay = 0, 2.0
        self._is_closed, self._reading = threading.Event(), threading.Lock()
        self._reply: Optional[ContentReply] = connect(after)

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> Event:
        with self._reading:
            while not self._is_closed.is_set():
                if self._ready:
                    return self._take()
                try:
                    self._read()
                except Exception as error:
                    self._lost(error)
            self._disconnect()
        raise StopIteration

    def close(self) -> None:
        """End the stream. Another thread that waits for an event returns."""
        self._is_closed.set()
        if reply := self._reply:
            reply.abort()
        if self._reading.acquire(blocking=False):
            self._disconnect()
            self._reading.release()

    def _disconnect(self) -> None:
        if self._reply:
            self._reply.abort()
            self._reply.close()
            self._reply = None

    def _take(self) -> Event:
        found = self._ready.pop(0)
        if found.id:
            self.last_event_id = found.id
        event: Event = json.loads(found.data)
        return event

    def _read(self) -> None:
        if self._reply is None:
            self._reply = self._connect(self.last_event_id)
            self._parser = EventParser()
        part = self._reply.read_some()
        if not part:
            raise UnreachableError("the service ended the stream")
        self._failures = 0
        self._ready += self._parser.feed(part)
        if self._parser.retry is not None:
            self._delay = self._parser.retry

    def _lost(self, error: Exception) -> None:
        """Wait before the next connection, unless another connection cannot help."""
        self._disconnect()
        if self._is_closed.is_set():
            return
        refused = isinstance(error, ProblemError) and error.status < 500 and error.status not in (408, 429)
        if refused or not isinstance(error, (OSError, UnreachableError, ProblemError)):
            self._is_closed.set()
            raise error
        if self._on_disconnect:
            self._on_disconnect(error)
        else:
            _log.warning("event stream: %s; reconnecting", error)
        delay = min(self._delay * 2 ** self._failures, LONGEST_DELAY)
        self._failures += 1
        self._is_closed.wait(random.uniform(0.5, 1) * delay)
