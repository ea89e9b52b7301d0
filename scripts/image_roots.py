"""Carries out the steps of a Dockerfile's stages in roots of their own, where there is no container engine."""
import ctypes, glob, os, re, shutil, subprocess, sys, time

import dockerfile

# What Swift's image has beside the toolchain, as far as a build needs it.
SWIFT_PACKAGES = ("binutils ca-certificates git libc6-dev libcurl4 libedit2 libgcc-12-dev libncurses6 libpython3-dev "
                  "libsqlite3-0 libstdc++-12-dev libxml2 tzdata")
# What the slim images of Debian have not.
UNREAD = ("doc", "info", "locale", "man")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MOUNTS_OF_ITS_OWN = 0x20000
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PATHS = {}


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def leave_mounts():
    """Mounts from here on are this process's own, and gone with it."""
    if ctypes.CDLL(None, use_errno=True).unshare(MOUNTS_OF_ITS_OWN) != 0:
        raise SystemExit("mounts and roots are for the superuser")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def mirrors():
    """The places that apt has packages of this machine's Debian from: of the release, and of its security updates."""
    ours = re.search(r"^VERSION_CODENAME=(\w+)", open("/etc/os-release").read(), re.M)[1]
    targets = output("apt-get", "indextargets", "--format", "$(RELEASE) $(SITE)")
    known = dict(line.split() for line in reversed(targets.splitlines()))
    if ours not in known:
        raise SystemExit(f"apt knows no mirror of {ours}")
    return known[ours], known.get(f"{ours}-security")


def codename(tag):
    """The release of Debian that a tag names, be it by its number."""
    number = re.match(r"(\d+)\.\d+-", tag)
    if not number:
        return re.match(r"[\d.]+-(\w+)", tag)[1]
    for line in open("/usr/share/distro-info/debian.csv"):
        if line.split(",")[0] == number[1]:
            return line.split(",")[2]
    raise SystemExit(f"{tag}: no release of Debian has this number")


def make_base(place, image):
    """A root like the image's base."""
    name, tag = image.split("@")[0].rsplit(":", 1)
    extra = {"swift": SWIFT_PACKAGES, "debian": ""}[name]
    slim = [f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in UNREAD] if tag.endswith("-slim") else []
    root = make_root(place, name, codename(tag), extra.split(), slim)
    at = open(f"{root}/etc/debian_version").read().strip()
    if name == "debian" and not tag.startswith(at):
        print(f"note: the mirror has Debian {at}, and the image is to be made from {tag}")
    if name == "swift":
        add_swift(root, tag)
    return root


def make_root(place, name, release, packages, options=()):
    """A release of Debian with these packages and what is essential, at `place`/root-`name`, with what an engine mounts. It is packed, so
    that the next run need not make it."""
    packed = f"{place}/{name}-{release}.tar"
    if not os.path.exists(packed):
        mirror, security = mirrors()
        lines = [f"deb [signed-by={KEYRING}] {mirror} {suite} main" for suite in (release, f"{release}-updates")]
        lines += [f"deb [signed-by={KEYRING}] {security} {release}-security main"] if security else []
        os.makedirs(place, exist_ok=True)
        subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--format=tar", "--variant=minbase",
                        *[f"--include={package}" for package in packages], *options, release, packed + ".new", "-"],
                       input="\n".join(lines), text=True, check=True)
        os.rename(packed + ".new", packed)
    root = f"{place}/root-{name}"
    shutil.rmtree(root, ignore_errors=True)
    os.mkdir(root)
    subprocess.run(["tar", "-xf", packed, "-C", root, "--exclude=./dev/*"], check=True)
    furnish(root)
    return root


def furnish(root):
    """What an engine mounts."""
    mount("tmpfs", f"{root}/dev", "-t", "tmpfs", "-o", "mode=755")
    for device in ("null", "zero", "full", "random", "urandom"):
        open(f"{root}/dev/{device}", "w").close()
        mount(f"/dev/{device}", f"{root}/dev/{device}", "--bind")
    for link, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{root}/dev/{link}")
    mount("proc", f"{root}/proc", "-t", "proc")
    if os.path.lexists(f"{root}/etc/resolv.conf"):
        os.unlink(f"{root}/etc/resolv.conf")
    shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")


def proxies():
    """By which this machine reaches Debian's mirror, where it needs any."""
    return {key: value for key, value in os.environ.items() if key.lower() in ("http_proxy", "https_proxy", "no_proxy")}


def install(root, *words, verb="install"):
    """Packages, from Debian's mirror, and nothing that is only recommended."""
    for command in (["update"], [verb, "-y", "--no-install-recommends", *words]):
        made = subprocess.run(["chroot", root, "apt-get", "-qq", *command],
                              env={"PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", **proxies()},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode != 0:
            raise SystemExit(f"apt-get {' '.join(command)}: exit code {made.returncode}\n{made.stdout}")


def try_tarball(root):
    """Unpacks what make dist has made where anybody may, starts it there, asks after its health, and stops it."""
    archive, = glob.glob(".build/dist/ferry-*.tar.gz")
    place = f"{root}/opt/ferry"
    os.makedirs(place)
    subprocess.run(["tar", "-xzf", archive, "-C", place, "--strip-components=1"], check=True)
    chrooted = lambda *words: ["chroot", "--userspec=65534:65534", root, "/opt/ferry/ferry", *words]
    print(", ".join(output(*chrooted("--version")).splitlines()), flush=True)
    data = f"{root}/opt/data"
    os.mkdir(data)
    os.chown(data, 65534, 65534)
    words = ["--data-directory", "/opt/data"]
    with open(f"{root}/opt/log", "w+") as log:
        service = subprocess.Popen(chrooted("serve", "--listen", "127.0.0.1:0", *words), stdin=subprocess.DEVNULL, stdout=log)
        address, end = None, time.monotonic() + 30
        while not address and time.monotonic() < end and service.poll() is None:
            address = re.search(r'"address":"([^"]+)"', open(log.name).read())
            time.sleep(0.05)
        if not address:
            raise SystemExit("the tarball's program does not start: " + open(log.name).read())
    subprocess.run(chrooted("health", "--listen", address[1]), check=True)
    subprocess.run(chrooted("stop", *words), check=True)
    if service.wait(30) != 0:
        raise SystemExit(f"the tarball's program has ended with exit code {service.returncode}")
    shutil.rmtree(f"{root}/opt")
    os.mkdir(f"{root}/opt")


def toolchain():
    return os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swift"))))


def add_swift(root, tag):
    """This machine's toolchain in place of the image's, and where this machine's git has repositories from."""
    wanted = tag.split("-")[0]
    if f"Swift version {wanted} " not in output("swift", "--version", stderr=subprocess.DEVNULL):
        raise SystemExit(f"the image has Swift {wanted}, this machine another")
    lend(root, toolchain())
    PATHS[root] = f"{PATH}:{toolchain()}/bin"
    said = subprocess.run(["git", "config", "--get-regexp", r"^url\..*\.insteadof$"], stdout=subprocess.PIPE, text=True).stdout
    for key, value in (line.split(" ", 1) for line in said.splitlines()):
        subprocess.run(["git", "config", "--file", f"{root}/etc/gitconfig", "--add", key, value], check=True)
        repositories = key[len("url."):-len(".insteadof")].rstrip("/")
        if os.path.isdir(repositories) and not os.path.ismount(root + repositories):
            lend(root, repositories)


def lend(root, directory):
    os.makedirs(root + directory, exist_ok=True)
    mount(directory, root + directory, "--bind")
    mount(None, root + directory, "-o", "remount,bind,ro")


def mount(source, target, *options):
    subprocess.run(["mount", *options, *([source] if source else []), target], check=True)


def carry_out(stage, root, source, built, log):
    """The stage's steps, in their order. `built` are the roots of the stages before it, by their names."""
    kept = sorted(dockerfile.context(source, open(f"{source}/.dockerignore").read()))
    for name, value, directory, environment in stage.steps:
        print(f"{name} {value}"[:110], flush=True)
        if name == "WORKDIR":
            os.makedirs(root + value, exist_ok=True)
        elif name == "COPY":
            copy(value.split(), root, directory, source, kept, built)
        else:
            run(value, root, directory, environment, log)


def copy(words, root, directory, source, kept, built):
    origin = built[words.pop(0).partition("=")[2]] if words[0].startswith("--from=") else None
    *names, target = words
    target = root + os.path.join(directory, target)
    for name in names:
        if origin:
            found = [(path, os.path.basename(path)) for path in glob.glob(origin + name)]
        elif name == ".":
            found = [(f"{source}/{path}", path) for path in kept]
        else:
            found = [(f"{source}/{path}", os.path.relpath(path, name if os.path.isdir(f"{source}/{name}") else os.path.dirname(name)))
                     for path in kept if path == name or path.startswith(name + "/")]
        if not found:
            raise SystemExit(f"COPY: there is no {name}")
        is_one = len(found) == 1 and not target.endswith(("/", "/."))
        for path, inside in found:
            place = target if is_one else os.path.join(target, inside)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy2(path, place, follow_symlinks=False)
            os.chown(place, 0, 0, follow_symlinks=False)


def run(command, root, directory, environment, log):
    variables = {"PATH": PATHS.get(root, PATH), "HOME": "/root", **proxies(), **environment}
    with open(log, "ab") as file:
        made = subprocess.run(["chroot", root, "/bin/sh", "-c", f'cd "{directory}" && {command}'], env=variables,
                              stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    if made.returncode != 0:
        sys.stderr.write("".join(open(log, errors="replace").readlines()[-60:]))
        raise SystemExit(f"RUN {command}: exit code {made.returncode}")
