"""Reads Swift: comments, string literals that are English, and the names of tests.

A string literal of Sources is a message if all of this is true:

- It has at least three words. An interpolation and a code span count as one word each.
- Two words at least, and half of the words, are plain English words.
- It does not begin as code: with a keyword of SQL, a bracket, a method and a path, a status line, a header field or a URL.
- It has no mark that only code has, such as `":`, `&&` or ` = `. CODE has the list.

Literals with `+` between them are one text.
"""
import bisect, re
from . import markdown
from .rules import COMMENTS, MESSAGES, TESTS
from .texts import CODE_SPAN, MASK, Text

TOKEN = re.compile(r"""//[^\n]*|/\*|(?P<hashes>\#*)(?P<quotes>\"{3}|\")|`[^`\n]+`
  |(?P<regex>(?<=[(,=:\s])/(?![\s/*])(?:\\.|[^\n/\\])+/(?=[\s).,]|$))""", re.VERBOSE | re.MULTILINE)
COMMENT_MARK = re.compile(r"/\*|\*/")
PARENTHESIS = re.compile(r"[()]|//[^\n]*|/\*|#*\"")
JOIN = re.compile(r"\s*\+\s*")
SQL = ("SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|WITH|PRAGMA|BEGIN|COMMIT|FROM|WHERE|AND|OR|ORDER|SET|VALUES|ON|JOIN|CASE|UNION|"
       "LIMIT")
CODE = re.compile(r"""^\s*(?:
    (?:%s)\b(?!\s+[a-z]+\s+[a-z]+\s+[a-z]) | [\[{<] | (?:GET|POST|PUT|HEAD)\s[/%s] | HTTP/[\d.]+\s[\d%s]
    | [A-Z]\w+-[\w-]+:\s | \w+://)
  | \b(?:IS\ NOT\ NULL|IS\ NULL|ORDER\ BY|WHERE\ \w+\ =|FROM\ \w+\ WHERE|PRIMARY\ KEY)\b
  | \": | </ | \\r | \\\\[dws] | \[\^ | \(\? | && | \s[<>=]=?\s""" % (SQL, MASK, MASK), re.VERBOSE)
WORD = re.compile(r"[\"'(‘“]*[A-Za-z][a-z'’-]*[\"'’”).,;:!?]*")
TEST = re.compile(r"@(?:Test|Suite)\b")
FUNCTION = re.compile(r"\bfunc\s+(?:`([^`\n]+)`|(\w+))")
TYPE = re.compile(r"\b(?:struct|class|actor|enum|extension)\s+(?:`([^`\n]+)`|(\w+))")
DISPLAY = re.compile(r'\(\s*"((?:[^"\\\n]|\\.)*)"')
# The conformance cases of ledgers. Other tests call them, so they have no @Test.
CONFORMANCE = re.compile(r"\n  func (\w+)\(\s*_ kind: LedgerKind")
CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def literal(text, match):
    """The end of a string literal, and its interpolations as pairs of offsets."""
    hashes, quotes = match["hashes"], match["quotes"]
    closing, escape, single = quotes + hashes, "\\" + hashes, len(quotes) == 1
    stop = re.compile("%s|%s|\n" % (re.escape(closing), re.escape(escape)))
    place, interpolations = match.end(), []
    while True:
        found = stop.search(text, place)
        if not found or found[0] == "\n" and single:
            return (found.start() if found else len(text)), interpolations
        if found[0] == closing:
            return found.end(), interpolations
        place = found.end()
        if found[0] == escape:
            if text[place:place + 1] == "(":
                place = parenthesized(text, place)
                interpolations.append((found.start(), place))
            else:
                place += text[place:place + 1] != "\n" or single


def parenthesized(text, place):
    """The end of the parentheses that open at a place."""
    depth = 0
    while True:
        found = PARENTHESIS.search(text, place)
        if not found:
            return len(text)
        place = found.end()
        if found[0] == "(":
            depth += 1
        elif found[0] == ")":
            depth -= 1
            if depth == 0:
                return place
        elif found[0] == "/*":
            place = comment_end(text, found.start())
        elif found[0].endswith('"'):
            place = literal(text, TOKEN.match(text, found.start()))[0]


def comment_end(text, start):
    """The end of a block comment, which may have others in it."""
    depth, place = 0, start
    while True:
        mark = COMMENT_MARK.search(text, place)
        if not mark:
            return len(text)
        depth, place = depth + (1 if mark[0] == "/*" else -1), mark.end()
        if depth == 0:
            return place


def camel(name):
    """The words of a name in camel case, as a sentence; abbreviations stay as they are."""
    words = [word if len(word) > 1 and word.isupper() else word.lower() for word in CAMEL.findall(name)]
    return " ".join(words[:1])[:1].upper() + " ".join(words)[1:]


def is_english(masked):
    """Whether a literal is a message. A code span counts as an interpolation does."""
    words = [word for word in CODE_SPAN.sub(MASK, masked).split() if re.search(r"\w", word)]
    plain = [word for word in words if MASK not in word and re.search(r"[a-z]", word)]
    english = [word for word in plain if WORD.fullmatch(word)]
    return len(words) >= 3 and len(english) >= 2 and 2 * len(english) >= len(plain) and not CODE.search(masked)


class Reader:
    """The parts of one Swift file."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.comments, self.literals, code = [], [], []
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        place = 0
        while found := TOKEN.search(text, place):
            code.append(text[place:found.start()])
            start, token = found.start(), found[0]
            place = found.end()
            if token.startswith("//"):
                self.comments.append((start, place))
            elif token == "/*":
                place = comment_end(text, start)
                self.comments.append((start, place))
            elif found["quotes"]:
                place, interpolations = literal(text, found)
                self.literals.append((start, place, interpolations, found["quotes"], found["hashes"]))
            code.append(token if token[0] == "`" else " " * (place - start))
        # As long as the text, with blanks for comments, literals and regular expressions.
        self.code = "".join(code + [text[place:]])

    def line(self, offset):
        return bisect.bisect_left(self._breaks, offset) + 1

    def comment_texts(self):
        found, group, last = [], [], None
        for start, end in self.comments:
            text = self.text[start:end]
            line, before = self.line(start), self.text[self.text.rfind("\n", 0, start) + 1:start]
            if text.startswith("/*"):
                lines = [(line + n, re.sub(r"^\s*\**\s?", "", part)) for n, part in enumerate(text[2:-2].split("\n"))]
                found += markdown.texts(COMMENTS, self.path, lines, comment=True)
                continue
            mark = re.match(r"/+[!:]?", text)[0]
            key = None if before.strip() else (mark, len(before))
            if group and (key is None or last != (line - 1, key)):
                found += markdown.texts(COMMENTS, self.path, group, comment=True)
                group = []
            if not re.match(r"\s*(swift-format-ignore|swift-tools-version)", text[len(mark):]):
                group.append((line, text[len(mark):].removeprefix(" ")))
            last = (line, key)
        return found + markdown.texts(COMMENTS, self.path, group, comment=True)

    def paragraphs(self, start, end, interpolations, quotes, hashes):
        """The lines of a literal, in paragraphs: (line, text, masked text)."""
        first = start + len(hashes) + len(quotes)
        raw = self.text[first:end].removesuffix(quotes + hashes)
        masked, place = [], first
        for begin, stop in interpolations:
            masked += [self.text[place:begin], MASK * (stop - begin)]
            place = stop
        masked = ("".join(masked) + self.text[place:end])[:len(raw)]
        # An interpolation over several lines is one line.
        raw = "".join(" " if a == "\n" and b != "\n" else a for a, b in zip(raw, masked)) if "\n" in raw else raw
        paragraph, line, offset = [], self.line(first), first
        for part, mask in zip(raw.split("\n"), masked.split("\n")):
            line, offset = self.line(offset), offset + len(part) + 1
            part, mask = (re.sub(r"\\[nt]", "  ", value).rstrip("\\") for value in (part, mask))
            shift = len(part) - len(part.lstrip())
            part, mask = part.strip(), mask[shift:].rstrip()
            if part:
                paragraph.append((line, part, mask))
            elif paragraph:
                yield paragraph
                paragraph = []
        if paragraph:
            yield paragraph

    def message_texts(self):
        found, index = [], 0
        while index < len(self.literals):
            paragraphs = list(self.paragraphs(*self.literals[index]))
            while index + 1 < len(self.literals) and JOIN.fullmatch(self.text, self.literals[index][1], self.literals[index + 1][0]):
                index += 1
                more = list(self.paragraphs(*self.literals[index]))
                paragraphs = paragraphs[:-1] + [(paragraphs[-1] if paragraphs else []) + (more[0] if more else [])] + more[1:]
            index += 1
            found += [Text(MESSAGES, self.path, pieces).read_markup() for pieces in paragraphs
                      if is_english(" ".join(mask for _, _, mask in pieces))]
        return found

    def test_texts(self):
        found = []
        for match in TEST.finditer(self.code):
            line = self.line(match.start())
            name = (FUNCTION if match[0] == "@Test" else TYPE).search(self.code, match.end())
            if name:
                found.append((self.line(name.start()), name[1] or camel(name[2])))
            display = DISPLAY.match(self.text, match.end())
            if display:
                found.append((line, display[1]))
        found += [(self.line(match.start(1)), camel(match[1])) for match in CONFORMANCE.finditer(self.code)]
        return [Text(TESTS, self.path, [piece]) for piece in found]


def read(path, text):
    reader = Reader(path, text)
    found = reader.comment_texts()
    if path.startswith("Sources/"):
        found += reader.message_texts()
    if path.startswith("Tests/"):
        found += reader.test_texts()
    return found
