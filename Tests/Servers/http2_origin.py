#!/usr/bin/env python3
"""An origin that speaks HTTP/2 only (ALPN h2) and writes single frames. Each connection has a thread.

usage: http2_origin.py PORT DIRECTORY ACTION...

Each request gets the next action. The last action repeats.

answer           reads the body, and responds with 200 and its size
goaway           sends a GOAWAY that does not cover the stream
goaway-error     the same, with an error code (ENHANCE_YOUR_CALM)
refuse           resets the stream: REFUSED_STREAM
close            closes the connection
STATUS[-FLAG]... responds at once, without reading the body; flags:
                 length  has a content-length
                 bare    has no content
                 reset   resets the stream with NO_ERROR after the response
                 half    omits the end of the response

DIRECTORY/requests.log has a line for each request: connection, stream, action, and the number of body bytes that were read.
"""
import itertools
import socket
import ssl
import struct
import sys
import threading

port, directory, actions = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 1, 1, 4
NO_ERROR, REFUSED_STREAM, ENHANCE_YOUR_CALM = 0, 7, 11
lock = threading.Lock()
coming = itertools.chain(actions, itertools.repeat(actions[-1]))

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{directory}/leaf.pem", f"{directory}/key.pem")
context.set_alpn_protocols(["h2"])


class Connection:
    def __init__(self, number, tls):
        self.number, self.tls, self.last = number, tls, 0
        self.reading = {}  # the sizes of bodies that are read completely
        self.is_going = False

    def exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.tls.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def send(self, *frames):
        self.tls.sendall(b"".join(frames))

    def serve(self):
        self.exactly(24)
        self.send(frame(SETTINGS, 0, 0))
        while True:
            head = self.exactly(9)
            length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
            stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            payload = self.exactly(length)
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, payload))
            elif kind == HEADERS:
                self.begin(stream, flags & END_STREAM)
            elif kind == DATA and stream in self.reading:
                self.take(stream, length, flags & END_STREAM)

    def begin(self, stream, is_whole):
        if self.is_going:
            return
        with lock:
            action = next(coming)
        if action == "answer":
            self.last = stream
            self.reading[stream] = 0
            return self.finish(stream) if is_whole else None
        self.note(stream, action, 0)
        if action == "refuse":
            self.send(frame(RST_STREAM, 0, stream, struct.pack(">I", REFUSED_STREAM)))
        elif action in ("goaway", "goaway-error"):
            self.is_going = True
            code = NO_ERROR if action == "goaway" else ENHANCE_YOUR_CALM
            self.send(frame(GOAWAY, 0, 0, struct.pack(">II", self.last, code)))
        elif action == "close":
            raise EOFError
        else:
            self.last = stream
            self.answer(stream, *action.split("-"))

    def take(self, stream, length, is_last):
        self.reading[stream] += length
        if length:
            more = struct.pack(">I", length)
            self.send(frame(WINDOW_UPDATE, 0, 0, more), frame(WINDOW_UPDATE, 0, stream, more))
        if is_last:
            self.finish(stream)

    def finish(self, stream):
        size = self.reading.pop(stream)
        self.note(stream, "answer", size)
        body = str(size).encode()
        self.send(head_frame(stream, 200, len(body)), frame(DATA, END_STREAM, stream, body))

    def answer(self, stream, status, *flags):
        body = b"" if "bare" in flags else b"refused"
        end = 0 if "half" in flags else END_STREAM
        frames = [head_frame(stream, int(status), len(body) if "length" in flags else None, 0 if body else end)]
        if body:
            frames.append(frame(DATA, end, stream, body))
        if "reset" in flags:
            frames.append(frame(RST_STREAM, 0, stream, struct.pack(">I", NO_ERROR)))
        self.send(*frames)

    def note(self, stream, action, size):
        with lock, open(f"{directory}/requests.log", "a") as log:
            log.write(f"{self.number} {stream} {action} {size}\n")


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def head_frame(stream, status, length, end=0):
    # Literals without indexing, with name indexes of the static table (RFC 7541 Appendix A): 8 is :status, 28 content-length.
    block = b"\x08\x03%d" % status
    if length is not None:
        digits = b"%d" % length
        block += b"\x0f\x0d" + bytes([len(digits)]) + digits
    return frame(HEADERS, END_HEADERS | end, stream, block)


def serve(number, client):
    try:
        with client, context.wrap_socket(client, server_side=True) as tls:
            Connection(number, tls).serve()
    except (OSError, EOFError):
        pass


with socket.create_server(("127.0.0.1", port), backlog=128) as listener:
    for number in itertools.count(1):
        threading.Thread(target=serve, args=(number, listener.accept()[0]), daemon=True).start()
