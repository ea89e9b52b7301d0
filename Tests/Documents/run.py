"""Runs the blocks of Markdown pages, in the order of each page, with one service, one bash and one origin.
usage: run.py FERRY [PAGE]    Without a page, it checks that each block of the repository has a runner."""
import contextlib, json, os, pathlib, re, subprocess, sys, tempfile, urllib.error, urllib.request

import tables
from matching import matched
from origin import Origin
from receivers import Receiver
from shell import HELPERS, Shell

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from page_blocks import fenced, with_ports
from ports import free_ports

FERRY = pathlib.Path(sys.argv[1]).resolve()
PATIENCE = 120


def expect(condition, text):
    if not condition:
        sys.exit(text)


class Page:
    def __init__(self, name, directory, origin):
        self.name, self.directory, self.origin = name, directory, origin
        self.ports = dict(zip(tables.PORTS, free_ports(len(tables.PORTS))))
        self.identifiers = {}
        self.output = ""
        self.programs = {}
        for folder in ["bin", "tmp", "etc", "srv", "var/lib"]:
            os.makedirs(f"{directory}/{folder}")
        os.symlink(FERRY, f"{directory}/bin/ferry")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FERRY_")}
        environment |= {"PATH": f"{directory}/bin:{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "TMPDIR": f"{directory}/tmp",
                        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT / "clients/python/src")}
        self.environment = environment
        settings = fenced((ROOT / "docs/settings.md").read_text())[0][1]
        pathlib.Path(directory, "ferry.json").write_text(self.filled(settings))
        self.shell = Shell(directory, environment)
        self.shell.run(self.filled(HELPERS))

    def filled(self, text):
        """The text with the ports, hosts, paths and ids of this run."""
        for old, new in {**tables.REPLACED, **self.identifiers}.items():
            text = text.replace(old, new)
        text = with_ports(text, self.ports)
        for old, new in {"ORIGIN": self.origin.address, "DIRECTORY": self.directory, "ROOT": str(ROOT)}.items():
            text = re.sub(rf"\b{old}\b", new, text)
        return text

    def run(self):
        blocks = fenced((ROOT / self.name).read_text())
        before = tables.BEFORE.get(self.name, {})
        expect(max(before, default=-1) < len(blocks), f"tables.py names a block that {self.name} lacks")
        not_run = tables.NOT_RUN.get(self.name, {})
        # Checked first: a block of the table whose text has changed must not run.
        missing = [beginning for beginning in not_run if not any(joined(text).startswith(beginning) for _, text in blocks)]
        expect(not missing, f"{self.name} lacks these blocks of NOT_RUN: {missing}")
        for number, (language, text) in enumerate(blocks):
            if number in before:
                self.commands(before[number])
            beginning = next((beginning for beginning in not_run if joined(text).startswith(beginning)), None)
            if beginning:
                check_names(text)
            else:
                expect(not tables.MACHINE.search(text), f"{self.name} has a block that changes the machine; add it to NOT_RUN:\n{text}")
                getattr(self, f"run_{language or 'text'}", self.run_other)(self.filled(text))
        self.commands(before.get(-1, ""))
        self.commands("stop")
        print(f"{self.name}: {len(blocks)} blocks ran")

    def run_other(self, text):
        sys.exit(f"{self.name} has a block in a language without a runner:\n{text}")

    def commands(self, text):
        """Runs commands of the tests."""
        return self.run_sh(self.filled(text))

    def run_sh(self, text):
        """Runs commands. A service runs in the background, and may reach the origin."""

        def served(match):
            listen = "" if "--listen" in match[0] else f" --listen 127.0.0.1:{self.ports[8080]}"
            return f"serve {match[0].strip()}{listen} --allow-network 127.0.0.0/8"

        text = re.sub(r"^( *)ferry serve (?!.*&( \w+=\$!)?$).*$", served, text, flags=re.MULTILINE)
        self.output = self.shell.run(text)
        return self.output

    def run_text(self, text):
        if text.startswith("$ "):
            self.run_console(text)
        elif text.startswith("POST "):
            head, body = text.split("\n\n")
            self.expect_message("…".join(head.splitlines()) + "…" + body, lambda fields, body: fields + body)
        elif re.match(r"[a-z]+\.\w+ +{", text):
            for line in text.splitlines():
                self.expect_message(line, lambda _, body: "{type} {0}".format(json.dumps(json.loads(body)["data"]), **json.loads(body)))
        else:
            self.expect_output(text)

    def expect_output(self, text):
        identifiers = matched(text, self.output)
        expect(identifiers is not None, f"{self.name} has this output:\n{text}\nThe output is:\n{self.output}")
        self.identifiers |= identifiers

    def expect_message(self, text, shown):
        has_arrived = self.origin.wait_for(lambda messages: any(matched(text, shown(*message)) is not None for message in messages), PATIENCE)
        expect(has_arrived, f"{self.name} has this message:\n{text}\nThese arrived:\n{self.origin.messages}")

    def run_console(self, text):
        """Commands after `$ ` and their output. Lines belong to a command until its quotes are closed."""
        commands, output, is_open = "", "", False
        for line in text.splitlines(keepends=True):
            if is_open or line.startswith("$ "):
                commands += line if is_open else line[2:]
                is_open = commands.count("'") % 2 == 1
            else:
                output += line
        self.run_sh(commands)
        self.expect_output(output)

    def call(self, path, value=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.ports[8080]}{path}", headers={"Content-Type": "application/json"},
                                         data=None if value is None else json.dumps(value).encode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            sys.exit(f"{self.name}: {path} got {error.code} for {value}: {error.read().decode()}")

    def run_json(self, text):
        value = json.loads(re.sub(r",\s*…", "", text))
        if "listen" in value:
            self.commands("ferry config --config ferry.json")
        elif "state" in value:
            expect_like(value, json.loads(pathlib.Path(self.directory, "task.json").read_text()), self.name)
        else:
            self.session = value
            self.call("/v1/tasks" if "kind" in value else "/v1/sessions", value)

    def run_receiver(self, text, language):
        """Sends the program a signed message and a forged one."""
        self.programs[language] = text
        with Receiver(language, text, self.directory, self.environment) as receiver:
            webhook = {"url": f"http://{receiver.address}/", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
            task = self.call("/v1/tasks", {"kind": "data", "resume": True, "completion": {"webhook": webhook},
                                           "request": {"url": f"http://{self.origin.address}/photo.jpg"}})
            expect(receiver.read_line() == f"task.didComplete {task['id']} 200\n", f"the program in {language} printed another line")
            expect(receiver.status_for_forged() == 401, f"the program in {language} accepts a forged message")
            # The program prints before it replies. Its end must not make the message a failed one.
            self.commands(f"""delivered() {{ curl -fsS '127.0.0.1:8080/v1/webhooks/deliveries?task={task['id']}' | grep -q '"delivered"'; }}
                              waits delivered""")

    def run_python(self, text):
        if "ferry_client" in text:
            pathlib.Path(self.directory, "page.py").write_text(text)
            return self.commands("python3 page.py; test -s photo.jpg")
        if not text.startswith("    def do_POST"):
            return self.run_receiver(text, "python")
        # The block replaces a method of the earlier program.
        program, count = re.subn(r"    def do_POST.*?\n\n", lambda _: text + "\n", self.programs["python"], flags=re.DOTALL)
        expect(count == 1, f"{self.name}: no program has the method do_POST")
        with Receiver("python", program, self.directory, self.environment) as receiver:
            self.session["delegate"]["webhook"]["url"] = f"http://{receiver.address}/"
            session = self.call("/v1/sessions", self.session)["id"]
            task = self.call(f"/v1/sessions/{session}/tasks",
                             {"kind": "data", "resume": True, "request": {"url": f"http://{self.origin.address}/redirect"}})
            output = self.commands(f"curl -fsS 127.0.0.1:8080/v1/tasks/{task['id']} -H 'Prefer: wait={PATIENCE}'")
            expect(json.loads(output)["response"]["status"] == 302, f"{self.name}: the redirect was followed: {output}")

    def run_js(self, text):
        self.run_receiver(text, "js")

    def run_go(self, text):
        self.run_receiver(text, "go")

    def run_proxy(self, text, kind):
        around, command = tables.PROXIES[kind]
        is_part = text.startswith("location")
        text = f"server {{\nlisten 127.0.0.1:{self.ports[443]};\n{text}}}" if is_part else text
        pathlib.Path(self.directory, f"{kind}.conf").write_text(self.filled(around).format(text))
        command = command.replace("FILE", f"{kind}.conf")
        self.commands(f"{command} >{kind}.log 2>&1 & proxy=$!\n" + (tables.THROUGH_PREFIX if is_part else tables.THROUGH_PROXY))

    def run_nginx(self, text):
        self.run_proxy(text, "nginx")

    def run_haproxy(self, text):
        self.run_proxy(text, "haproxy")

    def run_caddy(self, text):
        self.run_proxy(text, "caddy")

    def run_swift(self, text):
        """Compiles a part of a manifest, or statements that use FerryClient."""
        if ".package(" in text:
            expect('name: "FerryClient"' in (ROOT / "Package.swift").read_text(), "Package.swift has no product FerryClient")
            manifest = f'// swift-tools-version: 6.2\nimport PackageDescription\nlet package = Package(name: "app",\n{text})\n'
            pathlib.Path(self.directory, "Package.swift").write_text(manifest)
            self.commands("swift package --scratch-path scratch dump-package")
        else:
            imports, statements = text.split("\n\n", 1)
            program = f"import FoundationEssentials\n{imports}\n\nfunc page(token: String, secret: String, url: URL, headers: [String: String], body: Data) async throws {{\n{statements}}}\n"
            pathlib.Path(self.directory, "page.swift").write_text(program)
            maps = [*FERRY.parent.glob("*.build/module.modulemap"), *ROOT.glob("Sources/C*/module.modulemap")]
            self.commands(f"swiftc -typecheck -swift-version 6 -I {FERRY.parent}/Modules page.swift "
                          + " ".join(f"-Xcc -fmodule-map-file={path}" for path in maps))


def joined(text):
    """The text with each command in one line."""
    return text.replace("\\\n ", "")


def check_names(text):
    """Checks a block that cannot run: its syntax, and the names in it."""
    result = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    expect(not result.returncode and not result.stderr, f"bash refuses this block:\n{text}\n{result.stderr}")
    for path in re.findall(r"\bdeploy/[\w./-]+", text):
        expect((ROOT / path).exists() or path == "deploy/tokens", f"{path} does not exist")
    for argument in re.findall(r"--build-arg (\w+)=", text):
        expect(f"ARG {argument}" in (ROOT / "Dockerfile").read_text(), f"Dockerfile has no argument {argument}")
    for value in re.findall(r"--set(?:-string)? '?(\w+)", text):
        expect(re.search(rf"^{value}:", (ROOT / "deploy/helm/ferry/values.yaml").read_text(), re.M), f"the chart has no value {value}")


def expect_like(value, actual, name):
    """The value has only members that the actual one has, with the same texts."""
    for key, member in value.items():
        expect(key in actual and isinstance(actual[key], type(member)), f"{name}: {key} is not in {actual}")
        if isinstance(member, dict):
            expect_like(member, actual[key], name)
        elif isinstance(member, str):
            expect(matched(member, actual[key]) is not None, f"{name}: {key} is {actual[key]}")


def check_all():
    """Each page with blocks has a runner."""
    names = subprocess.run(["git", "ls-files", "--", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    with_blocks = {name: {language for language, _ in blocks} for name in names if (blocks := fenced((ROOT / name).read_text()))}
    expect(with_blocks.keys() == {*tables.PAGES, *tables.ELSEWHERE},
           f"these pages have no runner, or no blocks: {with_blocks.keys() ^ {*tables.PAGES, *tables.ELSEWHERE}}")
    for name, (languages, runner) in tables.ELSEWHERE.items():
        expect(with_blocks[name] == {*languages}, f"{runner} does not run all of {name}: {with_blocks[name]}")
    for name in [*tables.NOT_RUN, *tables.BEFORE]:
        expect(name in tables.PAGES, f"tables.py has {name}, which is not run")
    print("each block has a runner")


if len(sys.argv) == 2:
    check_all()
else:
    with tempfile.TemporaryDirectory(prefix="ferry-page-", ignore_cleanup_errors=True) as place, contextlib.ExitStack() as stack:
        page = Page(sys.argv[2], place, Origin())
        stack.callback(page.shell.end)
        try:
            page.run()
        except Shell.Failure as failure:
            sys.exit(f"{page.name}: {failure}")
