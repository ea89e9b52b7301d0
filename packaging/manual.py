#!/usr/bin/env python3
"""Writes manual pages of a program and its subcommands (mdoc, section 1) from its help texts.

usage: manual.py PROGRAM DIRECTORY

The program describes its commands as JSON (`--experimental-dump-help` of swift-argument-parser). SOURCE_DATE_EPOCH is the date.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time


def escaped(text):
    """Returns a line of text in which mdoc finds neither a macro nor an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def prose(text):
    parts = [" ".join(part.split()) for part in (text or "").split("\n\n") if part.strip()]
    # mdoc needs each sentence on a separate line.
    return "\n.Pp\n".join("\n".join(escaped(line) for line in re.split(r"(?<=[.;:]) (?=[A-Z])", part)) for part in parts)


def visible(items):
    return [item for item in items or [] if item.get("shouldDisplay", True)]


def spelled(argument):
    names = []
    for name in argument.get("names", []):
        names.append(("-" if len(name["name"]) == 1 else "--") + name["name"])
    return sorted(names, key=len)


def option(argument):
    if argument["kind"] == "positional":
        head = f".It Ar {escaped(argument['valueName'])}"
    else:
        value = f" Ar {escaped(argument['valueName'])}" if argument["kind"] == "option" else ""
        head = ".It " + " , ".join(f"Sy {escaped(name)}{value}" for name in spelled(argument))
    text = " ".join(part for part in [argument.get("abstract"), argument.get("discussion")] if part)
    return head + "\n" + prose(text)


def page(command, path, date):
    title = "-".join(path)
    children = [child for child in visible(command.get("subcommands")) if child["commandName"] != "help"]
    arguments = visible(command.get("arguments"))
    out = [f".Dd {date}", f".Dt {title.upper()} 1", ".Os Ferry", ".Sh NAME", f".Nm {title}",
           f".Nd {escaped(command.get('abstract', '').rstrip('.'))}", ".Sh SYNOPSIS", f".Nm {' '.join(path)}"]
    if children:
        out.append(".Ar subcommand")
    if arguments:
        out.append(".Op Ar options")
    if command.get("discussion"):
        out += [".Sh DESCRIPTION", prose(command["discussion"])]
    if children:
        out += [".Sh SUBCOMMANDS", ".Bl -tag -width 6n"]
        for child in children:
            out += [f".It Xr {title}-{child['commandName']} 1", prose(child.get("abstract"))]
        out.append(".El")
    if arguments:
        out += [".Sh OPTIONS", ".Bl -tag -width 6n", *(option(argument) for argument in arguments), ".El"]
    if len(path) > 1:
        out += [".Sh SEE ALSO", f".Xr {path[0]} 1"]
    yield title, "\n".join(out) + "\n"
    for child in children:
        yield from page(child, path + [child["commandName"]], date)


def main():
    program, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    day = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    date = f"{time.strftime('%B', day)} {day.tm_mday}, {day.tm_year}"
    dumped = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout
    command = json.loads(dumped)["command"]
    for title, text in page(command, [command["commandName"]], date):
        (directory / f"{title}.1").write_text(text)


main()
