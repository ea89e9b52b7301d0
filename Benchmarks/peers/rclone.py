"""rclone's remote control: `operations/copyurl` as asynchronous jobs."""
from .peer import *


class Rclone(Peer):
    name = "rclone"
    # rclone has no call for many jobs, so each job is posted alone in all works.
    same = {"files": "batch", "single": "batch"}
    # With fewer ended jobs, a call is not worthwhile.
    FEW, PAUSE = 8, 0.001

    def __init__(self, directory, origin, at_once, *options):
        super().__init__(directory, origin, at_once)
        self.port = free_port()
        open(f"{directory}/rclone.conf", "w").close()
        with open(f"{directory}/rclone.log", "wb") as log:
            self.process = subprocess.Popen(
                ["rclone", "rcd", "--rc-no-auth", f"--rc-addr=127.0.0.1:{self.port}", f"--config={directory}/rclone.conf"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for_port(self.port)

    def call(self, url, name, **options):
        return json.dumps({"fs": self.files, "remote": name, "url": url, **options})

    def jobs(self, prefix, count):
        # All jobs are in one group, so that one call returns how many have ended.
        self.group = f"group-{time.monotonic_ns()}"
        return [self.call(f"{prefix}{number}", str(number), _async=True, _group=self.group) for number in range(count)]

    def batch(self, prefix, count):
        jobs, clients, client = self.jobs(prefix, count), Clients(self.port, CONNECTIONS), Client(self.port)
        question = json.dumps({"group": self.group})

        def run():
            posted = done = 0
            while done < count:
                free = min(self.at_once - (posted - done), count - posted)
                if free >= min(self.FEW, count - posted) and free:
                    clients.post("/operations/copyurl", jobs[posted:posted + free])
                    posted += free
                else:
                    time.sleep(self.PAUSE)
                counts = json.loads(client.post("/core/stats", question))
                assert counts["errors"] == 0, counts
                done = counts["transfers"]
            clients.close()

        return run

    def latency(self, prefix, count):
        client = Client(self.port)

        def once(url, name):
            job = json.loads(client.post("/operations/copyurl", self.call(url, name, _async=True)))["jobid"]
            while not (status := json.loads(client.post("/job/status", json.dumps({"jobid": job}))))["finished"]:
                time.sleep(self.PAUSE)
            assert status["success"], status

        return one_by_one(once, prefix, count)

    def wait(self, prefix, count):
        client = Client(self.port)
        return one_by_one(lambda url, name: client.post("/operations/copyurl", self.call(url, name)), prefix, count)

    def hold(self, prefix, count):
        Clients(self.port, CONNECTIONS).post("/operations/copyurl", self.jobs(prefix, count))
