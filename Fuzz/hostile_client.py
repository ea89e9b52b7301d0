"""Requests that are almost correct, each on its own connection."""
import copy, json, random, socket, struct
from mutation import mutated

VALUES = [None, True, False, 0, -1, 1.5, 1e308, 2**63, -2**63, 10**30, "", "x", "\0", "\ud83d\ude00", "a" * 70_000, [], {}, [[]], [None] * 500,
          {"a": {"a": {"a": {}}}}, "http://127.0.0.1:1/", "file:///etc/passwd", "2026-01-01T00:00:00.000Z", "tsk_0", "%00"]


def bodies(url, ids):
    """Returns correct requests: method, path and body."""
    session, task = ids
    request = {"url": f"{url}/x", "method": "GET", "headers": {"Accept": "*/*"}, "timeoutInterval": 1, "cachePolicy": "useProtocolCachePolicy"}
    return [
        ("POST", "/v1/sessions", {"type": "default", "description": "d", "configuration": {
            "timeoutIntervalForRequest": 1, "httpMaximumConnectionsPerHost": 2, "httpAdditionalHeaders": {"A": "b"}, "proxies": {"noProxy": ["a"]},
            "urlCache": {"memoryCapacity": 1, "diskCapacity": 1}, "tlsPinnedPublicKeys": {"a": ["sha256/AA=="]}, "waitsForConnectivity": False},
            "delegate": {"redirects": "ask", "decisionTimeout": 1, "webhook": {"url": f"{url}/hook", "events": ["task.didComplete"]}}}),
        ("POST", f"/v1/sessions/{session}/tasks", {"kind": "download", "request": request, "priority": 0.5, "description": "d", "earliestBeginDate": None,
                                                   "completion": {"webhook": {"url": f"{url}/hook"}}}),
        ("POST", f"/v1/sessions/{session}/tasks", {"kind": "upload", "request": {**request, "method": "PUT", "body": {"text": "x"}}}),
        ("POST", f"/v1/sessions/{session}/tasks", {"kind": "download", "resumeData": "AAAA"}),
        ("PATCH", f"/v1/tasks/{task}", {"priority": 1, "description": "d"}),
        ("PUT", f"/v1/sessions/{session}/credentials", {"protectionSpace": {"host": "a", "port": 1, "protocol": "http", "realm": "r"},
                                                        "credential": {"user": "u", "password": "p", "persistence": "forSession"}}),
        ("DELETE", f"/v1/sessions/{session}/credentials", {"protectionSpace": {"host": "a", "port": 1, "protocol": "http"}}),
        ("PUT", f"/v1/sessions/{session}/cookies", {"cookies": [{"name": "a", "value": "b", "domain": "x.org", "path": "/"}]}),
        ("PUT", "/v1/configurations/fuzz", {"timeoutIntervalForRequest": 1}),
        ("POST", "/v1/decisions/dec_01a2025d-a7ba-7e3d-8aef-3bf719410ae4", {"disposition": "useCredential", "credential": {"user": "u", "password": "p"}}),
        ("POST", "/v1/reachability", {"url": f"{url}/x"}),
        ("POST", f"/v1/tasks/{task}/cancel", {"producingResumeData": True}),
        ("GET", f"/v1/sessions/{session}/tasks?limit=5&state=completed&cursor=x", None), ("GET", "/v1/sessions?type=default", None),
        ("GET", f"/v1/tasks/{task}/body", None), ("GET", f"/v1/sessions/{session}/cookies?domain=x", None),
        ("PUT", f"/v1/tasks/{task}/body", {}), ("POST", "/v1/files", {"fromTask": task}), ("POST", "/v1/files", {}),
        ("POST", "/v1/tasks?include=body", {"kind": "data", "resume": True, "request": request}), ("DELETE", f"/v1/tasks/{task}", None),
        ("GET", f"/v1/sessions/{session}/cache", None), ("GET", f"/v1/tasks/{task}/events?after=0", None), ("GET", "/v1/events?after=x", None)]


def replaced(r, value):
    """Returns the document with one member changed, added or removed."""
    if isinstance(value, dict) and value and r.random() < 0.9:
        value = copy.copy(value)
        name = r.choice(list(value))
        change = r.randrange(6)
        if change == 0:
            del value[name]
        elif change == 1:
            value[r.choice(["x", "", "a/b~c", "x" * 5000])] = r.choice(VALUES)
        elif change == 2:
            value.update({str(number): number for number in range(r.choice((3, 300)))})
        else:
            value[name] = replaced(r, value[name])
        return value
    if isinstance(value, list) and value and r.random() < 0.7:
        return value * r.choice((1, 50)) + [r.choice(VALUES)]
    return copy.copy(r.choice(VALUES))


def request(r, url, ids, port):
    """Returns the bytes of a request, and whether its HTTP syntax is correct."""
    method, path, body = r.choice(bodies(url, ids))
    content = "application/json"
    if body is not None:
        for _ in range(r.choice((0, 1, 1, 2))):
            body = replaced(r, body)
        text = json.dumps(body).encode("utf-8", "surrogatepass")
        if path.endswith("/tasks") and r.random() < 0.3:
            content, text = "application/x-ndjson", b"\n".join([text] * r.choice((1, 3, 200)))
        if r.random() < 0.3:
            text = mutated(r, text)
    else:
        text = b""
    framing = f"Content-Length: {len(text)}\r\n"
    if text and r.random() < 0.2:
        size = r.choice((1, 50, 5000))
        chunks = [text[at:at + size] for at in range(0, len(text), size)][:400]
        text = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
        framing = "Transfer-Encoding: chunked\r\n"
    extra = "".join(f"{name}: {value}\r\n" for name, value in r.sample([
        ("Prefer", "wait=1"), ("Idempotency-Key", "k"), ("Accept", "a/b"), ("If-Match", '"x"'), ("Range", "bytes=5-1"), ("Range", "bytes=" + "0-1," * 500),
        ("Expect", "100-continue"), ("Origin", "http://evil"), ("Authorization", "Bearer x"), ("X", "y" * 20000), ("Last-Event-ID", "-1")], r.choice((0, 0, 1, 3))))
    whole = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {content}\r\n{framing}{extra}\r\n".encode() + text
    if r.random() < 0.05:
        whole += whole  # two requests, one after the other
    return (mutated(r, whole), False) if r.random() < 0.4 else (whole, True)


def exchange(r, port, text, seconds=15):
    """Sends a request in one of several ways, and reads the beginning of the reply. Returns no bytes if the connection was closed
    without a reply, and None if the client did not wait or nothing arrived."""
    pieces = r.choice((1, 1, 1, 2, 30))
    size = len(text) // pieces + 1
    patience, ends = r.choice((0, 1, 1, 1, 1, 1)), r.random() < 0.8
    try:
        with socket.create_connection(("127.0.0.1", port), seconds) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(seconds)
            try:
                for start in range(0, len(text), size):
                    connection.sendall(text[start:start + size])
                if not patience:
                    if r.random() < 0.5:  # closes with a reset
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return None
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # Ferry has already replied
            if not ends:
                connection.settimeout(1)
            return connection.recv(4096)
    except TimeoutError:
        return None
    except OSError:
        return b""
