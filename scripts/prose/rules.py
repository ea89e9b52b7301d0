"""The rules: a name, the patterns, and one line of advice for each pattern.

A pattern is matched against a text of one paragraph, comment, message or test name; code in it is masked. To add a rule, append it to
RULES and record its hits: delete the counts file and run `make prose WRITE=1`.
"""
import re

MARKDOWN, OPENAPI, MESSAGES, COMMENTS, TESTS = KINDS = ("markdown", "openapi", "messages", "comments", "test names")
MOST_WORDS = 30


class Rule:
    """One rule. `find` yields each hit as its offset and its advice."""

    def __init__(self, name, *patterns, exact=False, interrogative=True, kinds=KINDS, strict=False):
        """Parameters:

        - exact: the case of letters matters.
        - interrogative: a sentence that asks something is a hit, too.
        - kinds: the kinds of text that the rule reads.
        - strict: the aim is no hit except reviewed false alarms.
        """
        flags = 0 if exact else re.IGNORECASE
        self.name, self.kinds, self.interrogative, self.strict = name, kinds, interrogative, strict
        self.patterns = [(re.compile(pattern, flags), advice) for pattern, advice in patterns]

    def find(self, text):
        for pattern, advice in self.patterns:
            for match in pattern.finditer(text.masked):
                word = re.compile(r"\w").search(text.masked, match.start())
                start = word.start() if word else match.start()
                if self.interrogative or "?" not in text.masked[start:text.sentence(start)[1]]:
                    yield start, advice


class LongSentence(Rule):
    """A sentence of more than MOST_WORDS words. A code span is one word."""

    def find(self, text):
        for start, end in text.sentences:
            words = sum(1 for word in text.masked[start:end].split() if re.search(r"\w", word))
            if words > MOST_WORDS:
                yield start, f"{words} words: one thought a sentence, at most 25 words"


class Colons(Rule):
    """A sentence with more than one colon or semicolon. Those between digits and within words, as in 12:30, do not count."""

    def find(self, text):
        for start, end in text.sentences:
            if len(re.findall(r"[:;](?=\s|$)", text.masked[start:end].rstrip())) > 1:
                yield start, "one colon or semicolon a sentence: make two sentences, or a list"


RULES = [
    Rule("clause as subject",
         (r"(^|[.;:] )(What|Who(ever)?|Whatever)\b",
          "begin with a noun: 'Every task that was acknowledged with 201', not 'What got a 201'"),
         exact=True, interrogative=False, strict=True),
    Rule("be it, perhaps with",
         (r"\bbe (it|they)\b|\bperhaps (with|from|as|a)\b",
          "say 'or' or 'optionally': 'optionally preceded by a tenant'"),
         strict=True),
    Rule("take away, forget",
         (r"\bt(ake|akes|ook|aken|aking) (\w+ ){0,3}away\b|\b[Ff]org[eo]t",
          "say 'delete' by request, 'expire' by time, 'prune' for the job, 'remove' in memory"),
         exact=True, strict=True),
    Rule("nobody",
         (r"\b(nobody|somebody|anybody|whosever)\b",
          "name the actor, or say what happens: 'an unread body', not 'a body that nobody wants'"),
         strict=True),
    Rule("stand still",
         (r"\bst(and|ands|ood|anding) still\b", "say 'frozen' (stopped but alive), 'dead' or 'unresponsive'"),
         strict=True),
    Rule("what is, who has",
         (r"\b(what|who(ever)?) (is|are|was|has|comes?|wants|asks)\b",
          "put a noun in place of the clause: 'expired data', not 'what is old'")),
    Rule("where for if",
         (r"\bwhere (there|it|they|that|the|an?|one|none|no)\b",
          "'if' for a condition, 'when' for a time, 'where' for a place only")),
    Rule("go on", (r"\b(go|goes|went|gone|going) on\b", "say 'continue' or 'resume': 'running transfers continue'")),
    Rule("come to",
         (r"\bc(ome|omes|ame|oming) (to|of)\b", "say 'reach', 'result' or 'cause': 'the result', not 'what that comes to'")),
    Rule("any more",
         (r"\b(any|no) ?more\b", "say 'stop', 'no longer' or 'at most': 'stops writing', not 'writes nothing any more'")),
    Rule("tell", (r"\b(tells?|told)\b", "say 'report', 'notify', 'send', 'print' or 'receive'")),
    Rule("behind, beside", (r"\bbe(side|hind)\b", "say 'after', 'following', 'with' or 'in addition to': 'trailer fields'")),
    Rule("holds",
         (r"\b(once|until) that\b|\b(it|that|this|what|commit) holds?\b",
          "name the subject and its state: 'prints the effective settings', not 'shows what holds'")),
    # Words to avoid because another word has the meaning. These are left out, since most of their hits would be false alarms:
    # - one, other, process: of a service
    # - worker: of a transfer loop
    # - move, leave: of sessions
    # - store, disk: of the database
    # - drop: connections and privileges are dropped
    # - silent, presence, turn: "silently ignored", "in the presence of", "in turn"
    # - authority: a URL has one
    Rule("other word",
         (r"\bhand(s|ed|ing)? (it |them |that |this )?on\b(?! to )", "say 'forward' for a request, 'pass' for a value"),
         (r"\bhand(s|ed|ing)? (it |them |that |this )?on to\b", "say 'forward to' for a request, 'pass to' for a value"),
         (r"\bt(ake|akes|ook|aken|aking) (it|them|that|this|sessions?|tasks?|work) up\b|\bt(ake|akes|ook|aken|aking) up\b",
          "say 'take over' after a crash, 'hand over' in order"),
         (r"\bquestions?\b(?! (of|mark))", "say 'decision' for a question to the delegate"),
         (r"\bcalls? that waits?\b", "say 'decision'"),
         (r"\b(a|an|the|this|that|each|every|no|one|its|their|webhook) notices?\b|\bnotices of\b", "say 'message' or 'delivery'"),
         (r"\bwip(e|es|ed|ing)\b", "say 'delete', 'expire' or 'prune'"),
         (r"\bset(s|ting)? (\w+ )?aside\b", "say 'quarantine'"),
         (r"(?<!certificate )\bauthorities\b", "say 'certificate authorities'"),
         (r"\b(beats?|territor(y|ies)|whereabouts)\b", "say 'heartbeat', 'lease', 'shard' or the standard term")),
    LongSentence("long sentence", kinds=(MARKDOWN, OPENAPI, MESSAGES, COMMENTS)),
    Colons("colons", kinds=(MARKDOWN,)),
]
BY_NAME = {rule.name: rule for rule in RULES}


class Hit:
    """A place in a text that breaks a rule."""

    def __init__(self, text, rule, offset, advice):
        self.path, self.kind, self.rule, self.advice = text.path, text.kind, rule.name, advice
        start, end = text.sentence(offset)
        self.line, self.sentence = text.line(offset), text.raw[start:end].strip()

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.advice}: {self.sentence}"


def hits(texts):
    """All hits in the texts, in their order."""
    return [Hit(text, rule, offset, advice)
            for text in texts for rule in RULES if text.kind in rule.kinds for offset, advice in rule.find(text)]
