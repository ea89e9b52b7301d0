#!/usr/bin/python3
"""Builds the image of the Dockerfile, and runs it in podman with the settings of deploy/compose.yaml. The service and its worker must
work, write only to their volume, and end in an orderly way. Needs root. The output is in .build/image-test, with the image's binary as
.build/image-test/ferry. The test uses no registry: the bases are made from Debian's packages and this machine's toolchain.

usage: image-test.py [--binary FILE]    with FILE: skips the build stage and uses this binary
"""
import argparse, glob, hashlib, os, re, shutil, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import debian_roots as roots, image_service  # noqa: E402
from podman import Podman, check, limits  # noqa: E402

PLACE = f"{roots.SOURCE}/.build/image-test"
# The packages of Swift's image that a build needs in addition to the toolchain.
SWIFT_PACKAGES = ("binutils ca-certificates git libc6-dev libcurl4 libedit2 libgcc-12-dev libncurses6 libpython3-dev "
                  "libsqlite3-0 libstdc++-12-dev libxml2 tzdata")
# The base always contains this package.
LIBRARY_OF_C = "libc6"


def make_base(podman, name, variables, packages=(), options=()):
    """Makes a base image for the Dockerfile."""
    tag = roots.tag(name)
    packed = roots.pack(PLACE, name, roots.codename(tag), packages, options)
    podman.load(packed, f"localhost/{name}:{tag}", {"PATH": roots.PATH, **variables})


def make_toolchain(podman):
    """Makes Swift's image. Returns the folders of this machine that it needs."""
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
    """Returns (folder, address) for each mirror in this machine's git configuration."""
    said = subprocess.run(["git", "config", "--get-regexp", r"^url\..*\.insteadof$"], stdout=subprocess.PIPE, text=True).stdout
    pairs = [line.split(" ", 1) for line in said.splitlines()]
    return [(key[len("url."):-len(".insteadof")], address) for key, address in pairs]


def commit():
    """Returns the commit in the form of make release, so that both make the same bytes."""
    words = ["git", "-C", roots.SOURCE]
    changed = subprocess.run([*words, "diff", "--quiet", "HEAD", "--"]).returncode != 0
    return roots.output(*words, "rev-parse", "--short=12", "HEAD").strip() + ("+" if changed else "")


def build(podman, binary):
    """Builds the image under the name ferry."""
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
    """Checks the contents of the image."""
    root, configuration = podman.mount("ferry"), podman.inspect("ferry")["Config"]
    binary = shutil.which("ferry", path=f"{root}/usr/local/bin")
    check(binary, "ferry is in the path")
    shutil.copy2(binary, f"{PLACE}/ferry")
    print(f"its sha256 is {hashlib.sha256(open(binary, 'rb').read()).hexdigest()}")
    inside = binary.removeprefix(root)
    loaded = roots.output("chroot", root, "ldd", inside)
    missing = [line.strip() for line in loaded.splitlines() if "not found" in line]
    check(not missing, f"all libraries are found{''.join(missing)}")
    check("/swift/" not in loaded, "the binary needs no shared library of Swift")
    needed = re.findall(r"NEEDED.*\[(.+)\]", roots.output("readelf", "-d", binary))
    wanted = {owner(root, library) for library in needed} - {LIBRARY_OF_C}
    check(set(roots.image_packages()) - {"ca-certificates"} == wanted,
          f"the Dockerfile installs the packages that the binary needs: {' '.join(sorted(wanted))}")
    for program in ("curl", "wget", "swift", "make"):
        check(not glob.glob(f"{root}/usr/*bin/{program}"), f"there is no {program}")
    check(not os.listdir(f"{root}/var/lib/apt/lists"), "no package lists remain")

    user, group = configuration["User"].split(":")
    check(all(one.isdigit() and 0 < int(one) <= 999 for one in (user, group)), f"the user has a system id: {user}:{group}")
    for volume in configuration["Volumes"]:
        status = os.stat(root + volume)
        check((status.st_uid, status.st_gid, status.st_mode & 0o777) == (int(user), int(group), 0o700), f"{volume} belongs to the user")
    told = podman.call("run", "--rm", *limits({}), "ferry", "--version")
    version, revision = (re.search(rf"^{name} (.*)", told, re.M)[1] for name in ("ferry", "commit"))
    labels = configuration["Labels"]
    check(labels["org.opencontainers.image.version"] == version, f"the label says version {version}")
    check(given or labels["org.opencontainers.image.revision"] == revision, f"the label says commit {revision}")
    environment = dict(pair.split("=", 1) for pair in configuration["Env"])
    check(list(configuration["ExposedPorts"]) == [environment["FERRY_LISTEN"].rpartition(":")[2] + "/tcp"],
          "the exposed port is the listening port")
    print(f"the base is Debian {open(f'{root}/etc/debian_version').read().strip()}, for the tag {roots.tag('debian')}")
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
    print(f"the image works, after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
