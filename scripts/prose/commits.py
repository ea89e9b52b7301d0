"""Checks the subjects of new commits."""
import subprocess

# Commits that these have among their ancestors are not checked. To leave out more, add an id.
BASES = ("5e92e9d5704dec4b368595671f4fefd7a682143b",)
MOST_CHARACTERS = 72


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def subjects(root, bases=BASES):
    """(id, subject) of each new commit, merges included, and the bases that this clone does not have."""
    missing = [base for base in bases if git(root, "cat-file", "-e", base + "^{commit}").returncode]
    known = [base for base in bases if base not in missing]
    listed = git(root, "log", "--format=%h %s", "HEAD", *(["--not", *known] if known else []))
    return [line.split(" ", 1) for line in listed.stdout.splitlines()], missing


def errors(found):
    return [f"commit {id}: {len(subject)} characters; the limit of a subject is {MOST_CHARACTERS}: {subject}"
            for id, subject in found if len(subject) > MOST_CHARACTERS]
