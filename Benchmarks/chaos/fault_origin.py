#!/usr/bin/env python3
"""A slow origin that cuts connections at random places and may be killed at any time. Only its content is reliable.

GET /d/N: returns the Nth body, with ETag and ranges. PUT /u/N: receives the Nth body and records it after its last byte.
POST /pace/BYTES: sets the bytes per second of each body, or 0 for no limit. Without a limit there are no cuts.
usage: fault_origin.py PORT RECORD SEED PACE"""
import asyncio, hashlib, os, random, sys

PIECE = 0.4  # seconds between two pieces of a body
CUTS = 0.12  # the share of responses that are cut


def body(number, seed):
    chance = random.Random(number * 1_000_003 + seed)
    return chance.randbytes(chance.randrange(60_000, 400_000))


class Origin:
    def __init__(self, record, seed, pace):
        self.record = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.seed, self.pace, self.bodies = seed, pace, {}
        self.chance = random.Random()

    def body(self, number):
        if number not in self.bodies:
            if len(self.bodies) > 800:
                self.bodies.clear()
            self.bodies[number] = body(number, self.seed)
        return self.bodies[number]

    def cut(self, size):
        """Returns the number of bytes before the connection is cut, or None."""
        return self.chance.randrange(size) if self.pace and self.chance.random() < CUTS else None

    async def serve(self, reader, writer):
        try:
            while await self.exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.transport.abort()

    async def exchange(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in head[1:] if line)}
        kind, number = path.split("/")[1], int(path.split("/")[2])
        if kind == "pace":
            self.pace = number
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        elif kind == "d":
            await self.download(writer, self.body(number), number, fields)
        else:
            await self.upload(reader, writer, number, int(fields["content-length"]))
        await writer.drain()
        return True

    async def download(self, writer, content, number, fields):
        tag, first = f'"v{number}"', 0
        asked = fields.get("range", "")
        if asked.startswith("bytes=") and asked.endswith("-") and fields.get("if-range", tag) == tag:
            first = int(asked[6:-1])
        status = "206 Partial Content" if first else "200 OK"
        lines = [f"HTTP/1.1 {status}", f"ETag: {tag}", f"Content-Length: {len(content) - first}", "Accept-Ranges: bytes"]
        if first:
            lines.append(f"Content-Range: bytes {first}-{len(content) - 1}/{len(content)}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self.send(writer, content[first:])

    async def send(self, writer, content):
        end, offset = self.cut(max(1, len(content))), 0
        while offset < len(content):
            step = int(self.pace * PIECE) or len(content)
            piece = content[offset:offset + step]
            if end is not None and offset + len(piece) > end:
                writer.write(piece[:end - offset])
                await writer.drain()
                raise ConnectionError
            writer.write(piece)
            await writer.drain()
            offset += len(piece)
            if self.pace:
                await asyncio.sleep(PIECE)

    async def upload(self, reader, writer, number, size):
        end, digest, left = self.cut(size), hashlib.sha256(), size
        while left:
            piece = await reader.read(min(left, 65536))
            if not piece:
                raise ConnectionError
            left -= len(piece)
            digest.update(piece)
            if end is not None and size - left > end:
                raise ConnectionError
        if self.pace:
            await asyncio.sleep(self.chance.uniform(0, 6))
        os.write(self.record, f"{number} {size} {digest.hexdigest()}\n".encode())
        writer.write(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")


async def main():
    port, record, seed, pace = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    origin = Origin(record, seed, pace)
    server = await asyncio.start_server(origin.serve, "127.0.0.1", port, backlog=4096, reuse_address=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
