#!/usr/bin/env python3
"""Checks the English of the tracked files and the subjects of new commits.

usage: prose.py                          fails if a file has more hits than scripts/prose/counts.txt records, or fewer
       prose.py --write                  records the counts that fell
       prose.py --list [RULE [PATH ...]] prints every hit: of one rule, or of `all`, in files and folders
"""
import collections, os, sys
from prose import commits, record, rules, tree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def table(hits):
    """The number of hits by rule and kind of text."""
    counts = {}
    for hit in hits:
        counts[hit.rule, hit.kind] = counts.get((hit.rule, hit.kind), 0) + 1
    lines = [("rule", *rules.KINDS, "all")]
    for rule in rules.RULES:
        row = [counts.get((rule.name, kind), 0) if kind in rule.kinds else None for kind in rules.KINDS]
        lines.append((rule.name + (" *" if rule.strict else ""), *("" if n is None else n for n in row), sum(filter(None, row))))
    for name, *columns in lines:
        print(f"{name:22}" + "".join(f"{column:>12}" for column in columns))
    print("* none is the aim")


def show(hits, arguments):
    rule, paths = (arguments or ["all"])[0], arguments[1:]
    if rule != "all" and rule not in rules.BY_NAME:
        sys.exit(f"--list: no rule is called '{rule}'; the rules are: all, {', '.join(rules.BY_NAME)}")
    for hit in hits:
        inside = not paths or any(hit.path == path or hit.path.startswith(path.rstrip("/") + "/") for path in paths)
        if rule in ("all", hit.rule) and inside:
            print(hit)


def write(hits):
    recorded = record.read_counts()
    if recorded is None:
        record.write_counts(record.count(hits))
        return []
    counts, refused = record.written(hits, recorded, lambda path: os.path.exists(os.path.join(ROOT, path)))
    record.write_counts(counts)
    return [str(hit) for hit in refused]


def check_commits():
    found, missing = commits.subjects(ROOT)
    print(f"New commit subjects: {len(found)}")
    if missing:
        print(f"This clone lacks the base commit {', '.join(missing)}, so the check reads all of its commits.")
    return commits.errors(found)


def main():
    arguments = sys.argv[1:]
    if arguments not in ([], ["--write"]) and arguments[0] != "--list":
        sys.exit(__doc__)
    hits, errors = record.without_allowed(rules.hits(tree.texts(ROOT)), record.rows(record.ALLOWED, 4))
    if arguments and arguments[0] == "--list":
        return show(hits, arguments[1:])
    errors += write(hits) if arguments else record.compare(hits, record.read_counts() or collections.Counter())
    table(hits)
    errors += check_commits()
    if errors:
        sys.stdout.flush()
        sys.exit("\n".join(errors) + f"\nErrors: {len(errors)}. `make prose ALL=1` lists all hits; CONTRIBUTING.md explains the check.")


if __name__ == "__main__":
    main()
