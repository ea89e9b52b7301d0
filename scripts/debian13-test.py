#!/usr/bin/python3
"""Runs a build for Debian 12 on Debian 13, whose libcurl, libmicrohttpd, OpenSSL and SQLite are newer: the tarball's program, and the
tests of every wrapper. `make dist` and `swift build --build-tests` have made both. Needs root.

usage: debian13-test.py
"""
import os, re, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_roots as roots  # noqa: E402

SOURCE = roots.SOURCE
# The image test has packed the image's base here.
PLACE = f"{SOURCE}/.build/image-test"
# Programs that the tests start.
TOOLS = "iproute2 nginx-light openssl procps python3 sqlite3 strace tzdata"
WRAPPERS = ["ContentCodingTests", "CurlTests", "EventLoopTests", "HTTPCacheTests", "HTTPCookiesTests", "HTTPServerTests", "NetlinkTests",
            "ProcessesTests", "TransferEngineTests", "LedgerTests", "SQLiteLedgerTests", "MemoryLedgerTests", "WebhooksTests"]


def main():
    os.chdir(SOURCE)
    subprocess.run(["scripts/install-packages.sh", "deploy"], check=True)
    roots.leave_mounts()
    os.makedirs(PLACE, exist_ok=True)
    root = roots.make_root(PLACE, "debian", roots.codename(roots.tag("debian")), options=roots.SLIM)
    roots.install(root, *roots.image_packages(), *TOOLS.split())
    roots.try_tarball(root)

    roots.lend(root, roots.toolchain())
    os.makedirs(root + SOURCE, exist_ok=True)
    roots.mount(SOURCE, root + SOURCE, "--bind")
    roots.mount("tmpfs", f"{root}/tmp", "-t", "tmpfs", "-o", "mode=1777")
    filters = [word for wrapper in WRAPPERS for word in ("--filter", wrapper)]
    bundle = f"{SOURCE}/.build/debug/ferryPackageTests.xctest"
    log = f"{PLACE}/debian13.log"
    with open(log, "w") as file:
        made = subprocess.run(["chroot", root, "sh", "-c", f'cd "{SOURCE}" && exec "$0" "$@"', bundle,
                               "--testing-library", "swift-testing", *filters],
                              env={"PATH": roots.PATH, "HOME": "/root"}, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    lines = open(log, errors="replace").read().splitlines()
    failed = [line for line in lines if line.startswith("✘") or "Fatal" in line]
    run = [line for line in lines if re.match(r"✔ Test run with \d+ tests", line)]
    if made.returncode != 0 or failed or not run:
        raise SystemExit("\n".join(failed[-40:] or lines[-40:]) + f"\nthe tests' exit code on Debian 13: {made.returncode}")
    print(f"on Debian 13: {run[0]}")


if __name__ == "__main__":
    main()
