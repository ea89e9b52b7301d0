"""Bytes that are almost correct. The generator that is passed in makes every choice, so a seed determines the result."""
SPECIALS = [
    b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b";", b",", b"=", b'"', b"\\", b"\x7f", b"\x80", b"\xff",
    b"\xc3\x28", b"%00", b"%0d%0a", b"../", b"-1", b"0", b"00000000000000000001", b"9223372036854775807", b"9223372036854775808",
    b"99999999999999999999999", b"1e309", b"0x10", b"=?utf-8?B?", b"{", b"}", b"[", b"]", b"<", b">"]


def mutated(random, text):
    """Returns the text with a few changes, or unchanged."""
    data = bytearray(text)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice((1, 1, 2, 4, 16, 64)))
        change = random.randrange(8)
        if change == 0 and data:
            data[at % len(data)] = random.randrange(256)
        elif change == 1:
            data[at:at] = random.choice(SPECIALS)
        elif change == 2:
            del data[at:end]
        elif change == 3:
            data[at:at] = data[at:end]
        elif change == 4:
            data[at:at] = random.choice(SPECIALS) * random.choice((2, 50, 1000, 20000))
        elif change == 5:
            del data[at:]
        elif change == 6:
            data[at:end] = bytes(random.randrange(256) for _ in range(end - at))
        else:
            lines = bytes(data).split(b"\n")
            lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
            data = bytearray(b"\n".join(lines))
    return bytes(data[:400_000])
