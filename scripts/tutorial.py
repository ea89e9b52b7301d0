#!/usr/bin/env python3
"""Runs README.md and docs/tutorial.md: all `sh` blocks of a page in one bash, in a temporary directory, on free ports. Fails if a command
fails or if the output lacks a line of the block that follows. `…` in an expected line stands for any text.
usage: tutorial.py [PAGE ...]    BINARY names the ferry to use; by default it is the release build."""
import contextlib, os, re, signal, subprocess, sys, tempfile

from page_blocks import fenced, with_ports
from ports import free_ports

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FERRY = os.path.abspath(os.environ.get("BINARY", os.path.join(ROOT, ".build/release/ferry")))
PORTS = ("7070", "9000", "9001", "9002")
SECONDS = 120


def blocks(page):
    """Each `sh` block with the lines that its output must have, in their order."""
    found = []
    for language, text in fenced(page):
        if language == "sh":
            found.append((text, []))
        elif not language and found:
            found[-1][1].extend(text.splitlines())
    return found


def missing(expected, output):
    """The first expected line that does not follow the lines before it; None if all are there."""
    lines = iter(output)
    for line in expected:
        pattern = re.compile(".*".join(re.escape(part) for part in line.split("…")))
        if not any(pattern.fullmatch(actual.rstrip()) for actual in lines):
            return line
    return None


def run(found, directory):
    os.mkdir(f"{directory}/bin")
    os.symlink(FERRY, f"{directory}/bin/ferry")
    os.mkdir(f"{directory}/tmp")
    script = "set -eo pipefail\n" + "".join(f"{text}echo 'block {number} ended'\n" for number, (text, _) in enumerate(found))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FERRY_")}
    environment.update(PATH=f"{directory}/bin:{os.environ['PATH']}", TMPDIR=f"{directory}/tmp")
    process = subprocess.Popen(["bash", "-c", script], cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        return process.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        sys.exit(f"tutorial: not finished after {SECONDS} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def check(path):
    with open(path) as file:
        found = blocks(with_ports(file.read(), dict(zip(PORTS, free_ports(len(PORTS))))))
    with tempfile.TemporaryDirectory(prefix="ferry-tutorial-") as directory:
        rest = run(found, directory)
    name = os.path.basename(path)
    for number, (text, expected) in enumerate(found):
        output, mark, rest = rest.partition(f"block {number} ended\n")
        if not mark:
            sys.exit(f"{name}: this block failed:\n{text}\nIts output:\n{output}")
        if (line := missing(expected, output.splitlines())) is not None:
            sys.exit(f"{name}: this block printed no line '{line}':\n{text}\nIts output:\n{output}")
    print(f"{name}: {len(found)} blocks ran with the expected output")


for page in sys.argv[1:] or [f"{ROOT}/README.md", f"{ROOT}/docs/tutorial.md"]:
    check(page)
