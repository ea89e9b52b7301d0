"""Reads a Dockerfile and its .dockerignore, as far as Ferry's use them. What it does not know is an error, not passed over."""
import fnmatch, json, os, re, shlex


def instructions(text):
    """(NAME, value) of each, with continued lines joined and comments gone."""
    joined, found = "", []
    for line in text.splitlines():
        if line.lstrip().startswith("#") or not line.strip() and joined:
            continue
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        joined += line
        if joined.strip():
            name, _, value = joined.strip().partition(" ")
            found.append((name.upper(), re.sub(" {2,}", " ", value.strip())))
        joined = ""
    return found


def substituted(value, variables):
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda found: variables[found[1] or found[2]], value)


def pairs(value, variables):
    return dict(word.split("=", 1) for word in shlex.split(substituted(value, variables)))


def listed(value, name):
    """The exec form's words: with the shell form there would be a shell between the engine and the process."""
    words = json.loads(value) if value.startswith("[") else None
    if not isinstance(words, list):
        raise SystemExit(f"{name} {value}: it has to be a JSON array")
    return words


class Stage:
    """One FROM, and what follows: `steps` are carried out in their order, all else is the image's configuration."""

    def __init__(self, image, name):
        self.image, self.name = image, name
        self.steps, self.variables, self.environment, self.labels = [], {}, {}, {}
        self.user, self.directory, self.stop_signal = "0:0", "/", "SIGTERM"
        self.entrypoint, self.command, self.health, self.volumes, self.ports = [], [], [], [], []

    @property
    def packages(self):
        """What its first `apt-get install` names."""
        command = next(value for name, value, _, _ in self.steps if name == "RUN" and "apt-get install" in value)
        return [word for word in re.search(r"apt-get install ([^&]+)", command)[1].split() if not word.startswith("-")]

    def add(self, name, value, given):
        known = {**self.variables, **self.environment}
        if name == "ARG":
            key, _, default = value.partition("=")
            self.variables[key] = given.get(key, substituted(default, known))
        elif name == "ENV":
            self.environment.update(pairs(value, known))
        elif name == "LABEL":
            self.labels.update(pairs(value, known))
        elif name == "WORKDIR":
            self.directory = os.path.join(self.directory, substituted(value, known))
            self.steps.append((name, self.directory, None, None))
        elif name == "RUN":
            self.steps.append((name, value, self.directory, {**self.variables, **self.environment}))
        elif name == "COPY":
            self.steps.append((name, substituted(value, known), self.directory, None))
        elif name == "USER":
            self.user = substituted(value, known)
        elif name == "VOLUME":
            self.volumes += listed(value, name) if value.startswith("[") else value.split()
        elif name == "EXPOSE":
            self.ports += value.split()
        elif name == "STOPSIGNAL":
            self.stop_signal = value
        elif name == "ENTRYPOINT":
            self.entrypoint = listed(value, name)
        elif name == "CMD":
            self.command = listed(value, name)
        elif name == "HEALTHCHECK":
            self.health = listed(value.partition("CMD ")[2], name)
        else:
            raise SystemExit(f"{name} {value}: this is not known here")


def stages(text, given):
    variables, found = {}, []
    for name, value in instructions(text):
        if name == "FROM":
            image, _, alias = substituted(value, variables).partition(" AS ")
            found.append(Stage(image, alias))
        elif found:
            found[-1].add(name, value, given)
        elif name == "ARG":
            key, _, default = value.partition("=")
            variables[key] = given.get(key, default)
        else:
            raise SystemExit(f"{name} {value}: before the first FROM")
    return found


def context(directory, ignore):
    """The paths that the engine is given: the last pattern that fits a path, or a directory above it, decides."""
    rules = [line.strip() for line in ignore.splitlines() if line.strip() and not line.startswith("#")]
    kept = [rule[1:] for rule in rules if rule.startswith("!")]

    def is_ignored(path):
        ignored = False
        for rule in rules:
            pattern = rule.lstrip("!")
            parts = path.split("/")
            above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
            anywhere = pattern.startswith("**/")
            if any(fnmatch.fnmatch(one, pattern.removeprefix("**/")) for one in (parts if anywhere else above)):
                ignored = not rule.startswith("!")
        return ignored

    for place, directories, files in os.walk(directory):
        inside = os.path.relpath(place, directory)
        name = (lambda leaf: leaf) if inside == "." else (lambda leaf: f"{inside}/{leaf}")
        directories[:] = [
            leaf for leaf in directories
            if not is_ignored(name(leaf)) or any(rule.startswith(name(leaf) + "/") for rule in kept)
        ]
        links = [leaf for leaf in directories if os.path.islink(os.path.join(place, leaf))]
        yield from (name(leaf) for leaf in files + links if not is_ignored(name(leaf)))
