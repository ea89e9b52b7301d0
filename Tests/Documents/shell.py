"""One bash for all commands of a page."""
import contextlib, itertools, os, signal, subprocess

# `serve` replaces the service of the page, and returns when it is ready. `waits` repeats a command until it succeeds.
HELPERS = """set -eo pipefail
trap 'kill 0' EXIT
serve() {
  stop
  "$@" >serve.log 2>&1 & service=$!
  until curl -fs -o /dev/null 127.0.0.1:8080/readyz; do kill -0 $service || { cat serve.log; return 1; }; sleep 0.1; done
}
stop() { [ -z "$service" ] || { kill $service 2>/dev/null || true; wait $service; service=; }; }
waits() { for _ in {1..1200}; do ! "$@" || return 0; sleep 0.1; done; return 1; }
draining() { [ "$(curl -s -o /dev/null -w '%{http_code}' 127.0.0.1:$1/readyz)" = 503 ]; }
# Waits until an event arrives while its stream is open. The first argument is a command with the URL, the others are options.
streams() {
  $1/v1/events "${@:2}" -N >events.txt & local stream=$!
  waits arrives "$@"
  kill $stream
}
arrives() {
  $1/v1/tasks "${@:2}" -H 'Content-Type: application/json' -d '{"kind": "data", "request": {"url": "http://127.0.0.1:9/"}}' >/dev/null
  grep -q task.didCreate events.txt
}
create() { curl -fsS 127.0.0.1:8080/v1/tasks -H 'Content-Type: application/json' -d "$1" | jq -r .id; }
"""


class Shell:
    class Failure(Exception):
        pass

    def __init__(self, directory, environment):
        self.directory = directory
        self.numbers = itertools.count()
        self.process = subprocess.Popen(["bash"], cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True)

    def run(self, text):
        """Runs commands and returns their output."""
        number = next(self.numbers)
        script, output = (f"{self.directory}/{number}.{name}" for name in ("sh", "out"))
        with open(script, "w") as file:
            file.write(text)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f". {script} </dev/null >{output} 2>&1\necho\n")
            self.process.stdin.flush()
        ended = self.process.stdout.readline()
        with open(output) as file:
            printed = file.read()
        if not ended:
            raise Shell.Failure(f"these commands failed:\n{text}\nTheir output:\n{printed}")
        return printed

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
