"""The programs of docs/webhooks.md that receive messages."""
import contextlib, pathlib, re, socket, subprocess, sys, urllib.error, urllib.request

FILES = {"python": "receiver.py", "js": "receiver.mjs", "go": "receiver.go"}


class Receiver:
    def __init__(self, language, text, directory, environment):
        file = pathlib.Path(directory, FILES[language])
        file.write_text(text)
        command = {"python": [sys.executable, file], "js": ["node", file], "go": [file.with_suffix("")]}[language]
        if language == "go":
            cache = {"GOCACHE": f"{directory}/go", "GO111MODULE": "off"}
            subprocess.run(["go", "build", "-o", command[0], file], env=environment | cache, check=True)
        self.address = "127.0.0.1:" + re.search(r'"?127\.0\.0\.1(?:", |:)(\d+)|(\d+), "127\.0\.0\.1"', text).expand(r"\1\2")
        self.process = subprocess.Popen(command, env=environment, cwd=directory, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        host, port = self.address.split(":")
        while self.process.poll() is None:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection((host, port)):
                return self
        sys.exit("the program has ended")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def read_line(self):
        return self.process.stdout.readline()

    def status_for_forged(self):
        fields = {"webhook-id": "whd_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
        try:
            return urllib.request.urlopen(urllib.request.Request(f"http://{self.address}/", b"{}", fields)).status
        except urllib.error.HTTPError as error:
            return error.code
