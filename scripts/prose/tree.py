"""Which files the check reads, and how."""
import os, subprocess
from . import comments, markdown, swift, yaml
from .rules import COMMENTS, MARKDOWN, MESSAGES, OPENAPI

# Stored documents, inputs of parsers, and the licence are as they are.
LEFT_OUT = ("Tests/Golden/", "Fuzz/corpus/", "LICENSE", "packages.lock", "scripts/prose/counts.txt", "scripts/prose/allowed.txt")
HASHES = (".sh", ".toml", ".service", ".socket", ".conf", ".env", ".example", "Makefile", "Dockerfile", "ignore", ".ci/run",
          "lintian-overrides", "debian/rules", "debian/postinst", "debian/postrm", "debian/prerm")
C_FAMILY = (".c", ".h", ".go", ".ts", ".modulemap")


def read(path, text):
    """All texts of one file."""
    if path.endswith(".swift"):
        return swift.read(path, text)
    if path.endswith(".md"):
        return markdown.read(MARKDOWN, path, text)
    if path == "openapi.yaml":
        return yaml.read(OPENAPI, path, text) + comments.hashes(path, text)
    if path.endswith("Chart.yaml"):
        return yaml.read(MESSAGES, path, text) + comments.hashes(path, text)
    if path.endswith(".schema.json"):
        return yaml.read_json(MESSAGES, path, text)
    if path.endswith("NOTES.txt"):
        return comments.helm_notes(path, text)
    if path.endswith("debian/control"):
        return comments.debian_control(path, text)
    if path.endswith(".py"):
        return comments.python(path, text)
    if path.endswith(C_FAMILY):
        return comments.c_family(path, text)
    if path.endswith((".yaml", ".tpl")):
        return comments.template(path, text)
    if path.endswith(HASHES):
        return comments.hashes(path, text)
    return []


def texts(root):
    """The texts of all tracked files."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    found = []
    for path in filter(None, listed):
        name = os.path.join(root, path)
        if path.startswith(LEFT_OUT) or os.path.islink(name) or not os.path.isfile(name):
            continue
        try:
            with open(name, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        found += read(path, text)
    return found
