"""Reads the comments of everything but Swift."""
import ast, io, re, tokenize
from . import markdown
from .rules import COMMENTS, MESSAGES
from .texts import MASK, Text

HASH_LINE = re.compile(r"\s*#+ (.*)$")
EMPTY_HASH_LINE = re.compile(r"\s*#+\s*$")
HASH_AFTER_CODE = re.compile(r"(.*?\S)\s+# (\S.*)$")
DIRECTIVE = re.compile(r"(shellcheck|hadolint|syntax=|yamllint|noqa|type:|pylint|checkov|trivy|kics)")
C_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|`[^`]*`", re.DOTALL)
TEMPLATE_COMMENT = re.compile(r"\{\{-?/\*(.*?)\*/-?\}\}", re.DOTALL)
TEMPLATE_ACTION = re.compile(r"\{\{.*?\}\}")


def grouped(path, comments):
    """Joins comments of consecutive lines. Each comment is (line, text, whether code stands before it)."""
    found, group, last = [], [], None
    for line, text, after_code in comments:
        if group and (after_code or last is None or line != last + 1):
            found += markdown.texts(COMMENTS, path, group, comment=True)
            group = []
        if not DIRECTIVE.match(text):
            group.append((line, text))
        last = None if after_code else line
    return found + markdown.texts(COMMENTS, path, group, comment=True)


def hashes(path, text):
    """Comments that begin with `# `: of shell, Makefile, Dockerfile, YAML and systemd units."""
    comments = []
    for number, line in enumerate(text.split("\n"), 1):
        whole = HASH_LINE.match(line)
        if whole:
            comments.append((number, whole[1], False))
        elif EMPTY_HASH_LINE.match(line):
            comments.append((number, "", False))
        else:
            trailing = HASH_AFTER_CODE.match(line)
            if trailing and all(trailing[1].count(quote) % 2 == 0 for quote in "'\""):
                comments.append((number, trailing[2], True))
    return grouped(path, comments)


def python(path, text):
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            comments.append((token.start[0], token.string.lstrip("#").removeprefix(" "), bool(token.line[:token.start[1]].strip())))
    found = grouped(path, comments)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node, clean=False):
            lines = ast.get_docstring(node).split("\n")
            found += markdown.texts(COMMENTS, path, enumerate(lines, node.body[0].lineno), comment=True)
    return found


def c_family(path, text):
    """C, Go, TypeScript and module maps."""
    comments, line, last = [], 1, 0
    for match in C_TOKEN.finditer(text):
        token = match[0]
        if not token.startswith(("//", "/*")):
            continue
        line, last = line + text.count("\n", last, match.start()), match.start()
        after_code = bool(text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip())
        if token.startswith("//"):
            comments.append((line, token.lstrip("/").removeprefix(" "), after_code))
        else:
            for number, part in enumerate(token[2:-2].split("\n"), line):
                comments.append((number, re.sub(r"^\s*\**\s?", "", part), after_code and number == line))
    return grouped(path, comments)


def template(path, text):
    """Comments of a Helm template, of both kinds."""
    found = hashes(path, text)
    for match in TEMPLATE_COMMENT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        found += markdown.texts(COMMENTS, path, [(first + n, part.strip()) for n, part in enumerate(match[1].split("\n"))], comment=True)
    return found


def helm_notes(path, text):
    """The text that Helm prints after an installation; commands are indented."""
    found, pieces = [], []
    for number, line in enumerate(text.split("\n") + [""], 1):
        masked = TEMPLATE_ACTION.sub(lambda match: MASK * len(match[0]), line)
        if line.startswith(("{{-", " ")) or not line:
            if pieces:
                found.append(Text(MESSAGES, path, pieces).read_markup())
            pieces = []
        else:
            pieces.append((number, line, masked))
    return found


def debian_control(path, text):
    """The description of a package: a summary, then paragraphs with a line of one full stop between them."""
    lines, inside = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("Description:"):
            inside = True
            lines += [(number, line.removeprefix("Description:").strip()), (number, "")]
        elif inside and line.startswith(" "):
            lines.append((number, "" if line.strip() == "." else line.strip()))
        else:
            inside = False
    return markdown.texts(MESSAGES, path, lines)
