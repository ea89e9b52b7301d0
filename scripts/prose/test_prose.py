#!/usr/bin/env python3
"""Tests of the prose check: each rule, the reading of each kind of file, the counts."""
import collections, os, sys, tempfile, unittest
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from prose import commits, record, rules, tree

# A rule, a text that breaks it, and one that does not.
EXAMPLES = [
    ("clause as subject", "What got a 201 is on the disk.", "Every acknowledged task is on disk. What now?"),
    ("clause as subject", "Ferry waits. Who waits is told.", "The client knows what it sent."),
    ("be it, perhaps with", "A token, perhaps with a tenant.", "A token, optionally preceded by a tenant."),
    ("take away, forget", "Ferry takes all of them away.", "Ferry deletes expired data."),
    ("nobody", "a body that nobody wants", "an unread body"),
    ("stand still", "a service that stands still", "a frozen service"),
    ("what is, who has", "Ferry deletes what is old.", "Ferry deletes expired data."),
    ("where for if", "409 where the tenant has one", "409 if the tenant already has one"),
    ("go on", "Running transfers go on.", "Running transfers continue."),
    ("come to", "The step that it came to.", "The resulting step."),
    ("any more", "It writes nothing any more.", "It stops writing."),
    ("tell", "The log tells the path.", "The log names the path."),
    ("behind, beside", "The fields behind the body.", "The trailer fields."),
    ("holds", "Prints each setting once that holds.", "Prints the effective settings."),
    ("other word", "Ferry hands it on.", "Ferry forwards it."),
    ("other word", "The system's authorities.", "The system's certificate authorities."),
    ("long sentence", "word " * 31 + ".", "word " * 30 + ". " + "Word " * 30 + "."),
    ("colons", "One: two; three.", "One: two. Three: four at 12:30."),
]


def found(path, text):
    """(line, rule, kind) of each hit in a file."""
    return [(hit.line, hit.rule, hit.kind) for hit in rules.hits(tree.read(path, text))]


def texts(path, text):
    return [(one.kind, one.raw) for one in tree.read(path, text)]


class RuleTests(unittest.TestCase):
    def test_each_rule_has_examples(self):
        self.assertEqual({rule.name for rule in rules.RULES}, {name for name, _, _ in EXAMPLES})

    def test_examples(self):
        for name, wrong, right in EXAMPLES:
            self.assertIn(name, [rule for _, rule, _ in found("a.md", wrong)], wrong)
            self.assertNotIn(name, [rule for _, rule, _ in found("a.md", right)], right)

    def test_the_first_five_are_strict(self):
        self.assertEqual([rule.strict for rule in rules.RULES], [True] * 5 + [False] * (len(rules.RULES) - 5))

    def test_a_hit_prints_its_place_rule_advice_and_sentence(self):
        hit = rules.hits(tree.read("a.md", "It is fine.\nThe client\ngoes on. It is fine."))[0]
        self.assertEqual(str(hit), f"a.md:3: go on: {hit.advice}: The client goes on.")


class MarkdownTests(unittest.TestCase):
    def test_code_is_skipped(self):
        self.assertEqual(found("a.md", "Run `go on` here.\n\n```\nnobody\n```\n\n    nobody\n\n~~~sh\nnobody\n~~~\n"), [])

    def test_code_over_two_lines_is_skipped(self):
        self.assertEqual(found("a.md", "Run `go\non` here."), [])

    def test_text_after_code_is_read(self):
        self.assertEqual(found("a.md", "```\ncode\n```\nnobody"), [(4, "nobody", "markdown")])

    def test_cells_headings_and_items_are_texts_of_their_own(self):
        self.assertEqual([raw for _, raw in texts("a.md", "# Head\n| a `x|y` | b |\n|---|---|\n- one\n  two\n- **three** [four](x.md)\n")],
                         ["Head", "a `x|y`", "b", "one two", "three four"])

    def test_a_hit_after_a_link_has_its_line(self):
        self.assertEqual(found("a.md", "See [the page](https://a.example/b)\nand *go on* now,\nnobody."),
                         [(3, "nobody", "markdown"), (2, "go on", "markdown")])


class YAMLTests(unittest.TestCase):
    def test_descriptions(self):
        text = ("info:\n  summary: One\n    more\n  description: |\n    Two\n    go on.\n\n    `nobody`\n"
                "  a: {description: 'It''s, three', title: Four, x: nobody}\n  description: {type: nobody}\n  # Five\n")
        self.assertEqual(texts("openapi.yaml", text), [
            ("openapi", "Two go on."), ("openapi", "`nobody`"), ("openapi", "One more"), ("openapi", "It's, three"), ("openapi", "Four"),
            ("comments", "Five")])
        self.assertEqual(found("openapi.yaml", text), [(6, "go on", "openapi")])


class SwiftTests(unittest.TestCase):
    def test_comment_lines_are_joined(self):
        self.assertEqual(found("Sources/A/a.swift", "let a = 1\n/// Ends.\n/// What it\n/// goes\n/// on with.\nlet b = 2\n"),
                         [(3, "clause as subject", "comments"), (4, "go on", "comments")])

    def test_comments_of_other_kinds_are_not_joined(self):
        self.assertEqual([raw for _, raw in texts("a.swift", "/// One\n// Two\nlet a = 1  // Three\n// Four\n///\n/// - Returns: Five\n")],
                         ["One", "Two", "Three", "Four", "Five"])

    def test_messages_are_english(self):
        text = ('f("the body is gone")\nf("SELECT id FROM task")\nf("two words")\nf("{\\"a\\":\\"one two three\\"}")\n'
                'f("no \\(f("x")) has " + "this id")\nf("https://a.example is one of them")\n')
        self.assertEqual(texts("Sources/A/a.swift", text),
                         [("messages", "the body is gone"), ("messages", 'no \\(f("x")) has this id')])
        self.assertEqual(texts("Tests/A/a.swift", text), [])

    def test_a_message_of_several_lines_has_its_lines(self):
        text = 'let a = """\n  One line that is \\\n  joined: nobody.\n\n  Another of them.\n  """\n'
        self.assertEqual([raw for _, raw in texts("Sources/A/a.swift", text)], ["One line that is joined: nobody.", "Another of them."])
        self.assertEqual(found("Sources/A/a.swift", text), [(3, "nobody", "messages")])

    def test_names_of_tests_are_split(self):
        text = ('@Suite("A display") struct URLTests {\n  @Test(arguments: ["who has"])\n  func whoReadsTheURLTwice() {}\n'
                '  @Test func `nobody waits`() {}\n  func whoHelps() {}\n  // @Test func nobody()\n}\n')
        self.assertEqual([raw for kind, raw in texts("Tests/A/a.swift", text) if kind == "test names"],
                         ["URL tests", "A display", "Who reads the URL twice", "nobody waits"])
        self.assertEqual(found("Tests/A/a.swift", text)[1:],
                         [(3, "clause as subject", "test names"), (4, "nobody", "test names")])

    def test_quotes_in_regular_expressions_begin_no_literal(self):
        self.assertEqual(texts("Sources/A/a.swift", 'let a = /"[^"]/\n// One\n'), [("comments", "One")])


class CommentTests(unittest.TestCase):
    def test_each_language(self):
        for path, text in [("a.sh", "#!/bin/sh\n# nobody\n"), ("Makefile", "a:\n\tb # nobody\n"), ("Dockerfile", "FROM a\n# nobody\n"),
                           ("a.py", 'def f():\n    """nobody"""\n    return "go on"\n'),
                           ("Sources/CA/a.h", "int a;\n/* who\n * nobody */\n"),
                           ("deploy/a.service", "[Unit]\n# nobody\n"), ("a.yaml", "a: '# go on'\n# nobody\n"),
                           ("b.go", 's := "// go on"\n// nobody\n'), ("a.tpl", "a\n{{/* nobody */}}\n"),
                           ("packaging/debian/control", "Source: a\nDescription: nobody\n")]:
            self.assertEqual([rule for _, rule, _ in found(path, text)], ["nobody"], path)

    def test_settings_and_commands_are_no_comments(self):
        self.assertEqual(found("a.env", "#FERRY_LISTEN=nobody\n# Run:\n#   nobody go on\n"), [])


class CountTests(unittest.TestCase):
    def setUp(self):
        self.hits = rules.hits(tree.read("a.md", "nobody and nobody"))
        self.key = ("a.md", "markdown", "nobody")

    def recorded(self, count, key=None):
        return collections.Counter({key or self.key: count})

    def test_counts_may_only_fall(self):
        self.assertEqual(record.compare(self.hits, self.recorded(2)), [])
        self.assertEqual(len(record.compare(self.hits, self.recorded(1))), 3)
        self.assertEqual(record.compare(self.hits, self.recorded(0)), [str(hit) for hit in self.hits])
        self.assertIn("counts fell from 3 to 2", record.compare(self.hits, self.recorded(3))[0])

    def test_writing_records_falls_and_refuses_rises(self):
        self.assertEqual(record.written(self.hits, self.recorded(3), lambda path: True), (self.recorded(2), []))
        counts, refused = record.written(self.hits, self.recorded(1), lambda path: True)
        self.assertEqual((counts, len(refused)), (self.recorded(1), 2))

    def test_counts_follow_a_renamed_file(self):
        counts, refused = record.written(self.hits, self.recorded(2, ("b.md", "markdown", "nobody")), lambda path: path == "a.md")
        self.assertEqual((+counts, refused), (self.recorded(2), []))

    def test_counts_do_not_rise_by_a_rename(self):
        _, refused = record.written(self.hits, self.recorded(1, ("b.md", "markdown", "nobody")), lambda path: path == "a.md")
        self.assertEqual(len(refused), 2)

    def test_counts_are_read_as_they_were_written(self):
        with tempfile.TemporaryDirectory() as directory:
            name = os.path.join(directory, "counts.txt")
            self.assertIsNone(record.read_counts(name))
            record.write_counts(self.recorded(2), name)
            self.assertEqual(record.read_counts(name), self.recorded(2))

    def test_allowed_hits_do_not_count(self):
        self.assertEqual(record.without_allowed(self.hits, [("a.md", "nobody", "and nobody", "a quotation")]), ([], []))

    def test_unused_and_too_many_allowances_are_errors(self):
        _, errors = record.without_allowed(self.hits, [("a.md", "nobody", "something else", "gone")] * 31)
        self.assertEqual(len(errors), 32)


class CommitTests(unittest.TestCase):
    def test_long_subjects_are_errors(self):
        self.assertEqual(commits.errors([("1", "a" * 72)]), [])
        self.assertEqual(len(commits.errors([("1", "é" * 73)])), 1)


if __name__ == "__main__":
    unittest.main(verbosity=0)
