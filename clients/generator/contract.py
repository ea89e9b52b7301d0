"""The contract openapi.yaml, in the form that the generators of the clients read."""
import pathlib, re, textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = "#/components/schemas/"

# The schema of each event's `data`. The contract lists the events and the schemas; this table joins them.
EVENT_DATA = {
    "task.didCreate": "TaskCreatedData", "task.didChangeState": "TaskStateChangedData",
    "session.didReceiveChallenge": "ChallengedData", "task.didReceiveChallenge": "ChallengedData",
    "task.willPerformHTTPRedirection": "RedirectedData", "task.needNewBodyStream": "BodyNeededData",
    "task.didSendBodyData": "SentData", "task.didReceiveInformationalResponse": "InformedData",
    "task.isWaitingForConnectivity": "FinishedEventsData", "task.willBeginDelayedRequest": "DelayedData",
    "dataTask.didReceiveResponse": "RespondedData", "dataTask.didReceiveData": "ReceivedData",
    "dataTask.didBecomeDownloadTask": "BecameDownloadData", "dataTask.willCacheResponse": "WillCacheData",
    "downloadTask.didResumeAtOffset": "ResumedData", "downloadTask.didWriteData": "WrittenData",
    "downloadTask.didFinishDownloading": "DownloadedData", "task.didFinishCollectingMetrics": "MeasuredData",
    "task.didComplete": "CompletedData", "session.handleEvents": "HandleEventsData", "group.didComplete": "Group",
    "session.didFinishEvents": "FinishedEventsData", "session.didBecomeInvalid": "InvalidatedData",
    "events.didReset": "ResetData", "decision.answerWasRejected": "AnswerRejectedData",
    "webhook.endpointDidDisable": "EndpointDisabledData", "webhook.test": "FinishedEventsData"}
# Both are made from the table above: one type for each type of event and message.
REPLACED = re.compile(r"^(Event|WebhookMessage|\w+Message)$")
# Only requests that change a resource keep their condition. Clients handle the other fields themselves.
CONDITIONS = ("If-Match", "If-None-Match")
OWN_FIELDS = ("Last-Event-ID", "If-Range")


def words(name):
    """The words of a name in any spelling: listAllTasks, Idempotency-Key, mainDocumentURL."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)


def snake(name):
    return "_".join(words(name)).lower()


def camel(name):
    first, *rest = words(name)
    return first.lower() + "".join(word[0].upper() + word[1:] for word in rest)


def pascal(name):
    return "".join(word[0].upper() + word[1:] for word in words(name))


def glued(text):
    """A text that `lines` does not break."""
    return text.replace(" ", "\u00a0")


def lines(text, width, indent):
    """The text in lines of at most `width` characters, which break only between its glued parts."""
    parts = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return ("\n" + " " * indent).join(parts).replace("\u00a0", " ")


class Parameter:
    def __init__(self, declared):
        self.wire, self.place, self.schema = declared["name"], declared["in"], declared["schema"]
        self.description = declared.get("description", "").strip()
        self.has_commas = not declared.get("explode", True)
        self.name = "wait" if self.wire == "Prefer" else self.wire
        if self.wire == "Prefer":
            self.schema = {"type": "number"}
            self.description = "Ferry replies when the awaited state is reached, or after this number of seconds, at most 300."
        if self.wire == "Idempotency-Key":
            self.description = "The key identifies the request, so that a repeat gets the first reply again. The client makes one if it is absent."


class Operation:
    """A call of the service. `reply` and `body` are a schema, `"content"` for bytes, or None. A reply may also be `"events"`
    or `"text"`."""

    def __init__(self, contract, path, method, declared, shared):
        self.id, self.path, self.method = declared["operationId"], path, method.upper()
        self.tag, self.summary = declared["tags"][0], declared["summary"]
        self.description = declared.get("description", "").strip()
        parameters = [Parameter(contract.resolve(each)) for each in shared + declared.get("parameters", [])]
        self.segments = [each for each in parameters if each.place == "path"]
        changes = self.method in ("PUT", "PATCH")
        self.options = [each for each in parameters if each.place != "path" and each.wire not in OWN_FIELDS
                        and (changes or each.wire not in CONDITIONS)]
        self.body, self.needs_body = None, False
        if "requestBody" in declared:
            body = contract.resolve(declared["requestBody"])
            types = body["content"]
            schema = types.get("application/json", {}).get("schema")
            self.body = "content" if "application/octet-stream" in types else schema
            self.needs_body = body.get("required", False) or self.body == "content"
            if schema and schema.get("type") == "object" and not schema.get("properties"):
                self.body = None  # an object without members
        replies = [contract.resolve(reply) for status, reply in declared["responses"].items() if status[0] == "2"]
        types = {kind: each["schema"] for reply in replies for kind, each in reply.get("content", {}).items()}
        self.json_reply = types.get("application/json", {}).get("schema") or types.get("application/json")
        if "text/event-stream" in types:
            self.reply = "events"
        elif "application/octet-stream" in types:
            self.reply = "content"
        else:
            self.reply = self.json_reply or ("text" if types else None)

    def option(self, wire):
        return next((each for each in self.options if each.wire == wire), None)


class Contract:
    def __init__(self):
        from ruamel.yaml import YAML
        self.document = YAML(typ="safe").load((ROOT / "openapi.yaml").read_text())
        declared = self.document["components"]["schemas"]
        self.schemas = {name: self.flat(schema) for name, schema in declared.items() if not REPLACED.match(name)}
        if set(EVENT_DATA) != set(declared["EventType"]["enum"]):
            raise SystemExit("contract.py: EVENT_DATA and the schema EventType differ: "
                             f"{set(EVENT_DATA) ^ set(declared['EventType']['enum'])}")
        data = {self.reference(each) for each in declared["Event"]["properties"]["data"]["anyOf"]}
        if missing := data - set(EVENT_DATA.values()):
            raise SystemExit(f"contract.py: EVENT_DATA lacks {missing}")
        self.operations = sorted(
            (Operation(self, path, method, declared, item.get("parameters", []))
             for path, item in self.document["paths"].items() for method, declared in item.items() if method != "parameters"),
            key=lambda each: [tag["name"] for tag in self.document["tags"]].index(each.tag))

    @staticmethod
    def reference(schema):
        """The name of the schema that this one refers to."""
        return schema["$ref"].removeprefix(SCHEMAS) if "$ref" in schema and schema["$ref"].startswith(SCHEMAS) else None

    def resolve(self, value):
        while "$ref" in value:
            place = self.document
            for part in value["$ref"].split("/")[1:]:
                place = place[part.replace("~1", "/")]
            value = place
        return value

    def flat(self, schema):
        """The schema with the members of all parts of its `allOf`."""
        parts = schema.get("allOf")
        if not parts:
            return schema
        if len(parts) == 1:
            return {**parts[0], "description": schema.get("description", "")}
        merged = {"type": "object", "description": schema.get("description", ""), "properties": {}, "required": []}
        for part in map(self.flat, map(self.resolve, parts)):
            merged["properties"].update(part.get("properties", {}))
            merged["required"] += part.get("required", [])
        return merged

    def item(self, page):
        """The schema of the items of a page that has further pages, or None."""
        schema = self.schemas.get(self.reference(page) or "")
        return schema["properties"]["items"]["items"] if schema and "nextCursor" in schema.get("properties", {}) else None
