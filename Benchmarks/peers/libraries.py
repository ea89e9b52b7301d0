"""Programs that consist of a library and a loop, and take commands on standard input. There are no calls between processes."""
from .peer import *


class Loop(Peer):
    service = False
    same = {"files": "batch", "wait": "latency"}

    def __init__(self, directory, origin, at_once, *options):
        super().__init__(directory, origin, at_once)
        self.process = subprocess.Popen(
            [self.needs], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env=dict(os.environ, TMPDIR=directory))

    def send(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")

    def answer(self, *words):
        self.send(*words)
        return [int(word) for word in self.process.stdout.readline().split()]

    def batch(self, prefix, count):
        def run():
            failed = self.answer("many", self.at_once, count, prefix, self.files)
            assert failed == [0], failed

        return run

    def latency(self, prefix, count):
        return lambda: [taken / 1000 for taken in self.answer("each", count, prefix, self.files)]

    def hold(self, prefix, count):
        self.send("many", self.at_once, count, prefix, self.files)


class Libcurl(Loop):
    name = "libcurl"
    needs = f"{MADE}/libcurl-loop"


class URLSession(Loop):
    name = "urlsession"
    needs = f"{MADE}/swift/release/URLSessionLoop"


class AsyncHTTPClient(Loop):
    name = "async-http-client"
    needs = f"{MADE}/swift/release/AsyncHTTPClientLoop"
