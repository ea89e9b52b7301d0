"""Tests of the Python client without a service: signatures, event streams, retries and failures.
usage: python -m unittest client_test, with ferry_client installed"""
import base64, contextlib, hashlib, http.server, json, pathlib, socket, tempfile, threading, unittest
from unittest import mock
import ferry_client as ferry
from ferry_client import transport, webhooks

HERE = pathlib.Path(__file__).resolve().parent
DONE = {"id": "tsk_1", "state": "completed", "error": None}


def event(number, kind="task.didChangeState"):
    return {"id": number, "type": kind, "time": "", "sessionId": None, "taskId": None, "data": {}}


def sse(*events):
    return b"".join((f"id: {each['id']}\n" if each["id"] else "").encode() + f"data: {json.dumps(each)}\n\n".encode() for each in events)


class Script(http.server.ThreadingHTTPServer):
    """A server that sends prepared replies: (status, fields, body), or a function of the handler."""

    def __init__(self, *replies):
        script, self.seen, self.replies = self, [], list(replies)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                while self.headers.get("Transfer-Encoding") == "chunked" and (size := int(self.rfile.readline(), 16)) + 1:
                    body += self.rfile.read(size)
                    self.rfile.readline()
                    if not size:
                        break
                script.seen.append((self.command, self.path, dict(self.headers), body))
                reply = script.replies.pop(0)
                if callable(reply):
                    self.close_connection = True
                    return reply(self)
                status, fields, content = reply
                content = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **fields}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)
                if int(fields.get("Content-Length", len(content))) != len(content):
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=lambda: self.serve_forever(0.01))
        self.thread.start()

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


def hang_up(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)


def stream(*parts, closes=True, closed=None):
    """A reply of event-stream parts. It ends, or stays silent until the client closes it."""
    def reply(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in parts:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        if closes:
            handler.wfile.write(b"0\r\n\r\n")
        else:
            handler.rfile.read(1)
            if closed:
                closed.set()
    return reply


class SharedVectorTests(unittest.TestCase):
    def test_messages(self):
        for vector in json.loads((HERE / "webhooks.json").read_text()):
            with self.subTest(vector["name"]), mock.patch.object(webhooks, "_clock", lambda: vector["now"]):
                webhook, body = ferry.Webhook(*vector["keys"]), vector["body"].encode()
                headers = {name.title(): value for name, value in vector["headers"].items()}
                if vector["valid"]:
                    self.assertEqual(webhook.verify(headers, body), json.loads(body))
                else:
                    self.assertRaises(ferry.WebhookVerificationError, webhook.verify, headers, body)

    def test_keys(self):
        for key in ["", "secret", "whsec_", "whsec_%%", "whpk_", "whpk_AAAA"]:
            with self.subTest(key):
                self.assertRaises(ValueError, ferry.Webhook, key)
        self.assertRaises(ValueError, ferry.Webhook)

    def test_replies(self):
        vector = json.loads((HERE / "webhooks.json").read_text())[0]
        webhook, body = ferry.Webhook(*vector["keys"]), vector["body"].encode()
        with mock.patch.object(webhooks, "_clock", lambda: vector["now"]):
            reply = webhook.respond(vector["headers"], body, lambda message: {"disposition": "allow"})
            self.assertEqual((reply.status, json.loads(reply.body)), (200, {"disposition": "allow"}))
            self.assertEqual(webhook.respond(vector["headers"], body, lambda message: None), (204, {}, b""))
            refused = webhook.respond(vector["headers"], b"{}", lambda message: self.fail("an invalid message was handled"))
            self.assertEqual(refused.status, 401)

    def test_event_streams_in_all_splits(self):
        for vector in json.loads((HERE / "events.json").read_text()):
            data, expected = vector["text"].encode(), [tuple(each[key] for key in ("type", "data", "id")) for each in vector["events"]]
            splits = [[data[:at], data[at:]] for at in range(len(data) + 1)] + [[data[at:at + 1] for at in range(len(data))]]
            splits += [[data[:at], b"", data[at:]] for at in range(len(data) + 1)]
            for parts in splits:
                parser = ferry.EventParser()
                self.assertEqual([each for part in parts for each in parser.feed(part)], expected, (vector["name"], parts))
                self.assertEqual(parser.retry, vector.get("retry"))


class ServedTests(unittest.TestCase):
    def setUp(self):
        self.delays = []
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.stack.enter_context(mock.patch.object(transport, "_sleep", self.delays.append))

    def serve(self, *replies, **options):
        server = self.stack.enter_context(Script(*replies))
        client = ferry.Client(server.url, **options)
        self.addCleanup(client.close)
        return client, server


class RequestTests(ServedTests):
    def test_creation_is_repeated_with_the_same_key(self):
        client, server = self.serve(hang_up, (503, {}, b""), (201, {}, DONE))
        self.assertEqual(client.create_shared_task({"kind": "data"}), DONE)
        keys = [headers["Idempotency-Key"] for _, _, headers, _ in server.seen]
        self.assertEqual((len(keys), len(set(keys)), len(self.delays)), (3, 1, 2))

    def test_given_key_is_used(self):
        client, server = self.serve((201, {}, DONE))
        client.create_shared_task({"kind": "data"}, idempotency_key="mine")
        self.assertEqual(server.seen[0][2]["Idempotency-Key"], "mine")

    def test_delay_is_that_of_the_service(self):
        client, _ = self.serve((429, {"Retry-After": "7"}, b""), (200, {}, DONE))
        client.get_task("tsk_1")
        self.assertEqual(self.delays, [7])

    def test_long_delay_is_an_error(self):
        client, _ = self.serve((429, {"Retry-After": "3600"}, b""))
        with self.assertRaises(ferry.ProblemError) as raised:
            client.get_task("tsk_1")
        self.assertEqual((raised.exception.retry_after, self.delays), (3600, []))

    def test_creation_in_progress_is_repeated(self):
        client, server = self.serve((409, {}, {"type": "/problems/idempotency-in-progress", "title": "", "status": 409}), (201, {}, DONE))
        client.create_shared_task({"kind": "data"})
        self.assertEqual(len(server.seen), 2)

    def test_other_commands_are_not_repeated(self):
        client, server = self.serve(hang_up)
        self.assertRaises(ferry.UnreachableError, client.suspend_task, "tsk_1")
        self.assertEqual((len(server.seen), self.delays), (1, []))

    def test_streamed_content_is_not_repeated(self):
        client, server = self.serve((503, {}, b""))
        self.assertRaises(ferry.ProblemError, client.create_file, iter([b"a", b"bc"]))
        self.assertEqual([body for *_, body in server.seen], [b"abc"])

    def test_path_is_read_again_for_a_repeat(self):
        with tempfile.NamedTemporaryFile() as file:
            pathlib.Path(file.name).write_bytes(b"content")
            client, server = self.serve((503, {}, b""), (201, {}, {"id": "fil_1"}))
            client.create_file(pathlib.Path(file.name))
        self.assertEqual([body for *_, body in server.seen], [b"content"] * 2)

    def test_retries_end(self):
        client, server = self.serve(*[(503, {}, b"")] * 4)
        self.assertRaises(ferry.ProblemError, client.get_task, "tsk_1")
        self.assertEqual(len(server.seen), 4)

    def test_problem_has_its_fields(self):
        problem = {"type": "/problems/unprocessable", "title": "No", "status": 422, "detail": "why",
                   "errors": [{"pointer": "/request/url", "detail": "bad"}]}
        client, _ = self.serve((422, {"Request-Id": "r1"}, problem))
        with self.assertRaises(ferry.ProblemError) as raised:
            client.create_shared_task({"kind": "data"})
        error = raised.exception
        self.assertEqual((error.status, error.name, error.title, error.detail, error.errors, error.request_id),
                         (422, "unprocessable", "No", "why", problem["errors"], "r1"))
        self.assertEqual(str(error), "422 No: why; /request/url: bad")

    def test_page_of_a_proxy_is_a_problem(self):
        client, _ = self.serve((403, {}, b"<html>"))
        with self.assertRaises(ferry.ProblemError) as raised:
            client.get_task("tsk_1")
        self.assertEqual((raised.exception.status, raised.exception.type), (403, "about:blank"))

    def test_redirect_is_not_followed(self):
        client, server = self.serve((302, {"Location": "http://127.0.0.1:1/"}, b""), token="secret-token")
        self.assertRaises(ferry.ProblemError, client.get_task, "tsk_1")
        self.assertEqual(len(server.seen), 1)

    def test_token_is_only_in_its_field(self):
        client, server = self.serve((404, {}, b""), hang_up, token="secret-token")
        texts = [repr(client), str(vars(client))]
        for call in (client.get_task, client.suspend_task):
            with self.assertRaises(ferry.FerryError) as raised:
                call("tsk_1")
            texts += [repr(raised.exception), repr(vars(raised.exception)), repr(raised.exception.__cause__)]
        self.assertNotIn("secret-token", "".join(texts))
        method, path, headers, body = server.seen[0]
        self.assertEqual(headers.pop("Authorization"), "Bearer secret-token")
        self.assertNotIn("secret-token", repr((path, headers, body)))

    def test_servers_are_checked(self):
        for server in ["127.0.0.1:8080", "ftp://a", "http://user:secret@a", "http://a/?b", "http://"]:
            with self.subTest(server), self.assertRaises(ValueError) as raised:
                ferry.Client(server)
            self.assertNotIn("secret", str(raised.exception))

    def test_path_prefix_and_segments(self):
        client, server = self.serve((200, {}, {}))
        with ferry.Client(server.url + "/ferry/") as client:
            client.get_group("a b/ü?")
        self.assertEqual(server.seen[0][1], "/ferry/v1/groups/a%20b%2F%C3%BC%3F")

    def test_query_forms(self):
        client, server = self.serve((200, {}, {"items": [], "nextCursor": None}), (200, {}, {}))
        client.list_all_tasks(label=["a:1", "b:2"], never_resumed=True, url="*iso*")
        client.list_events(types=["task.didCreate", "task.didComplete"], wait=0.2)
        self.assertEqual(server.seen[0][1], "/v1/tasks?label=a%3A1&label=b%3A2&url=%2Aiso%2A&neverResumed=true")
        self.assertEqual(server.seen[1][1], "/v1/events?types=task.didCreate%2Ctask.didComplete")
        self.assertEqual(server.seen[1][2]["Prefer"], "wait=1")

    def test_pages_are_followed(self):
        client, server = self.serve((200, {}, {"items": [1, 2], "nextCursor": "c"}), (200, {}, {"items": [], "nextCursor": "d"}),
                                    (200, {}, {"items": [3], "nextCursor": None}))
        self.assertEqual(list(client.iterate_sessions(state="active")), [1, 2, 3])
        self.assertEqual(server.seen[1][1], "/v1/sessions?limit=500&cursor=c&state=active")

    def test_wait_is_repeated_until_the_end(self):
        running = {"id": "tsk_1", "state": "running", "phase": "queued"}
        client, server = self.serve((200, {}, running), (200, {}, running), (200, {}, DONE))
        self.assertEqual(client.wait("tsk_1"), DONE)
        self.assertEqual([headers["Prefer"] for _, _, headers, _ in server.seen], ["wait=60"] * 3)

    def test_wait_times_out(self):
        client, _ = self.serve((200, {}, {"id": "tsk_1", "state": "running", "phase": "queued"}))
        with self.assertRaises(TimeoutError) as raised:
            client.wait("tsk_1", timeout=0)
        self.assertEqual(str(raised.exception), "tsk_1 has not ended: queued")

    def test_batches_have_a_thousand_lines(self):
        replies = [b"".join(b'{"id":"%d"}\n' % line for line in range(count)) for count in (1000, 1)]
        replies[1] = b'{"type":"/problems/limit-exceeded","title":"No","status":422,"line":1}\n'
        client, server = self.serve(*[(200, {}, body) for body in replies])
        results = client.create_tasks({"kind": "data"} for _ in range(1001))
        self.assertEqual([body.count(b"\n") for *_, body in server.seen], [1000, 1])
        self.assertEqual((results[999], results[1000].name, results[1000].line), ({"id": "999"}, "limit-exceeded", 1))

    def test_connection_is_reused_unless_it_was_closed(self):
        client, server = self.serve((200, {}, DONE), (200, {"Connection": "close"}, DONE), (200, {}, DONE))
        for _ in range(3):
            client.suspend_task("tsk_1")
        self.assertEqual(len(server.seen), 3)


class ContentTests(ServedTests):
    def setUp(self):
        super().setUp()
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.path = pathlib.Path(self.folder, "file")
        self.path.write_text("previous")

    @staticmethod
    def digest(content):
        return {"Repr-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"}

    def test_content_is_saved(self):
        client, _ = self.serve((200, self.digest(b"x" * 200_000), b"x" * 200_000))
        self.assertEqual(client.save_body("tsk_1", self.path).read_bytes(), b"x" * 200_000)
        self.assertEqual([each.name for each in pathlib.Path(self.folder).iterdir()], ["file"])

    def test_wrong_content_leaves_the_file(self):
        for name, fields, error in [("digest", self.digest(b"other"), ferry.DigestError),
                                    ("length", {"Content-Length": "9"}, ferry.UnreachableError)]:
            with self.subTest(name):
                client, _ = self.serve((200, fields, b"content"))
                self.assertRaises(error, client.save_body, "tsk_1", self.path)
                self.assertEqual([each.read_text() for each in pathlib.Path(self.folder).iterdir()], ["previous"])

    def test_range_has_no_digest_of_its_own(self):
        client, server = self.serve((206, self.digest(b"whole"), b"wh"))
        self.assertEqual(client.get_body("tsk_1", range="bytes=0-1").read(), b"wh")
        self.assertEqual(server.seen[0][2]["Range"], "bytes=0-1")


class StreamTests(ServedTests):
    def test_missed_events_are_replayed(self):
        lost = []
        client, server = self.serve((200, {}, {"items": [], "nextAfter": "4"}), stream(b"retry: 1\n", sse(event(5), event(None))),
                                    (503, {}, b""), stream(sse(event(None, "events.didReset"), event(9)), closes=False))
        with client.stream_events(types=["task.didChangeState"], on_disconnect=lost.append) as events:
            found = [next(events) for _ in range(4)]
            self.assertEqual(events.last_event_id, "9")
        self.assertEqual([each["id"] for each in found], [5, None, None, 9])
        self.assertEqual([headers.get("Last-Event-ID") for _, _, headers, _ in server.seen], [None, "4", "5", "5"])
        self.assertEqual([type(each) for each in lost], [ferry.UnreachableError, ferry.ProblemError])
        self.assertEqual(list(events), [])

    def test_silent_stream_is_opened_again(self):
        closed = threading.Event()
        # A busy machine may need several connections before the event arrives in time.
        client, server = self.serve(stream(b"retry: 1\n\n", closes=False, closed=closed),
                                    *[stream(sse(event(1)), closes=False)] * 50, heartbeat_timeout=0.05)
        with client.stream_task_events("tsk_1", after=0, on_disconnect=lambda error: None) as events:
            self.assertEqual(next(events)["id"], 1)
        self.assertTrue(closed.wait(5))

    def test_refused_stream_raises(self):
        client, _ = self.serve(stream(b"retry: 1\n\n"), (404, {}, b""))
        events = client.stream_events(after=0, on_disconnect=lambda error: None)
        self.assertRaises(ferry.ProblemError, next, events)
        self.assertEqual(list(events), [])

    def test_error_of_the_callback_ends_the_stream(self):
        client, _ = self.serve(stream(b"retry: 1\n\n"))

        def give_up(error):
            raise KeyError("enough")
        self.assertRaises(KeyError, next, client.stream_events(after=0, on_disconnect=give_up))

    def test_close_ends_a_waiting_reader(self):
        client, _ = self.serve(stream(sse(event(1)), closes=False))
        events, found = client.stream_events(after=0), []
        has_first = threading.Event()

        def read():
            for each in events:
                found.append(each["id"])
                has_first.set()
        reader = threading.Thread(target=read)
        reader.start()
        self.assertTrue(has_first.wait(5))
        events.close()
        reader.join(5)
        self.assertEqual((reader.is_alive(), found), (False, [1]))


if __name__ == "__main__":
    unittest.main()
