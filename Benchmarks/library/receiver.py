"""A webhook endpoint that records the ids of the messages about each task's end."""
import base64, hashlib, hmac, json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(ThreadingHTTPServer):
    """With a secret (base64), it counts the messages with a wrong signature."""
    daemon_threads, request_queue_size = True, 512

    def __init__(self, secret=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.secret = secret and base64.b64decode(secret)
        self.lock, self.ids, self.bad = threading.Lock(), {}, 0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def is_good(self, headers, body):
        """Checks a signature by Standard Webhooks: HMAC-SHA256 of id, timestamp and body."""
        if self.secret is None:
            return True
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        mac = hmac.new(self.secret, signed, hashlib.sha256).digest()
        return headers["webhook-signature"] == "v1," + base64.b64encode(mac).decode()

    def handle_error(self, *_):
        pass  # a client that was killed


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message, receiver = json.loads(body), self.server
        with receiver.lock:
            receiver.bad += not receiver.is_good(self.headers, body)
            if message["type"] == "task.didComplete":
                receiver.ids.setdefault(message["data"]["taskId"], []).append(self.headers["webhook-id"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass
