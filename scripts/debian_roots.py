"""Root directories with Debian releases: bases of images, and empty systems for installation tests."""
import ctypes, glob, os, re, shutil, subprocess, time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Directories that Debian's slim images omit.
SLIM = [f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in ("doc", "info", "locale", "man")]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MOUNTS_OF_ITS_OWN = 0x20000
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def leave_mounts():
    """Moves this process to its own mount namespace, so that its mounts end with it."""
    if ctypes.CDLL(None, use_errno=True).unshare(MOUNTS_OF_ITS_OWN) != 0:
        raise SystemExit("needs root for mounts and namespaces")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def mirrors():
    """Returns apt's mirrors of this machine's Debian release and of its security updates."""
    ours = re.search(r"^VERSION_CODENAME=(\w+)", open("/etc/os-release").read(), re.M)[1]
    targets = output("apt-get", "indextargets", "--format", "$(RELEASE) $(SITE)")
    known = dict(line.split() for line in reversed(targets.splitlines()))
    if ours not in known:
        raise SystemExit(f"apt knows no mirror of {ours}")
    return known[ours], known.get(f"{ours}-security")


def codename(tag):
    """Returns the codename of the Debian release that a tag names, also by a version number."""
    number = re.match(r"(\d+)\.\d+-", tag)
    if not number:
        return re.match(r"[\d.]+-(\w+)", tag)[1]
    for line in open("/usr/share/distro-info/debian.csv"):
        if line.split(",")[0] == number[1]:
            return line.split(",")[2]
    raise SystemExit(f"{tag}: no release of Debian has this number")


def tag(name):
    """Returns the tag of a base in the Dockerfile."""
    return re.search(rf"^ARG {name.upper()}_TAG=(\S+)$", dockerfile(), re.M)[1]


def image_packages():
    """Returns the packages that the Dockerfile adds to the image's base."""
    last = dockerfile().rpartition("\nFROM ")[2].replace("\\\n", " ")
    return [word for word in re.search(r"apt-get install ([^&]+)", last)[1].split() if not word.startswith("-")]


def dockerfile():
    return open(f"{SOURCE}/Dockerfile").read()


def pack(place, name, release, packages=(), options=()):
    """Returns a tar archive of a minimal Debian release with these packages. An existing archive is reused."""
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
    return packed


def make_root(place, name, release, packages=(), options=()):
    """Makes the same system at `place`/root-`name`, with the mounts that a container engine adds."""
    packed = pack(place, name, release, packages, options)
    root = f"{place}/root-{name}"
    shutil.rmtree(root, ignore_errors=True)
    os.mkdir(root)
    subprocess.run(["tar", "-xf", packed, "-C", root, "--exclude=./dev/*"], check=True)
    furnish(root)
    return root


def furnish(root):
    """Mounts the file systems that a container engine mounts."""
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
    """Returns the variables of this machine's HTTP proxies, if it has any."""
    return {key: value for key, value in os.environ.items() if key.lower() in ("http_proxy", "https_proxy", "no_proxy")}


def install(root, *words, verb="install"):
    """Installs packages from Debian's mirror, without recommended packages."""
    for command in (["update"], [verb, "-y", "--no-install-recommends", *words]):
        made = subprocess.run(["chroot", root, "apt-get", "-qq", *command],
                              env={"PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", **proxies()},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode != 0:
            raise SystemExit(f"apt-get {' '.join(command)}: exit code {made.returncode}\n{made.stdout}")


def try_tarball(root):
    """Unpacks the tarball of make dist, starts the program without privileges, checks its health, and stops it."""
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
            raise SystemExit("the tarball's program did not start: " + open(log.name).read())
    subprocess.run(chrooted("health", "--listen", address[1]), check=True)
    subprocess.run(chrooted("stop", *words), check=True)
    if service.wait(30) != 0:
        raise SystemExit(f"the tarball's program has ended with exit code {service.returncode}")
    shutil.rmtree(f"{root}/opt")
    os.mkdir(f"{root}/opt")


def toolchain():
    return os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swift"))))


def lend(root, directory):
    os.makedirs(root + directory, exist_ok=True)
    mount(directory, root + directory, "--bind")
    mount(None, root + directory, "-o", "remount,bind,ro")


def mount(source, target, *options):
    subprocess.run(["mount", *options, *([source] if source else []), target], check=True)
