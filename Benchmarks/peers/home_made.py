"""A simple service as one writes it in an afternoon (`home_made_service.py`), whose clients poll for the end."""
from .peer import *


class HomeMade(Peer):
    name = "home-made"
    needs = f"{MADE}/venv/bin/uvicorn"
    same = {"files": "batch", "single": "batch", "wait": "latency"}
    PAUSE, LONG_PAUSE = 0.001, 0.02

    def __init__(self, directory, origin, at_once, *options):
        super().__init__(directory, origin, at_once)
        self.port = free_port()
        self.process = subprocess.Popen(
            [self.needs, "home_made_service:app", "--app-dir", os.path.dirname(os.path.abspath(__file__)), "--port", str(self.port),
             "--log-level", "warning", "--no-access-log", "--loop", "uvloop", "--http", "httptools"],
            env=dict(os.environ, DIRECTORY=directory, AT_ONCE=str(at_once), PYTHONDONTWRITEBYTECODE="1"), stdin=subprocess.DEVNULL)
        wait_for_port(self.port)

    def body(self, url, name):
        return json.dumps({"url": url, "path": f"{self.files}/{name}"})

    def batch(self, prefix, count):
        clients, client = Clients(self.port, CONNECTIONS), Client(self.port)
        bodies = [self.body(f"{prefix}{number}", number) for number in range(count)]
        before = json.loads(client.get("/counts")).get("done", 0)

        def run():
            poster = threading.Thread(target=clients.post, args=("/tasks", bodies))
            poster.start()
            while (counts := json.loads(client.get("/counts"))).get("done", 0) - before < count:
                assert "failed" not in counts, counts
                time.sleep(self.PAUSE if count == 1 else self.LONG_PAUSE)
            poster.join()

        return run

    def latency(self, prefix, count):
        client = Client(self.port)

        def once(url, name):
            task = json.loads(client.post("/tasks", self.body(url, name)))["id"]
            while (state := json.loads(client.get(f"/tasks/{task}"))["state"]) != "done":
                assert state != "failed"
                time.sleep(self.PAUSE)

        return one_by_one(once, prefix, count)

    def hold(self, prefix, count):
        Clients(self.port, CONNECTIONS).post("/tasks", [self.body(f"{prefix}{number}", number) for number in range(count)])
