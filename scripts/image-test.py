#!/usr/bin/python3
"""Builds the image that the Dockerfile describes, and runs it with the settings of deploy/compose.yaml, in podman: the service and its
worker work, write nothing but their volume, and end as they should. As root; what it makes is in .build/image-test, the image's binary
as .build/image-test/ferry. No registry is asked: the bases are made of Debian's packages and this machine's toolchain.

usage: image-test.py [--binary FILE]    with a binary, that one is put in place of what the build stage makes
"""
import argparse, glob, hashlib, os, re, shutil, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_roots as roots, image_service  # noqa: E402
from podman import Podman, check, limits  # noqa: E402

PLACE = f"{roots.SOURCE}/.build/image-test"
# What Swift's image has beside the toolchain, as far as a build needs it.
SWIFT_PACKAGES = ("binutils ca-certificates git libc6-dev libcurl4 libedit2 libgcc-12-dev libncurses6 libpython3-dev "
                  "libsqlite3-0 libstdc++-12-dev libxml2 tzdata")
# The base's own: nothing has to name it.
LIBRARY_OF_C = "libc6"


def make_base(podman, name, variables, packages=(), options=()):
    """An image that the Dockerfile builds on."""
    tag = roots.tag(name)
    packed = roots.pack(PLACE, name, roots.codename(tag), packages, options)
    podman.load(packed, f"localhost/{name}:{tag}", {"PATH": roots.PATH, **variables})


def make_toolchain(podman):
    """Swift's image; returns the folders of this machine that it needs."""
    wanted = roots.tag("swift").split("-")[0]
    if f"Swift version {wanted} " not in roots.output("swift", "--version", stderr=subprocess.DEVNULL):
        raise SystemExit(f"the Dockerfile builds with Swift {wanted}, this machine has another")
    mirrors = git_mirrors()
    variables = {"PATH": f"{roots.PATH}:{roots.toolchain()}/bin", "GIT_CONFIG_COUNT": len(mirrors)}
    for number, (folder, address) in enumerate(mirrors):
        variables |= {f"GIT_CONFIG_KEY_{number}": f"url.{folder}.insteadOf", f"GIT_CONFIG_VALUE_{number}": address}
    make_base(podman, "swift", variables, SWIFT_PACKAGES.split())
    return {roots.toolchain(), *(folder for folder, _ in mirrors if os.path.isdir(folder))}


def git_mirrors():
    """(folder, address) of what this machine's git has repositories from."""
    said = subprocess.run(["git", "config", "--get-regexp", r"^url\..*\.insteadof$"], stdout=subprocess.PIPE, text=True).stdout
    pairs = [line.split(" ", 1) for line in said.splitlines()]
    return [(key[len("url."):-len(".insteadof")], address) for key, address in pairs]


def commit():
    """As make release has it, so that both make the same bytes."""
    words = ["git", "-C", roots.SOURCE]
    changed = subprocess.run([*words, "diff", "--quiet", "HEAD", "--"]).returncode != 0
    return roots.output(*words, "rev-parse", "--short=12", "HEAD").strip() + ("+" if changed else "")


def build(podman, binary):
    """The image, by the name of ferry."""
    make_base(podman, "debian", {}, options=roots.SLIM)
    context, file = roots.SOURCE, f"{roots.SOURCE}/Dockerfile"
    if binary:
        context = f"{PLACE}/context"
        shutil.rmtree(context, ignore_errors=True)
        os.makedirs(context)
        shutil.copy2(binary, f"{context}/ferry")
        file = f"{context}/Dockerfile"
        head, _, last = roots.dockerfile().partition("\nFROM ")
        last = last.partition("\nFROM ")[2]
        with open(file, "w") as made:
            made.write(f"{head}\nFROM scratch AS build\nCOPY ferry /out/ferry\n\nFROM {last}")
    podman.build("ferry", context, file, {"REVISION": commit()}, set() if binary else make_toolchain(podman))


def check_contents(podman, given):
    """What is in the image, and what is not."""
    root, configuration = podman.mount("ferry"), podman.inspect("ferry")["Config"]
    binary = shutil.which("ferry", path=f"{root}/usr/local/bin")
    check(binary, "ferry is in the path")
    shutil.copy2(binary, f"{PLACE}/ferry")
    print(f"its sha256 is {hashlib.sha256(open(binary, 'rb').read()).hexdigest()}")
    inside = binary.removeprefix(root)
    loaded = roots.output("chroot", root, "ldd", inside)
    missing = [line.strip() for line in loaded.splitlines() if "not found" in line]
    check(not missing, f"all libraries are there{''.join(missing)}")
    check("/swift/" not in loaded, "no library is Swift's: they are in the binary")
    needed = re.findall(r"NEEDED.*\[(.+)\]", roots.output("readelf", "-d", binary))
    wanted = {owner(root, library) for library in needed} - {LIBRARY_OF_C}
    check(set(roots.image_packages()) - {"ca-certificates"} == wanted,
          f"the packages named are those that the binary needs: {' '.join(sorted(wanted))}")
    for program in ("curl", "wget", "swift", "make"):
        check(not glob.glob(f"{root}/usr/*bin/{program}"), f"there is no {program}")
    check(not os.listdir(f"{root}/var/lib/apt/lists"), "no lists of packages are left")

    user, group = configuration["User"].split(":")
    check(all(one.isdigit() and 0 < int(one) <= 999 for one in (user, group)), f"the user is a number of a system's: {user}:{group}")
    for volume in configuration["Volumes"]:
        status = os.stat(root + volume)
        check((status.st_uid, status.st_gid, status.st_mode & 0o777) == (int(user), int(group), 0o700), f"{volume} is the user's own")
    told = podman.call("run", "--rm", *limits({}), "ferry", "--version")
    version, revision = (re.search(rf"^{name} (.*)", told, re.M)[1] for name in ("ferry", "commit"))
    labels = configuration["Labels"]
    check(labels["org.opencontainers.image.version"] == version, f"the label says version {version}")
    check(given or labels["org.opencontainers.image.revision"] == revision, f"the label says commit {revision}")
    environment = dict(pair.split("=", 1) for pair in configuration["Env"])
    check(list(configuration["ExposedPorts"]) == [environment["FERRY_LISTEN"].rpartition(":")[2] + "/tcp"],
          "the port exposed is the one listened on")
    print(f"it is made from Debian {open(f'{root}/etc/debian_version').read().strip()}, for the tag {roots.tag('debian')}")
    print(f"the image is {podman.inspect('ferry')['Size'] >> 20} MiB, its binary {os.path.getsize(binary) >> 20} MiB")


def owner(root, library):
    return roots.output("chroot", root, "dpkg-query", "-S", f"*/{library}").splitlines()[0].split(":")[0]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--binary")
    given = arguments.parse_args()
    began = time.monotonic()
    subprocess.run([f"{roots.SOURCE}/scripts/install-packages.sh", "deploy"], check=True)
    os.makedirs(PLACE, exist_ok=True)
    podman = Podman(PLACE)
    try:
        build(podman, given.binary)
        print(f"the image is built, after {time.monotonic() - began:.0f} s", flush=True)
        check_contents(podman, given.binary)
        image_service.try_out(podman, f"{roots.SOURCE}/deploy/compose.yaml", "ferry")
    finally:
        podman.close()
    print(f"the image is made and works, after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
