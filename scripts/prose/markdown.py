"""Reads Markdown: files, descriptions of openapi.yaml, and comments."""
import re
from .texts import CODE_SPAN, MASK, Text

FENCE = re.compile(r"\s*(```+|~~~+)")
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])\s+")
HEADING = re.compile(r"\s*#{1,6}\s+")
QUOTE = re.compile(r"\s*>\s?")
ROW = re.compile(r"\s*\|.*\|\s*$")
RULE_OF_TABLE = re.compile(r"[\s|:-]+$")
DEFINITION = re.compile(r"\s*\[[^\]]+\]: \S+")
# The fields of Swift's documentation comments.
FIELD = re.compile(r"(Parameters?\b[^:]*|Returns|Throws|Note|Important|Warning|Precondition|SeeAlso|MARK):\s*(- )?")
USAGE = re.compile(r"\s*usage: ", re.IGNORECASE)


def cells(line):
    """The cells of a table's row; a bar in a code span or after a backslash is text."""
    masked = CODE_SPAN.sub(lambda match: MASK * len(match[0]), line)
    bars = [match.start() for match in re.finditer(r"(?<!\\)\|", masked)]
    return [line[start + 1:end].strip() for start, end in zip(bars, bars[1:])]


def blocks(lines, comment=False):
    """Paragraphs, headings, list items and cells of (line number, text) lines, each as a list of such lines.

    comment: an item may begin with a field such as `- Returns:`; indented lines outside lists are code, and so is a line with `usage:`."""
    block, fence, in_list, in_usage = [], None, False, False
    for number, line in lines:
        line = line.rstrip()
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = None
            continue
        if mark:
            fence = mark[1]
        quote = QUOTE.match(line) if not comment else None
        if quote:
            line = line[quote.end():]
        item, heading = ITEM.match(line), HEADING.match(line)
        starts = mark or not line or item or heading or ROW.match(line) or DEFINITION.match(line)
        if comment and (USAGE.match(line) or in_usage and line.startswith(" ")):
            starts = in_usage = True
            line = ""
        elif line:
            in_usage = False
        if comment and not in_list and not item and line.startswith("  "):
            starts, line = True, ""  # a command or another example
        if starts and block:
            yield block
            block = []
        if mark or not line or DEFINITION.match(line):
            in_list = in_list and not mark
            continue
        if ROW.match(line):
            if not RULE_OF_TABLE.match(line):
                yield from ([(number, cell)] for cell in cells(line) if cell)
            continue
        if item:
            in_list, line = True, line[item.end():]
        elif not block and not line.startswith(" "):
            in_list = False
        elif not block and not in_list and line.startswith("    "):
            continue  # an indented code block
        if heading:
            yield [(number, line[heading.end():])]
            continue
        line = line.strip()
        if comment and not block:
            field = FIELD.match(line)
            line = line[field.end():] if field else line
        if line:
            block.append((number, line))
    if block:
        yield block


def texts(kind, path, lines, comment=False):
    return [Text(kind, path, block).read_markup() for block in blocks(lines, comment)]


def read(kind, path, text):
    return texts(kind, path, enumerate(text.split("\n"), 1))
