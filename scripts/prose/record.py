"""The recorded counts, which may only fall, and the reviewed false alarms.

counts.txt has a line for each file, kind of text and rule with hits: `path | kind | rule | count`. A hit without
such a line is an error. allowed.txt has a line for each false alarm: `path | rule | a part of the sentence | reason`.
"""
import collections, os

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTS, ALLOWED = os.path.join(HERE, "counts.txt"), os.path.join(HERE, "allowed.txt")
MOST_ALLOWED = 30
RECORD = "run `make prose WRITE=1`"


def rows(name, width):
    if not os.path.exists(name):
        return []
    with open(name, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line.strip() and not line.startswith("#")]
    found = [[part.strip() for part in line.split(" | ")] for line in lines]
    for row in found:
        if len(row) != width:
            raise SystemExit(f"{os.path.relpath(name)}: a line has {len(row)} parts instead of {width}: {' | '.join(row)}")
    return found


def read_counts(name=COUNTS):
    """Recorded hits by (path, kind, rule); None if there is no file."""
    if not os.path.exists(name):
        return None
    return collections.Counter({(path, kind, rule): int(count) for path, kind, rule, count in rows(name, 4)})


def write_counts(counts, name=COUNTS):
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(f"{path} | {kind} | {rule} | {count}\n" for (path, kind, rule), count in sorted(counts.items()) if count)


def count(hits):
    return collections.Counter((hit.path, hit.kind, hit.rule) for hit in hits)


def without_allowed(hits, allowed):
    """The hits that no line allows, and errors of the list itself."""
    used = set()

    def is_allowed(hit):
        lines = [n for n, (path, rule, part, _) in enumerate(allowed) if path == hit.path and rule == hit.rule and part in hit.sentence]
        used.update(lines)
        return bool(lines)

    left = [hit for hit in hits if not is_allowed(hit)]
    errors = [f"allowed.txt: delete this line, which has no hit: {' | '.join(row)}" for n, row in enumerate(allowed) if n not in used]
    if len(allowed) > MOST_ALLOWED:
        errors.append(f"allowed.txt: {len(allowed)} lines; the limit is {MOST_ALLOWED}")
    return left, errors


def compare(hits, recorded):
    """Errors: every hit of a file that has more than recorded, and every count that fell."""
    now, errors = count(hits), []
    for key in sorted(now.keys() | recorded.keys()):
        path, kind, rule = key
        if now[key] > recorded[key]:
            if recorded[key]:
                errors.append(f"{path}: {kind}: {rule}: {now[key]} hits, {recorded[key]} recorded; these are all of them:")
            errors += [str(hit) for hit in hits if (hit.path, hit.kind, hit.rule) == key]
        elif now[key] < recorded[key]:
            errors.append(f"{path}: {kind}: {rule}: counts fell from {recorded[key]} to {now[key]}; {RECORD}")
    return errors


def written(hits, recorded, exists):
    """The counts to record, and the hits that may not be recorded.

    A file without counts, such as a renamed one, may have as many hits as the same kind and rule lost in other files. All other counts
    only fall. `exists` returns whether a path is still in the tree."""
    now = count(hits)
    counts = collections.Counter({key: min(now[key], recorded[key]) for key in recorded})
    fallen = collections.Counter()
    for key in recorded:
        fallen[key[1:]] += recorded[key] - counts[key]
    known, refused = {path for path, _, _ in recorded if exists(path)}, []
    for key in sorted(now):
        more = now[key] - counts[key]
        if more and key[0] not in known and more <= fallen[key[1:]]:
            counts[key] += more
            fallen[key[1:]] -= more
        elif more:
            refused.append(key)
    return counts, [hit for hit in hits if (hit.path, hit.kind, hit.rule) in set(refused)]
