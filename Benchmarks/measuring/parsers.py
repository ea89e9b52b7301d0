#!/usr/bin/env python3
"""Counts the instructions per byte of each parser of text from clients and servers, for inputs of 1, 10 and 100 KiB.

The inputs have the shapes below, or repeat the slowest inputs of the fuzzer (Fuzz/corpus). callgrind counts the instructions of the
parser alone. A parser fails if it takes more than 200 instructions a byte for any size, in addition to ITEMS and ONCE. A parser
also fails if 100 KiB take more than 1.3 times as many a byte as 10 KiB.
usage: parsers.py [--all] [PARSER,...]      prints every shape, not only the slowest of each parser
       parsers.py --write=DIRECTORY PARSER  writes each shape's input of 1 KiB
       parsers.py --keep=CORPUS PARSER      adds the slowest input of a fuzzer's corpus to Fuzz/corpus if it is slower than all others"""
import glob, hashlib, os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../library"))
from harness import *
from callgrind import program

PROBE = os.environ.get("PROBE", os.path.join(ROOT, ".build/release/probe"))
CORPUS = os.path.join(ROOT, "Fuzz/corpus")
SIZES = (1 << 10, 10 << 10, 100 << 10)
MOST, GROWTH = 200, 1.3
# The permitted instructions for an item, in addition to those for its bytes. An item is a line, or an entry of a list. An item of a
# few bytes is allocated, hashed or looked up like a long one. Limits bound the number of items, so this matters for 1 and 10 KiB
# only.
ITEMS = {"batch": 320, "cache": 2600, "cookie-jar": 2400, "head": 1300, "header-fields": 3900, "multipart": 150, "proxy-exceptions": 850}
# The permitted instructions for an input of any size: each stored response gets an identifier and a date.
ONCE = {"cache": 25_000}
# Below this number of instructions a byte, which includes a copy into larger memory, growth does not count.
FEW = 20

# The name that the probe gives to each line, and whether it does so only for lines without a colon.
NAMES = {"cookie-jar": ("Set-Cookie", False), "content-type": ("Content-Type", False), "cache": ("Cache-Control", True),
         "header-fields": ("Cache-Control", True)}

# Each shape: its beginning, a repeated piece, and its end. A `#` in the piece becomes its number.
SHAPES = {
    "set-cookie": [("a=b", piece, "") for piece in (
        "; Path=/a", "; Expires=Wed, 21 Oct 2030 07:28:00 GMT", "; Max-Age=9", ";", "=", " ", "; Domain=a.test", "; a=b; ", "; Secure",
        "; SameSite=Lax", "; Expires=1 ", "\U0001F1E9", ";Path=/" + "a" * 1000, ";Domain=" + "A" * 1000, ";Expires=" + "1 " * 500,
        ";Expires=" + "1:" * 500, ";Expires=" + "a " * 500, ";Max-Age=" + "9" * 1000)],
    "cookie-jar": [("", piece, "") for piece in (
        "a#=b\n", "a=#\n", "a=b; Path=/#\n", "a#=" + "b" * 95 + "\n", "a#=b; Secure; Path=/; Domain=example.com\n", "\n", "a#\n",
        "a#=b; Max-Age=0\n", "__Host-a#=b; Secure; Path=/\n", ";" * 99 + "\n", "a#=b; Path=/" + "a" * 500 + "\n", "a=b")],
    "cache": [(before, piece, "") for before, piece in (
        ("", "max-age=9\n"), ("max-age=9", ","), ("max-age=9", ",x"), ("max-age=9", 'no-cache="a",'), ('no-cache="', "x#,"),
        ('no-cache="', "\\"), ("", '"'), ("ETag: a\nVary: ", "x-#,"), ("ETag: a\nVary: ", "\""), ("ETag: a\nVary: ", ","),
        ("ETag: a\n", "Vary: x-#\n"), ("ETag: a\nConnection: ", "x#,"), ("ETag: a\nConnection: ", ","),
        ("ETag: a\n", "X-#: v\n"), ("ETag: a\n", "ETag: a\n"), ("ETag: a\nExpires: ", "1 "), ("ETag: a\nAge: ", "1,"),
        ("ETag: a\nRange: bytes=", "1-"), ("ETag: a\nPragma: ", "x,"), ("ETag: ", '"'), ("max-age=", "9"), ("", "=,"),
        ("ETag: a\nVary: accept-language\nAccept-Language: ", "de,"), ("ETag: a\nVary: cookie\nCookie: ", "a=b;"),
        ("ETag: a\nContent-Range: bytes ", "1-"), ("ETag: a\nLast-Modified: ", "1 "), ("ETag: a\nExpires: ", "1-"))],
    "head": [("HTTP/1.1 200 OK\n", piece, "\n\n") for piece in (
        "X-#: v\n", "x-a: v\n", "a:\n", " a\n", "a\n", ":\n", "a: \u00e9", "-", "a-", "set-cookie: a=b\n", "HTTP/1.1 100 a\n\n", "\r", "\n",
        "A: " + "b" * 1000 + "\n", " " + "b" * 30 + "\n")] + [
            ("HTTP/1.1 200 OK\nA:", b"\xff", ""), ("HTTP/1.1 200 OK\nLocation:", b"\xff", ""), ("HTTP/1.1 200 OK\nA: b\n", b" \xff\n", ""),
            ("HTTP/1.1 ", "2 ", "")],
    "header-fields": [("", piece, "") for piece in (
        "X-#: v\n", "X: v\n", "x:\n", "a#:\n", "Set-Cookie: a\n", "Content-Type: a/b\n", "X: \x01\n", "X: \u00e9\n", "\n",
        "X-#: " + "v" * 500 + "\n", "X" * 500 + ": #\n", "Authorization: Bearer #\n", "Link: <http://a:b@c/#>\n", "Location: http://a:b@c/#\n")]
        + [("X: ", piece, "") for piece in ("v", "\x01", "\"", "\\", "\u00e9", "\x7f")],
    "content-disposition": [(before, piece, "") for before, piece in (
        ("attachment", "; a=b"), ("attachment", ";"), ("attachment; filename=\"", "a\\\""), ("attachment; filename=\"", "/"),
        ("attachment; filename=\"", "\\\\/"), ("attachment; filename*=utf-8''", "%41"), ("attachment; filename*=utf-8''", "%c3%a9"),
        ("attachment; filename*=iso-8859-1''", "%e9"), ("attachment; filename*=utf-8''", "/"), ("attachment; filename*=utf-8", "'"),
        ("attachment; filename=", "\u00e9"), ("attachment; filename=", "a."), ("attachment; filename=", "\x01"), ("", "\""), ("a;", "="),
        ("attachment", "; filename*="), ("attachment", "; filename=\"\""), ("attachment; filename=", "\U0001F1E9"), ("a; ", " "))],
    "content-type": [("", piece, "") for piece in (
        "text/html\n", "text/html;charset=a\n", "text/html,", "a/b;charset=c,", ",", ";", "/", "\"", "a/b;\"", " ", "\n", "a/b,c/d;charset=e\n",
        "text/html; a=b", "a/#,", "\u00e9,")] + [("a/b;charset=", "x", ""), ("a/b;charset=x,", "a/b,", ""), ("a/b;charset=\"", "\\a", ",a/b")],
    "challenges": [("", piece, "") for piece in (
        'Basic realm="a", ', "Basic ", "a", ",", "Digest a=", '"', "Negotiate a==, ", "a/", "a b/ ", '="\\"', "a=b,", "Digest a#=b,", "Digest ",
        " ", "=", "a,", "\u00e9,")] + [("Digest a=b", ", a#=b", ""), ("Digest a=b", ", a=b", ""), ("Digest a=b", ", A=", ""),
                                    ('Digest a="', "\\", ""), ("Negotiate ", "=", ""), ("Digest a=b,", "a", "")],
    "proxy-exceptions": [('["a"', ',"' + entry + '"', "]") for entry in (
        "a#.test", "*.a#.test", "a:80", "10.#.0.0/16", "10.0.0.0/#", "10.0.0.1", "a:#", "[fe80::#]:80", "fe80::#", "::/#", "*", "a", "1",
        "fe80::#/64", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "")]
        + [('["a","', piece, '"]') for piece in (".", ":", "a.", "/", "[", "A", "\u00c4", "0.", "::", "*.")],
    "json": [(before, piece, after) for before, piece, after in (
        ("[0", ",#", "]"), ("[0", ",1", "]"), ("[0", ",[]", "]"), ("[0", ",{}", "]"), ("{\"\":0", ',"#":0', "}"), ("[0", ',{"a":{}}', "]"),
        ("{\"\":0", ',"' + "x" * 40 + '#":1', "}"), ('"', "x", '"'), ('"', "\\u00e9", '"'), ('"', "\\n", '"'), ('"', "\\ud83d\\ude00", '"'),
        ('"', "\u00e9", '"'), ("[0", ',""', "]"), ("[0", ",null", "]"), ("[0", ",1e1", "]"), ("[0", ",0.1", "]"), ("[0", ",-1.5e-7", "]"),
        ("[0", ',"\\n"', "]"), ("[0", "," + "9" * 18, "]"), ("[0", "," + "9" * 30, "]"), ("0.", "9", ""), ("[", " ", "]"), ("[", "[", ""),
        ("[0", ',{"a":1,"b":2}', "]"), ("[0", "," + "[" * 60 + "]" * 60, "]"), ('["', '","', '"]'), ("[0", ",0.1e300", "]"),
        ("[0", ',{"a":0,"a":0}', "]"), ("[0", "," + '{"a":' * 30 + "0" + "}" * 30, "]"))],
    "batch": [("", piece, "") for piece in (
        "{}\n", "\n", " \r\n", "x\n", "[]\n", '{"request":{"url":"http://a/#"}}\n', '{"kind":"download","request":{"url":"http://a/#"}}\n',
        '{"a":"' + "x" * 1000 + '"}\n', "1\n", '""\n', "x", "\xff\n", '{"a":1,"a":1}\n')],
    "pem": [("", piece, "") for piece in (
        "-----BEGIN ", "-", "----", "-----B", "-----BEGIN", "a", "-----BEGIN A-----\nAA==\n-----END A-----\n", "\n", "\u00e9")],
    "base64": [("", piece, "") for piece in ("AAAA", "=", "AA==", "+/+/", "-_-_", "A", "\u00e9", "AAA\n")],
    "multipart": [("--b\r\n\r\n", piece, "") for piece in (
        "\r\n--b\r\n\r\nbody", "\r\n--b\r\nX: y\r\n z\r\n\r\n", "\r\n--", "\r\n", "\n", "x", "\r", "\r\n--b ", "-", "\n--b\n\n", "\r\n--b\r\n\r\n",
        "\n--b" + " " * 250, "\n--b\na:b\n\n", "\n--b\n" + "a:\n" * 1000 + "\n")] + [("", piece, "") for piece in (
            "--b", "\n", "--b \n", "-", "x", "--b\n")],
    "dates": [("", piece, "") for piece in (
        "1 ", "1:", "Jan ", "0", " ", "a", "Wed, 21 Oct 2030 07:28:00 GMT ", "Sunday, 06-Nov-94 ", "-", ",", "1:1:1 ", "\u00e9", "A ", "99999 ")],
}


def encoded(text):
    return text if isinstance(text, bytes) else text.encode()


def shaped(shape, size):
    """Returns an input of this size, or the largest that consists of whole pieces."""
    before, piece, after = map(encoded, shape)
    left, parts, number = size - len(before) - len(after), [], 0
    while True:
        part = piece.replace(b"#", b"%d" % number)
        if len(part) > left:
            # A piece that is larger than the input is cut.
            parts += [part[:left]] if not parts else []
            break
        parts.append(part)
        left -= len(part)
        number += 1
    return before + b"".join(parts) + after


def repeated(path, size):
    with open(path, "rb") as f:
        piece = f.read()
    return (piece * (size // max(1, len(piece)) + 1))[:size]


def sent(parser, data):
    """Returns the number of bytes that a peer sends for an input. The lines of some inputs are header fields without their names
    and CRs."""
    if parser not in NAMES:
        return len(data)
    name, hasOthers = NAMES[parser]
    lines = data.split(b"\n")
    nameless = sum(not hasOthers or b":" not in line for line in lines)
    return len(data) + len(lines) + nameless * len(f"{name}: ")


def shapes(parser):
    """Returns functions that make inputs of a size, by name."""
    found = {f"{before!s:.20}{piece!s:.30}…": lambda size, shape=(before, piece, after): shaped(shape, size)
             for before, piece, after in SHAPES[parser]}
    for path in sorted(glob.glob(f"{CORPUS}/{parser}/*")):
        found[f"corpus/{os.path.basename(path)}"] = lambda size, path=path: repeated(path, size)
    return {name.encode("unicode_escape").decode(): make for name, make in found.items()}


class Counter:
    """The probe under callgrind, which writes the profile of each call of a parser to a file."""

    def __init__(self, directory):
        self.directory, self.binary = directory, program(directory, PROBE)

    def count(self, parser, inputs):
        """Returns the parser's instructions for each input. The smaller inputs are parsed before the count, because a process sets
        up its tables once."""
        warm = [data for data in inputs if len(data) <= SIZES[1]] or inputs[:1]
        paths = []
        for number, data in enumerate([*warm, *inputs]):
            paths.append(f"{self.directory}/{number}")
            with open(paths[-1], "wb") as f:
                f.write(data)
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--zero-before=probe_parse", "--dump-after=probe_parse",
             f"--callgrind-out-file={self.directory}/out", self.binary, "parse", parser, *paths],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"})
        assert done.returncode == 0, f"{parser}: {done.stderr[-3000:]}"
        counts = []
        for number in range(1, len(paths) + 1):
            with open(f"{self.directory}/out.{number}") as f:
                counts.append(next(int(line.split()[1]) for line in f if line.startswith(("totals:", "summary:"))))
        for path in [*paths, *glob.glob(f"{self.directory}/out*")]:
            os.unlink(path)
        return counts[len(warm):]


def most(parser, data):
    """Returns the permitted instructions a byte of an input."""
    items = 1 + max(data.count(b"\n"), data.count(b","))
    return MOST + (ONCE.get(parser, 0) + ITEMS.get(parser, 0) * items) / sent(parser, data)


def ratios(counter, parser):
    """Returns the instructions a byte of each shape at each size, with the permitted number."""
    found = shapes(parser)
    inputs = [make(size) for make in found.values() for size in SIZES]
    each = iter((count / sent(parser, data), most(parser, data)) for count, data in zip(counter.count(parser, inputs), inputs))
    return {name: [next(each) for _ in SIZES] for name in found}


def faults(measured):
    for size, (value, allowed) in zip(SIZES, measured):
        if value > allowed:
            yield f"more than {allowed:,.0f} instructions a byte for {size >> 10} KiB"
    (middle, _), (large, _) = measured[1:]
    if large > FEW and large > GROWTH * middle:
        yield f"{large / middle:.2f} times as many a byte for ten times the size"


def write(directory, parser):
    """Writes the initial inputs of a fuzzer."""
    for make in shapes(parser).values():
        data = make(SIZES[0])
        with open(f"{directory}/{hashlib.sha1(data).hexdigest()}", "wb") as f:
            f.write(data)


def keep(counter, corpus, parser, candidates=10):
    """Adds the slowest input of a corpus. The probe's own clock selects a few candidates, and callgrind one of them."""
    paths = {}
    for path in glob.glob(f"{corpus}/*"):
        if os.path.getsize(path):
            longer = f"{counter.directory}/{os.path.basename(path)}"
            with open(longer, "wb") as f:
                f.write(repeated(path, SIZES[1]))
            paths[longer] = path
    times = subprocess.run([PROBE, "time", parser, *paths], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    slowest = [line.split()[1] for line in sorted(times, key=lambda line: -int(line.split()[0]))[:candidates]]
    known = max(found[1][0] for found in ratios(counter, parser).values())
    counts = counter.count(parser, [repeated(paths[path], SIZES[1]) for path in slowest])
    most, path = max(zip(counts, slowest))
    print(f"{parser}: {most / SIZES[1]:,.1f} instructions a byte in the corpus, {known:,.1f} before")
    if most / SIZES[1] > known:
        os.makedirs(f"{CORPUS}/{parser}", exist_ok=True)
        shutil.copy(paths[path], f"{CORPUS}/{parser}/{os.path.basename(path)[:8]}")


def option(name):
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), None)


def main():
    names = next((a.split(",") for a in sys.argv[1:] if not a.startswith("--")), list(SHAPES))
    if option("write"):
        return write(option("write"), names[0])
    listed = subprocess.run([PROBE, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if set(listed) != set(SHAPES) or not set(names) <= set(SHAPES):
        sys.exit(f"{__doc__}\n\nPARSER is one of {', '.join(SHAPES)}; the probe has {', '.join(listed)}")
    rows, failed = [("parser", "1 KiB", "10 KiB", "100 KiB", "slowest input", "")], False
    with scratch() as directory:
        counter = Counter(directory)
        if option("keep"):
            return keep(counter, option("keep"), names[0])
        for parser in names:
            measured = sorted(ratios(counter, parser).items(), key=lambda item: -max(value for value, _ in item[1]))
            shown = [item for number, item in enumerate(measured) if number == 0 or "--all" in sys.argv or any(faults(item[1]))]
            for name, found in shown:
                failed = failed or any(faults(found))
                rows.append((parser, *(f"{value:,.1f}" for value, _ in found), name, "; ".join(faults(found))))
    print("instructions a byte")
    table(rows)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
