"""Drives a service with the Python client.
usage: service_test.py ORIGIN, with FERRY_SERVER in the environment, ferry_client installed, and /file at the origin"""
import http.server, pathlib, sys, tempfile, threading, time, uuid
import ferry_client as ferry

origin = sys.argv[1]
content = b"for the clients"
client = ferry.Client()
folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name, "file")
messages, SECRET = [], "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
webhook = ferry.Webhook(SECRET)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Stores each message, and answers redirects."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        reply = webhook.respond(self.headers, body, answer)
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_):
        pass


def answer(message):
    messages.append(message)
    if message["type"] == "task.willPerformHTTPRedirection":
        return {"request": None}


receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
hook = f"http://127.0.0.1:{receiver.server_port}/"


def expect(condition, *shown):
    if not condition:
        raise AssertionError(shown)


def until(found):
    end = time.monotonic() + 20
    while not found():
        expect(time.monotonic() < end, messages)
        time.sleep(0.01)


# A download, its events and its file.
with client.stream_events() as events:
    task = client.download(origin + "/file", path, timeout=20)
    expect(path.read_bytes() == content and task["body"]["size"] == len(content), task)
    seen = []
    while not seen or seen[-1]["type"] != "task.didComplete":
        seen.append(next(events))
expect({each["taskId"] for each in seen} == {task["id"]}, seen)
expect([each["type"] for each in client.list_task_events(task["id"], after=0)["items"]][-1] == "task.didComplete", task)
try:
    client.download(origin + "/missing", path)
    raise AssertionError("a missing file was downloaded")
except ferry.TaskFailedError as error:
    expect(error.name == "httpStatus" and path.read_bytes() == content, error)

# Files: from bytes, a path, an open file, parts and a task.
with open(path, "rb") as file:
    for given in (content, path, file, iter([content[:5], content[5:]])):
        stored = client.create_file(given)
        expect(client.get_file(stored["id"]).read() == content and client.get_file_info(stored["id"])["size"] == len(content), stored)
kept = client.create_file_from_task(task["id"])
expect(client.save_file(kept["id"], path).read_bytes() == content, kept)

# A batch, and pages of all of its tasks.
group = str(uuid.uuid4())
results = client.create_tasks({"kind": "data", "group": group, "request": {"url": origin + "/file" if each else "no"}} for each in range(1203))
expect(isinstance(results[0], ferry.ProblemError) and results[0].errors[0]["pointer"] == "/request/url", results[0])
created = [each["id"] for each in results[1:]]
expect([each["id"] for each in client.iterate_all_tasks(group=group)] == created, len(created))
expect(client.cancel_tasks({"group": group})["changed"] == 1202, created)

# A session whose webhook answers decisions.
session = client.create_session({"delegate": {"redirects": "ask", "webhook": {"url": hook, "secret": SECRET, "answers": True}}})
task = client.create_task(session["id"], {"kind": "data", "resume": True, "request": {"url": origin + "/redirect"}})
ended = ferry.raise_for_error(client.wait(task["id"], 20))
expect(ended["response"]["status"] == 302, ended)
until(lambda: any(each["type"] == "task.didComplete" for each in messages))
expect(messages[0]["data"]["request"]["url"] == origin + "/file" and messages[0]["data"]["taskId"] == task["id"], messages)

# A streamed upload.
upload = client.create_task(session["id"], {"kind": "upload", "resume": True, "request": {
    "url": origin + "/echo", "method": "POST", "body": {"stream": True}}})
client.send_body(upload["id"], (bytes([each]) * 1000 for each in range(200)))
expect(ferry.raise_for_error(client.wait(upload["id"], 20))["response"]["status"] == 200, upload)
expect(client.get_body(upload["id"]).read() == b"200000", upload)

# An endpoint with a public key.
endpoint = client.create_endpoint({"url": hook, "signature": "v1a"})
webhook = ferry.Webhook(SECRET, endpoint["publicKey"])
client.test_endpoint(endpoint["id"])
until(lambda: messages[-1]["type"] == "webhook.test")
client.delete_endpoint(endpoint["id"])

try:
    client.delete_session(session["id"])
    raise AssertionError("a session was deleted before it was invalid")
except ferry.ProblemError as error:
    expect(error.status == 409 and error.name == "conflict", error)
client.invalidate_session(session["id"], {"mode": "cancelTasks"})
client.delete_session(session["id"])
expect(client.get_version()["name"] == "ferry" and client.get_readiness().startswith("ok"))
folder.cleanup()
print("driven")
