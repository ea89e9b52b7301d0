"""Reads the English of a YAML or JSON document: summaries, descriptions and titles. Not a YAML parser: it knows openapi.yaml's style."""
import re
from . import markdown
from .texts import Text

KEYS = r"(?:summary|description|title)"
BLOCK = re.compile(r"(\s*(?:- )*)(['\"]?[\w$./-]+['\"]?): [|>][-+]?\s*$")
VALUE = re.compile(r"(?:^|(?<=[{,\s]))%s:[ \n]\s*" % KEYS)
QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"")
IN_FLOW = re.compile(r"[^,}\]\n]*")
JSON = re.compile(r'"(?:title|description)": *("(?:[^"\\\n]|\\.)*")')


def indentation(line):
    return len(line) - len(line.lstrip(" "))


def literal_blocks(lines):
    """Yields (key, lines) of each block scalar, and blanks its lines."""
    index = 0
    while index < len(lines):
        match = BLOCK.match(lines[index])
        index += 1
        if not match:
            continue
        depth, block = len(match[1]), []
        while index < len(lines) and (not lines[index].strip() or indentation(lines[index]) > depth):
            block.append((index + 1, lines[index]))
            lines[index] = ""
            index += 1
        shift = min((indentation(line) for _, line in block if line.strip()), default=0)
        yield match[2], [(number, line[shift:]) for number, line in block]


def plain(text, start, end):
    """The end of an unquoted value: in a flow mapping its comma or brace, else the last line that is indented more than the key."""
    line_start = text.rfind("\n", 0, start) + 1
    before = text[line_start:start]
    if before.strip(" -"):
        return IN_FLOW.match(text, end).end()
    stop = text.find("\n", end)
    while stop >= 0:
        following = text[stop + 1:].split("\n", 1)[0]
        if not following.strip() or indentation(following) <= len(before):
            break
        stop = text.find("\n", stop + 1)
    return len(text) if stop < 0 else stop


def read(kind, path, text):
    lines, found = text.split("\n"), []
    for key, block in literal_blocks(lines):
        if re.fullmatch(KEYS, key):
            found += markdown.texts(kind, path, block)
    text, line, last = "\n".join("" if line.lstrip().startswith("#") else line for line in lines), 1, 0
    for match in VALUE.finditer(text):
        start = match.end()
        if text[start:start + 1] in "{[&*|>" or "\n" in match[0]:
            continue
        quoted = QUOTED.match(text, start)
        value = quoted[0][1:-1] if quoted else text[start:plain(text, match.start(), start)]
        line, last = line + text.count("\n", last, start), start
        pieces = [(line + number, part.strip()) for number, part in enumerate(value.replace("''", "'").split("\n"))]
        found.append(Text(kind, path, pieces).read_markup())
    return found


def read_json(kind, path, text):
    """Descriptions of a JSON schema."""
    return [Text(kind, path, [(text.count("\n", 0, match.start()) + 1, match[1][1:-1])]).read_markup() for match in JSON.finditer(text)]
