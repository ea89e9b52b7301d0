#!/usr/bin/env python3
"""Writes the files that describe a built program: its copyrights (Debian's copyright format 1.0) and its SBOM (CycloneDX 1.5).

usage: describe.py DIRECTORY VERSION EPOCH

DIRECTORY contains the program, `ferry`. Both files depend only on the program, packages.lock and the licences of the linked code,
so two builds of a commit write equal files.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import time
import uuid

TESTS_ONLY = {"yams"}
RUNTIME = "Apache-2.0 WITH Swift-exception"
# The contents of Swift's static libraries, with their licences.
TOOLCHAIN = [
    ("swift", "The Swift standard library and runtime", RUNTIME),
    ("swift-corelibs-libdispatch", "Grand Central Dispatch", RUNTIME),
    ("swift-foundation", "Foundation, with the parts of ICU that it calls", RUNTIME),
    ("icu", "International Components for Unicode, without its data", "Unicode-3.0"),
]
MIT = {"grdb.swift"}
# Files of other authors that the program serves to browsers, with their versions and licences. packaging/licenses has the texts.
ASSETS = [
    ("uplot", "1.6.31", "MIT", "https://github.com/leeoniya/uPlot"),
    ("rapidoc", "9.3.8", "MIT AND BSD-3-Clause", "https://github.com/rapi-doc/RapiDoc"),
]


def packages(root):
    for line in (root / "packages.lock").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, version, tree, url = line.split()
        if name not in TESTS_ONLY:
            yield name, version, tree, url


def licence_files(root, url):
    place = (root / ".build/release").resolve().parents[1] / "checkouts" / url.rsplit("/", 1)[1]
    names = ["LICENSE", "LICENSE.txt", "NOTICE.txt"]
    found = [place / name for name in names if (place / name).exists()]
    if not any("LICENSE" in file.name for file in found):
        sys.exit(f"{url} has no licence")
    return found


def toolchain_licence():
    swift = subprocess.run(["sh", "-c", "readlink -f $(command -v swift)"], check=True, capture_output=True, text=True)
    return pathlib.Path(swift.stdout.strip()).parents[1] / "share/swift/LICENSE.txt"


def paragraph(text):
    """Returns a text as the continuation lines of a field."""
    return "".join(f" {line.rstrip() or '.'}\n" for line in text.splitlines())


def licence(short, files):
    """Returns the text of a licence. Debian has Apache's licence in a common file, so only a package's own notices are added."""
    if short != "Apache-2.0":
        return paragraph("\n".join(file.read_text() for file in files))
    said = [file.read_text() for file in files if "NOTICE" in file.name]
    return paragraph("\n".join(["On Debian, the licence is in /usr/share/common-licenses/Apache-2.0.", *said]))


def copyright(root):
    out = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Ferry\n",
        "Files: *\nCopyright: the Ferry developers\nLicense: Apache-2.0\n" + licence("Apache-2.0", []),
    ]
    for name, number, _, url in packages(root):
        short = "MIT" if name in MIT else "Apache-2.0"
        out.append(
            f"Files: {name}\nCopyright: see the licence\nComment: {name} {number}, from {url}, is linked into the program.\n"
            f"License: {short}-{name}\n" + licence(short, licence_files(root, url))
        )
    for name, number, short, url in ASSETS:
        out.append(
            f"Files: {name}\nCopyright: see the licence\nComment: {name} {number}, from {url}, is in the program.\n"
            f"License: {name}\n" + paragraph((root / f"packaging/licenses/{name}.txt").read_text())
        )
    names = ", ".join(name for name, _, _ in TOOLCHAIN)
    out.append(
        f"Files: toolchain\nCopyright: see the licence\nComment: {names} are linked into the program.\n"
        "License: Apache-2.0-toolchain\n" + paragraph(after_apache(toolchain_licence().read_text()))
    )
    return "\n".join(out)


def after_apache(text):
    """Returns the part of Swift's licence that follows Apache's: the exception for its runtime library."""
    _, mark, rest = text.partition("## Runtime Library Exception")
    if not mark:
        sys.exit("the toolchain's licence has no exception for its runtime library")
    return "The licence is in /usr/share/common-licenses/Apache-2.0, with this exception:\n" + mark + rest


def keep_licences(root, directory):
    """Copies all licences unchanged, for systems other than Debian."""
    for name, _, _, url in packages(root):
        place = directory / name
        place.mkdir(parents=True)
        for file in licence_files(root, url):
            (place / file.name).write_text(file.read_text())
    for name, _, _, _ in ASSETS:
        (directory / name).mkdir()
        (directory / name / "LICENSE.txt").write_text((root / f"packaging/licenses/{name}.txt").read_text())
    (directory / "swift").mkdir()
    (directory / "swift/LICENSE.txt").write_text(toolchain_licence().read_text())


def needed(program):
    text = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True).stdout
    return sorted(line.split("[")[1].split("]")[0] for line in text.splitlines() if "(NEEDED)" in line)


def sbom(root, program, version, epoch, swift):
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    own = f"ferry@{version}"
    components = [
        {
            "type": "library", "bom-ref": f"{name}@{number}", "name": name, "version": number,
            "purl": f"pkg:swift/{url.removeprefix('https://')}@{number}",
            "licenses": [{"license": {"id": "MIT" if name in MIT else "Apache-2.0"}}],
            "properties": [{"name": "ferry:git-tree", "value": tree}],
            "externalReferences": [{"type": "vcs", "url": url}],
        }
        for name, number, tree, url in packages(root)
    ]
    components += [
        {
            "type": "library", "bom-ref": f"{name}@swift-{swift}", "name": name, "version": f"swift-{swift}", "description": text,
            "licenses": [{"expression": licence}],
        }
        for name, text, licence in TOOLCHAIN
    ]
    components += [
        {
            "type": "library", "bom-ref": f"{name}@{number}", "name": name, "version": number, "licenses": [{"expression": short}],
            "externalReferences": [{"type": "vcs", "url": url}],
        }
        for name, number, short, url in ASSETS
    ]
    # These shared libraries come from the system.
    shared = [
        {"type": "library", "bom-ref": name, "name": name, "scope": "required", "description": "shared library of the system"}
        for name in needed(program)
    ]
    components += shared
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, own + digest)),
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": {
                "type": "application", "bom-ref": own, "name": "ferry", "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": sorted(component["bom-ref"] for component in components)}],
    }


def main():
    directory, version, epoch = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    root = pathlib.Path(__file__).resolve().parents[1]
    program = directory / "ferry"
    lines = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split("\n")
    swift = next(line.split()[1] for line in lines if line.startswith("Swift "))
    (directory / "copyright").write_text(copyright(root))
    keep_licences(root, directory / "licenses")
    (directory / "sbom.cdx.json").write_text(json.dumps(sbom(root, program, version, epoch, swift), indent=2) + "\n")


main()
