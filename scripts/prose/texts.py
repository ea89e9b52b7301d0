"""A text as the rules see it: lines joined with blanks, code masked, with the line of each offset."""
import bisect, re

# Stands for each character of code. It is a letter, so a code span is one word.
MASK = "\u039e"
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
URL = re.compile(r"\bhttps?://[^\s)>\]]+")
LINK = re.compile(r"!?\[([^\[\]]*)\](\([^()\s]*(?: [^()]*)?\)|\[[^\[\]]*\])")
TAG = re.compile(r"<!--|-->|</?[a-z][^<>]*>")
EMPHASIS = re.compile(r"\*\*|(?<!\w)\*(?=\w)|(?<=[\w.,!?])\*(?!\w)|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")
SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?…][\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9%s])" % MASK)


class Text:
    """One paragraph, list item, table cell, comment, message or test name."""

    def __init__(self, kind, path, pieces):
        """pieces: (line, text) or (line, text, masked text of the same length)."""
        self.kind, self.path = kind, path
        raw, masked, self._starts, self._lines, length = [], [], [], [], 0
        for line, text, *mask in pieces:
            self._starts.append(length)
            self._lines.append(line)
            raw.append(text)
            masked.append(mask[0] if mask else text)
            length += len(text) + 1
        self.raw, self.masked = " ".join(raw), " ".join(masked)
        self._sentences = None

    def read_markup(self):
        """Masks code spans and URLs, and leaves out the marks of links, emphasis and HTML."""
        if "`" in self.masked:
            self._mask(CODE_SPAN)
        if "://" in self.masked:
            self._mask(URL)
        cuts = []
        if "[" in self.masked:
            for match in LINK.finditer(self.masked):
                cuts += [(match.start(), match.start(1)), (match.end(1), match.end())]
        if "<" in self.masked:
            cuts += [match.span() for match in TAG.finditer(self.masked)]
        if "*" in self.masked or "_" in self.masked:
            cuts += [match.span() for match in EMPHASIS.finditer(self.masked)]
        if cuts:
            self._cut(sorted(cuts))
        return self

    def _mask(self, pattern):
        self.masked = pattern.sub(lambda match: MASK * len(match[0]), self.masked)

    def _cut(self, spans):
        kept, end = [], 0
        for start, stop in spans:
            if start >= end:
                kept.append((end, start))
                end = stop
        kept.append((end, len(self.raw)))
        starts = []
        for offset in self._starts:
            starts.append(sum(max(0, min(offset, stop) - start) for start, stop in kept))
        self._starts = starts
        self.raw = "".join(self.raw[start:stop] for start, stop in kept)
        self.masked = "".join(self.masked[start:stop] for start, stop in kept)

    def line(self, offset):
        return self._lines[bisect.bisect_right(self._starts, offset) - 1]

    @property
    def sentences(self):
        """The sentences, as pairs of offsets."""
        if self._sentences is None:
            self._sentences, start = [], 0
            for match in SENTENCE_END.finditer(self.masked):
                self._sentences.append((start, match.end()))
                start = match.end()
            self._sentences.append((start, len(self.masked)))
        return self._sentences

    def sentence(self, offset):
        return next((span for span in self.sentences if span[0] <= offset < span[1]), self.sentences[-1])
