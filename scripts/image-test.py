#!/usr/bin/python3
"""Makes the image that the Dockerfile describes, without a container engine, and tries it: every step of the file is carried out
in a root of its own, and the outcome runs as an engine would run it. As root; what it makes is in .build/image-test, the binary
of the build stage as .build/image-test/ferry.

usage: image-test.py [--binary FILE]    with a binary, that one is put in place of what the build stage makes
"""
import argparse, glob, hashlib, os, re, shutil, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dockerfile, image_container, image_roots  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLACE = f"{SOURCE}/.build/image-test"
# The base's own: nothing has to name it.
LIBRARY_OF_C = "libc6"


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


def check_contents(image, root, build_root, given):
    """What is in the image, and what is not."""
    binary = shutil.which("ferry", path=f"{root}/usr/local/bin")
    check(binary, "ferry is in the path")
    inside = binary.removeprefix(root)
    loaded = image_roots.output("chroot", root, "ldd", inside)
    missing = [line.strip() for line in loaded.splitlines() if "not found" in line]
    check(not missing, f"all libraries are there{''.join(missing)}")
    check("/swift/" not in loaded, "no library is Swift's: they are in the binary")

    needed = re.findall(r"NEEDED.*\[(.+)\]", image_roots.output("chroot", build_root, "readelf", "-d", "/out/ferry"))
    wanted = {owner(root, library) for library in needed} - {LIBRARY_OF_C}
    check(set(image.packages) - {"ca-certificates"} == wanted, f"the packages named are those that the binary needs: {' '.join(sorted(wanted))}")

    for program in ("curl", "wget", "swift", "make"):
        check(not glob.glob(f"{root}/usr/*bin/{program}"), f"there is no {program}")
    check(not os.listdir(f"{root}/var/lib/apt/lists"), "no lists of packages are left")
    user, group = image.user.split(":")
    check(all(one.isdigit() and 0 < int(one) <= 999 for one in (user, group)), f"the user is a number of a system's: {image.user}")
    for volume in image.volumes:
        status = os.stat(root + volume)
        check((status.st_uid, status.st_gid, status.st_mode & 0o777) == (int(user), int(group), 0o700), f"{volume} is the user's own")
    told = image_roots.output("chroot", root, inside, "--version")
    version, commit = (re.search(rf"^{name} (.*)", told, re.M)[1] for name in ("ferry", "commit"))
    check(image.labels["org.opencontainers.image.version"] == version, f"the label says version {version}")
    check(given or image.labels["org.opencontainers.image.revision"] == commit, f"the label says commit {commit}")
    print(", ".join(told.splitlines()))
    check(image.ports == [image.environment["FERRY_LISTEN"].rpartition(":")[2]], "the port exposed is the one listened on")
    size = sum(int(line.split()[0]) for line in image_roots.output("du", "-sxk", root).splitlines())
    print(f"the image is {size // 1024} MiB, its binary {os.path.getsize(binary) >> 20} MiB")


def owner(root, library):
    found = image_roots.output("chroot", root, "dpkg-query", "-S", f"*/{library}")
    return found.splitlines()[0].split(":")[0]


def commit():
    """As make release has it, so that both make the same bytes."""
    words = ["git", "-C", SOURCE]
    changed = subprocess.run([*words, "diff", "--quiet", "HEAD", "--"]).returncode != 0
    return image_roots.output(*words, "rev-parse", "--short=12", "HEAD").strip() + ("+" if changed else "")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--binary")
    given = arguments.parse_args()
    began = time.monotonic()
    subprocess.run([f"{SOURCE}/scripts/install-packages.sh", "deploy"], check=True)
    image_roots.leave_mounts()
    os.makedirs(PLACE, exist_ok=True)
    log = f"{PLACE}/log"
    open(log, "w").close()

    build, image = dockerfile.stages(open(f"{SOURCE}/Dockerfile").read(), {"REVISION": commit()})
    build_root = image_roots.make_base(PLACE, build.image)
    if given.binary:
        os.makedirs(f"{build_root}/out")
        shutil.copy2(given.binary, f"{build_root}/out/ferry")
    else:
        image_roots.carry_out(build, build_root, SOURCE, {}, log)
        shutil.copy2(f"{build_root}/out/ferry", f"{PLACE}/ferry")
    digest = hashlib.sha256(open(f"{build_root}/out/ferry", "rb").read()).hexdigest()
    print(f"the binary of the build stage, after {time.monotonic() - began:.0f} s: sha256 {digest}")

    root = image_roots.make_base(PLACE, image.image)
    image_roots.carry_out(image, root, SOURCE, {build.name: build_root}, log)
    check_contents(image, root, build_root, given.binary)
    image_container.try_out(image, root, f"{PLACE}/volume", check)
    print(f"the image is made and works, after {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
