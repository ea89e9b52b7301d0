"""Calls every operation of a service, and compares each 2xx reply with its example in openapi.yaml.

The service must be new, may reach loopback, and must trust the authority of CERTIFICATE, which is for localhost.

usage: openapi_examples_service.py OPENAPI SERVICE CERTIFICATE KEY"""
import http.server, json, socketserver, ssl, sys, threading, time
import httpx
from openapi_examples import Contract, events

PATIENCE = 120  # Seconds. On an idle machine, these replies come at once.
WAIT = 60  # Seconds that the service may wait before it replies.


class Origin(http.server.BaseHTTPRequestHandler):
    """The origin of the tasks, and the webhook's endpoint."""

    protocol_version = "HTTP/1.1"
    text = b"for an example\n"
    answer = b""

    def version_string(self):
        return "example"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", size=None, **fields):
        self.send_response(status)
        for name, value in {"Content-Length": str(size or len(body)), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/photo.jpg":
            self.reply(200, bytes(range(256)), Content_Type="image/jpeg", ETag='"1"', Accept_Ranges="bytes")
        elif self.path == "/video.mp4":
            # The rest is never sent.
            self.reply(200, bytes(65536), 1048576, Content_Type="video/mp4", ETag='"1"', Accept_Ranges="bytes")
            self.close_connection = True
            self.rfile.read(1)
        elif self.path == "/moved":
            self.reply(302, Location="/text")
        elif self.path == "/busy":
            self.reply(503)
        elif self.path == "/octets":
            self.reply(200, self.text, Content_Type="application/octet-stream")
        else:
            self.reply(200, self.text, Content_Type="text/plain; charset=utf-8", Cache_Control="max-age=3600")

    def do_POST(self):
        size = self.headers["Content-Length"]
        message = self.rfile.read(int(size)) if size else self.chunks()
        asks = self.path == "/hooks" and "decisionId" in json.loads(message)["data"]
        self.reply(200, self.answer if asks else b"", Content_Type="application/json")

    def chunks(self):
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # The service has closed the connection.


class Conversation:
    """Calls of operations, and the examples that they have matched."""

    def __init__(self, contract, service):
        self.contract = contract
        self.client = httpx.Client(base_url=service, timeout=PATIENCE)
        self.faults, self.reached, self.matched = [], set(), set()
        self.operations = {each["operationId"]: (each, method, path) for each, method, path in contract.operations()}

    def call(self, name, status=200, example=None, /, query=None, headers=None, json=None, content=None, until=None, **target):
        """Calls an operation. The reply must have this status and, if it has a body, resemble the example of this name. With `until`,
        the call is repeated, or the stream read, until the function returns true for the reply."""
        operation, method, path = self.operations[name]
        end = time.monotonic() + PATIENCE
        while True:
            with self.client.stream(
                    method, path.format(**target), params=query, headers=headers, json=json, content=content) as reply:
                media_type = reply.headers.get("Content-Type", "").split(";")[0]
                if media_type == "text/event-stream" and reply.status_code == 200:
                    body = ""
                    for piece in reply.iter_text():
                        body += piece
                        if until(body) or time.monotonic() > end:
                            break
                else:
                    reply.read()
                    body = reply.json() if media_type.endswith(("/json", "+json")) else reply.text
            if until is None or until(body) or time.monotonic() > end:
                break
            time.sleep(0.02)
        if reply.status_code != status:
            self.faults.append(f"{name}: {reply.status_code} and not {status}: {reply.text[:500]}")
            raise RuntimeError("\n".join(self.faults))
        self.compare(name, str(status), media_type, body, example)
        return body

    def compare(self, name, status, media_type, body, example):
        place, described = next(
            (place, reply) for each, place, reply in self.contract.replies(self.operations[name][0]) if each == status)
        contents = described.get("content", {})
        if not contents:
            self.reached.add((name, status, ""))
            if body:
                self.faults.append(f"{name} {status} has a body of {media_type}")
            return
        matching = media_type if media_type in contents else "*/*"
        where = f"{name} {status} {media_type} {example}"
        if matching not in contents:
            self.faults.append(f"{where}: the media type must be one of {list(contents)}")
            return
        self.reached.add((name, status, matching))
        examples = self.contract.examples(contents[matching])
        example = example or "example"
        if example not in examples:
            self.faults.append(f"{where}: this example is missing; there are {list(examples)}")
            return
        self.matched.add((place, matching, example))
        for schema, document in self.contract.documents(matching, contents[matching], body):
            self.faults += [f"{where}: the reply breaks its schema: {fault}" for fault in self.contract.faults(schema, document)]
        self.faults += [f"{where}: {each}" for each in self.differences(matching, examples[example], body)]

    def differences(self, media_type, example, real):
        """Returns the differences between a real reply and its example."""
        if media_type in ("application/yaml", "text/html"):
            return [] if real.startswith(example) else ["does not begin with the example"]
        if media_type == "application/x-ndjson":
            return self.unlike([json.loads(each) for each in example.splitlines()], [json.loads(each) for each in real.splitlines()], "")
        if media_type == "text/event-stream":
            return self.unlike(*[[{**each, "data": json.loads(each["data"])} for each in events(text)] for text in (example, real)], "")
        if not media_type.endswith(("/json", "+json")):
            return [] if real == example else [f"is {real!r}"]
        return self.unlike(example, real, "")

    def unlike(self, example, real, path):
        kinds = [type(each) if not isinstance(each, int) or isinstance(each, bool) else float for each in (example, real)]
        if kinds[0] is not kinds[1]:
            return [f"{path or 'all'} is {json.dumps(real)[:200]}, but the example is {json.dumps(example)[:200]}"]
        if kinds[0] is dict and "openapi" in example:
            return []  # The example is the beginning of the contract.
        if kinds[0] is dict:
            faults = [f"{path}/{name} is missing" for name in example if name not in real]
            faults += [f"{path}/{name} is not in the example" for name in real if name not in example]
            for name in example:
                if name in real and name not in self.contract.maps:
                    faults += self.unlike(example[name], real[name], f"{path}/{name}")
            return faults
        if kinds[0] is list:
            # Each item of a list resembles an item of the other, because pages have items of several forms.
            faults = []
            for these, those, which in ((example, real, "no real item"), (real, example, "no item of the example")):
                for index, this in enumerate(these):
                    if not any(not self.unlike(this, that, "") for that in those):
                        closest = min((self.unlike(this, that, "") for that in those), key=len, default=[])
                        faults.append(f"{path}/{index}: {which} matches: {closest}")
            return faults
        return []

    def missing(self):
        """Yields the replies and examples that no call has shown."""
        for name, (operation, method, _) in self.operations.items():
            for status, place, reply in self.contract.replies(operation):
                contents = reply.get("content", {})
                if method is None and not contents:
                    continue  # The reply of the client, which has no content.
                for media_type in contents or [""]:
                    if (name, status, media_type) not in self.reached:
                        yield f"no call of {name} got {status} {media_type}"
                for media_type, content in contents.items():
                    for example in self.contract.examples(content):
                        if (place, media_type, example) not in self.matched:
                            yield f"no reply matched {example} of {place} {media_type}"


def request(origin, path="/text", **members):
    return {"url": origin + path, **members}


def sessions(talk, origin):
    """Calls the operations of sessions. Returns a session that remains."""
    creation = {"description": "nightly import", "configuration": {"httpAdditionalHeaders": {"Accept-Language": "en"}},
                "delegate": {"redirects": "ask", "webhook": {"url": origin + "/hooks", "events": ["session.didBecomeInvalid"]}}}
    session = talk.call("createSession", 201, "session", json=creation)["id"]
    background = {"type": "background", "identifier": "com.example.photos", "delegate": {}}
    talk.call("createSession", 201, "backgroundSession", json=background)
    talk.call("createSession", 200, "backgroundSession", json=background)
    talk.call("listSessions", 200, "sessionPage", query={"type": "background"})
    talk.call("getSession", 200, "session", session=session)
    talk.call("resetSession", 200, "session", session=session)
    talk.call("flushSession", 200, "session", session=session)
    other = talk.call("createSession", 201, "plainSession", json={})["id"]
    talk.call("invalidateSession", 202, "invalidSession", session=other, json={"mode": "cancelTasks"})
    talk.call("deleteSession", 204, session=other)

    cookie = {"name": "lang", "value": "en", "domain": ".origin.example", "maximumAge": 86400, "isSecure": True}
    talk.call("setCookies", 200, "cookie", session=session, json=cookie)
    talk.call("setCookies", 200, "cookiePage", session=session, json={"items": [cookie]})
    talk.call("listCookies", 200, "cookiePage", session=session)
    talk.call("deleteCookies", 204, session=session)

    entry = {"protectionSpace": {"host": "origin.example", "protocol": "https", "realm": "staff"},
             "credential": {"user": "alice", "password": "wonderland", "persistence": "permanent"}}
    talk.call("setCredential", 200, "credentialEntry", session=session, json=entry)
    talk.call("listCredentials", 200, "credentialPage", session=session)
    talk.call("deleteCredentials", 204, session=session)

    configuration = {"allowsCellularAccess": False, "waitsForConnectivity": True}
    talk.call("createConfiguration", 201, "configuration", json={"name": "wifi-only", "configuration": configuration})
    talk.call("listConfigurations", 200, "configurationPage")
    talk.call("getConfiguration", 200, "configuration", name="wifi-only")
    talk.call("replaceConfiguration", 200, "configuration", name="wifi-only", json=configuration)
    talk.call("replaceConfiguration", 201, "configuration", name="wifi", json=configuration)
    talk.call("deleteConfiguration", 204, name="wifi")
    return session


def creations(talk, origin, name, **target):
    """Creates tasks in all forms. Returns a finished download and a suspended task."""
    download = {"kind": "download", "request": request(origin, "/photo.jpg", headers={"Accept": "image/*"})}
    waiting = {"Prefer": f"wait={WAIT}"}
    suspended = talk.call(name, 201, "suspendedTask", json=download, **target)["id"]
    finished = talk.call(name, 200, "completedDownload", json={**download, "resume": True}, headers=waiting, **target)["id"]
    data = {"kind": "data", "resume": True, "request": request(origin)}
    talk.call(name, 200, "completedDataTask", json=data, headers=waiting, query={"include": "body"}, **target)
    lines = [json.dumps(download), json.dumps({"kind": "download", "request": {}})]
    talk.call(name, 200, "batch", content="\n".join(lines), headers={"Content-Type": "application/x-ndjson"}, **target)
    video = {"kind": "download", "resume": True, "request": request(origin, "/video.mp4")}
    running = talk.call(name, 202, "runningTask", json=video, headers={"Prefer": "wait=4"}, **target)["id"]
    talk.call("getTask", 200, "runningTask", task=running)
    talk.call(name, 202, "forgottenTask", json=download, headers={"Prefer": "wait=4"}, **target)
    talk.call("cancelTask", 200, "cancelledDownload", task=running, json={"producingResumeData": True})
    talk.call("getResumeData", 200, task=running)
    return finished, suspended


def tasks(talk, origin, session):
    creations(talk, origin, "createSharedTask")
    quiet = talk.call("createSession", 201, "plainSession", json={})["id"]
    finished, suspended = creations(talk, origin, "createTask", session=quiet)
    talk.call("getTask", 200, "suspendedTask", task=suspended)
    talk.call("getTask", 200, "completedDownload", task=finished)
    talk.call("updateTask", 200, "suspendedTask", task=suspended, json={"priority": 0.9})
    talk.call("suspendTask", 200, "suspendedTask", task=suspended)
    talk.call("resumeTask", 200, "suspendedTask", task=suspended)
    refused = talk.call("createTask", 200, "refusedTask", session=session, headers={"Prefer": f"wait={WAIT}"}, json={
        "kind": "data", "resume": True, "request": {"url": "http://10.0.0.1/"}})["id"]
    talk.call("retryTask", 201, "retriedTask", task=refused)
    busy = {"kind": "data", "resume": True, "request": request(origin, "/busy"),
            "retry": {"maximumAttempts": 20, "backoff": 600, "statuses": [503]}}
    waiting = talk.client.post(f"/v1/sessions/{session}/tasks", json=busy).json()["id"]
    talk.call("getTask", 200, "waitingTask", task=waiting, until=lambda task: task["phase"] == "waitingToRetry")
    talk.call("retryTask", 200, "waitingTask", task=waiting)
    talk.call("getMetrics", 200, "metrics", task=finished)
    talk.call("listTasks", 200, "taskPage", session=quiet, query={"limit": 1})
    talk.call("listAllTasks", 200, "taskPage", query={"limit": 1, "neverResumed": "true"})
    for name in ("cancelTasks", "suspendTasks", "resumeTasks", "retryTasks", "deleteTasks"):
        talk.call(name, 200, json={"group": "import-2026-11", "outcome": "failed"})
    talk.call("deleteTask", 204, task=talk.client.post(
        "/v1/tasks", json={"kind": "data", "resume": True, "request": request(origin)}, headers={"Prefer": f"wait={WAIT}"}).json()["id"])

    groups(talk, origin)
    streams(talk, origin, finished)
    bodies(talk, origin, quiet)
    talk.call("getCache", 200, session=quiet, query={"limit": 1}, until=lambda cache: cache["countOfEntries"])
    talk.call("emptyCache", 204, session=quiet)
    stream = {"kind": "upload", "request": request(origin, body={"stream": True})}
    upload = talk.call("createTask", 201, "streamedUpload", session=session, json=stream)["id"]
    talk.client.post(f"/v1/tasks/{upload}/resume")
    talk.call("sendBody", 204, task=upload, content=Origin.text)


def groups(talk, origin):
    grouped = {"kind": "data", "group": "import-2026-11", "request": request(origin)}
    talk.client.post("/v1/tasks", json=grouped)
    group = {"group": "import-2026-11"}
    talk.call("listGroups", 200, "groupPage")
    talk.call("getGroup", 200, "openGroup", **group)
    for name in ("suspendGroup", "resumeGroup", "cancelGroup"):
        talk.call(name, 200, **group)
    talk.call("closeGroup", 200, "completedGroup", until=lambda group: group["state"] == "completed", **group)
    talk.call("getGroup", 200, "completedGroup", **group)


def streams(talk, origin, finished):
    """Reads the events of a finished download, of a session with a download, and of all sessions."""
    only = {"after": 0, "types": "task.didCreate,task.didChangeState,downloadTask.didFinishDownloading,task.didComplete"}

    def ended(text):
        return text.endswith("\n\n") and "task.didComplete" in [each["event"] for each in events(text)]

    talk.call("streamTaskEvents", 200, "eventStream", task=finished, query=only, until=ended)
    page = {"query": {"after": 0, "types": "task.didCreate", "limit": 1}, "headers": {"Accept": "application/json"}}
    talk.call("streamTaskEvents", 200, "eventPage", task=finished, **page)
    session = talk.call("createSession", 201, "plainSession", json={})["id"]
    download = {"kind": "download", "resume": True, "request": request(origin, "/photo.jpg")}
    talk.client.post(f"/v1/sessions/{session}/tasks", json=download)
    text = talk.call("streamSessionEvents", 200, "eventStream", session=session, query=only, until=ended)
    talk.call("streamSessionEvents", 200, "eventPage", session=session, **page)
    talk.call("streamEvents", 200, "eventPage", **page)
    talk.call("streamEvents", 200, "eventStream", query={**only, "after": int(events(text)[0]["id"]) - 1}, until=ended)


def bodies(talk, origin, session):
    """Reads bodies and files, as a text and as bytes without a type."""
    part = {"Range": "bytes=0-5"}
    for path in ("/octets", "/text"):
        data = {"kind": "data", "resume": True, "request": request(origin, path)}
        headers = {"Prefer": f"wait={WAIT}"}
        task = talk.client.post(f"/v1/sessions/{session}/tasks", json=data, headers=headers).json()["id"]
        talk.call("getBody", 200, task=task)
        talk.call("getBody", 206, task=task, headers=part)
    talk.call("createFile", 201, "keptFile", json={"fromTask": task})
    talk.call("deleteBody", 204, task=task)
    for kind in ("application/octet-stream", "text/plain"):
        file = talk.call("createFile", 201, "storedFile", content=Origin.text, headers={"Content-Type": kind})["id"]
        talk.call("getFile", 200, file=file)
        talk.call("getFile", 206, file=file, headers=part)
    talk.call("getFile", 200, "storedFile", file=file, headers={"Accept": "application/json"})
    talk.call("listFiles", 200, "filePage")
    talk.call("deleteFile", 204, file=file)


def decisions(talk, origin):
    session = talk.client.post("/v1/sessions", json={"delegate": {"redirects": "ask"}}).json()["id"]
    redirected = {"kind": "data", "resume": True, "request": request(origin, "/moved")}
    talk.client.post(f"/v1/sessions/{session}/tasks", json=redirected)
    page = talk.call("listDecisions", 200, "pendingDecisions", session=session, until=lambda page: page["items"])
    decision = page["items"][0]["id"]
    talk.call("getDecision", 200, "pendingDecision", decision=decision)
    answer = {"request": request(origin, "/photo.jpg", headers={"Accept": "image/*"})}
    talk.call("answerDecision", 200, "answeredDecision", decision=decision, json=answer)

    # The webhook's endpoint gives the answer of the example, for an origin that exists.
    described = next(reply for _, _, reply in talk.contract.replies(talk.operations["onDecision"][0]))
    answer = talk.contract.examples(described["content"]["application/json"])["example"]
    Origin.answer = json.dumps(answer).replace("https://origin.example", origin).encode()
    delegate = {"redirects": "ask", "webhook": {"url": origin + "/hooks", "answers": True}}
    asking = talk.call("createSession", 201, "session", json={"description": "asks", "delegate": delegate})["id"]
    talk.client.post(f"/v1/sessions/{asking}/tasks", json=redirected)
    page = talk.call(
        "listDecisions", 200, "answeredDecisions", session=asking, query={"state": "answered"}, until=lambda page: page["items"])
    talk.compare("onDecision", "2XX", "application/json", page["items"][0]["answer"], "example")


def webhooks(talk, origin):
    """Calls the operations of endpoints and deliveries."""
    creation = {"url": origin + "/hooks", "description": "all ends", "headers": {"Authorization": "Bearer secret"}, "maximumPerSecond": 50}
    endpoint = talk.call("createEndpoint", 201, "createdEndpoint", json=creation)["id"]
    talk.call("listEndpoints", 200, "endpointPage")
    talk.call("getEndpoint", 200, "endpoint", endpoint=endpoint)
    talk.call("updateEndpoint", 200, "endpoint", endpoint=endpoint, json={"maximumConcurrency": 4})
    talk.call("rotateEndpointSecret", 200, "createdEndpoint", endpoint=endpoint, json={"overlap": 3600})
    delivery = talk.call("testEndpoint", 202, "pendingDelivery", endpoint=endpoint)["id"]

    def delivered(reply):
        return reply["state"] == "delivered"

    talk.call("getDelivery", 200, "delivery", until=delivered, delivery=delivery)
    only = {"endpoint": endpoint, "state": "delivered", "order": "newest"}
    talk.call("listDeliveries", 200, "deliveryPage", query=only)
    talk.call("redeliver", 202, "pendingRedelivery", delivery=delivery)
    talk.call("redeliverMany", 202, json={"endpoint": endpoint, "state": "delivered"})
    talk.call("deleteEndpoint", 204, endpoint=endpoint)


def operations(talk, origin):
    talk.call("probeOrigin", 200, "reachable", json={"url": origin + "/"})
    with socketserver.TCPServer(("127.0.0.1", 0), None, bind_and_activate=False) as closed:
        closed.server_bind()  # The port does not listen.
        talk.call("probeOrigin", 200, "unreachable", json={"url": f"https://127.0.0.1:{closed.server_address[1]}/"})
    talk.call("getLiveness")
    talk.call("getReadiness")
    talk.call("getVersion")
    talk.call("getContract")
    talk.call("getContractInJSON")
    talk.call("getReference")
    talk.call("getDashboard", headers={"Accept": "text/html"})
    talk.call("getUsage")
    talk.call("getSettings")
    for media_type in "text/html", "application/json", "application/problem+json":
        talk.call("getProblemPage", headers={"Accept": media_type}, problem="body-not-ready")


def main(openapi, service, certificate, key):
    server = Server(("127.0.0.1", 0), Origin)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"https://localhost:{server.server_address[1]}"
    talk = Conversation(Contract(openapi), service)
    session = sessions(talk, origin)
    tasks(talk, origin, session)
    decisions(talk, origin)
    webhooks(talk, origin)
    operations(talk, origin)
    return talk.faults + list(dict.fromkeys(talk.missing()))


if __name__ == "__main__":
    found = main(*sys.argv[1:])
    print("\n".join(found) or "all replies match their examples")
    sys.exit(bool(found))
