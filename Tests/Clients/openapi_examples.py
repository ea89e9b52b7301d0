"""Checks the examples of openapi.yaml against its schemas: each 2xx content has one, and none has what its schema does not know.

usage: openapi_examples.py OPENAPI"""
import copy, json, pathlib, re, sys
import jsonschema_rs
from ruamel.yaml import YAML

METHODS = ("get", "post", "put", "patch", "delete")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Contract:
    """The document, and what is asked of it here."""

    def __init__(self, path):
        self.document = YAML(typ="safe", pure=True).load(pathlib.Path(path).read_text())
        self.validators = {}
        self.strict_document = copy.deepcopy(self.document)
        schemas = self.strict_document["components"]["schemas"]
        for name, schema in schemas.items():
            schemas[name] = self.strict(schema, is_whole=False)
        self.maps = set()
        self.find_maps(self.document)

    def resolved(self, node):
        while isinstance(node, dict) and "$ref" in node:
            names, node = node["$ref"].removeprefix("#/").split("/"), self.document
            for name in names:
                node = node[name]
        return node

    def find_maps(self, node):
        """The names of members whose own members are named by what they hold, such as headers."""
        for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
            self.find_maps(each)
        if isinstance(node, dict) and isinstance(node.get("properties"), dict):
            for name, schema in node["properties"].items():
                schema = self.resolved(schema)
                if isinstance(schema, dict) and isinstance(schema.get("additionalProperties"), dict):
                    self.maps.add(name)

    def strict(self, schema, is_whole=True):
        """A schema of replies: no member that it does not name, and none that only requests have. A part of a schema does not say
        which members the whole may have, and a condition says nothing of the kind at all."""
        if not isinstance(schema, dict):
            return schema
        made = dict(schema)
        for key, value in schema.items():
            if key == "properties":
                made[key] = {name: self.member(each) for name, each in value.items()}
            elif key in ("items", "additionalProperties"):
                made[key] = self.strict(value)
            elif key in ("allOf", "anyOf", "oneOf"):
                made[key] = [self.strict(each, is_whole=False) for each in value]
        if is_whole:
            made["unevaluatedProperties"] = False
        return made

    def member(self, schema):
        resolved = self.resolved(schema)
        return not (isinstance(resolved, dict) and resolved.get("writeOnly")) and self.strict(schema)

    def faults(self, schema, value, is_reply=True):
        """What is wrong with a value."""
        key = json.dumps([schema, is_reply], sort_keys=True)
        if key not in self.validators:
            whole = {**self.strict_document, **self.strict(schema)} if is_reply else {**self.document, **schema}
            self.validators[key] = jsonschema_rs.Draft202012Validator(
                whole, validate_formats=True, ignore_unknown_formats=True,
                formats={"date-time": lambda text: TIME.fullmatch(text) is not None})
        return [f"{'/'.join(map(str, each.instance_path))}: {each.message[:400]}" for each in self.validators[key].iter_errors(value)]

    # What there is in the document.

    def operations(self):
        """Every operation with its method and path; those of webhooks with neither."""
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield item[method], method.upper(), path
        for item in self.document["components"]["pathItems"].values():
            yield item["post"], None, None

    def replies(self, operation):
        """Its 2xx replies: the status, where in the document the reply is, and the reply."""
        for status, reply in operation["responses"].items():
            if status.startswith("2"):
                yield status, reply.get("$ref", f"{operation['operationId']} {status}"), self.resolved(reply)

    def examples(self, content):
        """By name."""
        found = {name: self.resolved(each)["value"] for name, each in content.get("examples", {}).items()}
        return {"example": content["example"], **found} if "example" in content else found

    def contents(self, node):
        """Every content of every request and reply under a node."""
        for key, each in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []:
            if key == "content":
                yield from each.items()
            else:
                yield from self.contents(each)

    def documents(self, media_type, content, value):
        """The JSON documents that a content consists of, each with its schema."""
        if media_type == "text/event-stream":
            return [({"$ref": "#/components/schemas/Event"}, json.loads(each["data"])) for each in events(value)]
        if media_type == "application/x-ndjson":
            line = {"anyOf": [{"$ref": "#/components/schemas/Task"}, {"$ref": "#/components/schemas/Problem"}]}
            return [(line, json.loads(each)) for each in value.splitlines()]
        return [(content["schema"], value)]

    def places(self, value):
        """The objects in a value whose members have names that a schema gives."""
        if isinstance(value, dict):
            yield value
        for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []:
            if key not in self.maps:
                yield from self.places(each)


def events(text):
    """The events of a stream, each with its fields. Comments are left out."""
    blocks = [[line for line in block.splitlines() if not line.startswith(":")] for block in text.split("\n\n")]
    return [dict(line.split(": ", 1) for line in block) for block in blocks if block]


def check(contract):
    faults = []
    for operation, _, _ in contract.operations():
        for status, place, reply in contract.replies(operation):
            for media_type, content in reply.get("content", {}).items():
                where = f"{operation['operationId']} {status} {media_type}"
                examples = contract.examples(content)
                if not examples:
                    faults.append(f"{where} has no example")
                for name, value in examples.items():
                    for schema, document in contract.documents(media_type, content, value):
                        faults += [f"{where} {name}: {fault}" for fault in contract.faults(schema, document)]
                        faults += [f"{where} {name}: takes a member that nobody knows" for _ in lax(contract, schema, document)]
    for root in (contract.document["paths"], contract.document["components"]):
        for media_type, content in contract.contents(root):
            for name, value in contract.examples(content).items():
                if media_type != "application/x-ndjson":
                    faults += [f"{media_type} {name}: {fault}" for fault in contract.faults(content["schema"], value, is_reply=False)]
    used = json.dumps(contract.document)
    for name in contract.document["components"]["examples"]:
        if f'"#/components/examples/{name}"' not in used:
            faults.append(f"nothing refers to the example {name}")
    faults += [f"generated clients cannot send it: {schema}" for schema in narrow_booleans(contract.document)]
    return faults


def narrow_booleans(node):
    """Booleans of one value by `enum` or `const`: openapi-generator makes texts of those, which nothing equals. `not` is safe."""
    if isinstance(node, dict):
        if node.get("type") == "boolean" and ("enum" in node or "const" in node):
            yield node
        for member in node.values():
            yield from narrow_booleans(member)
    elif isinstance(node, list):
        for member in node:
            yield from narrow_booleans(member)


def lax(contract, schema, document):
    """Objects of a valid document that may have a member that nobody knows: what is not checked here would be one."""
    for place in list(contract.places(document)):
        place["nobodyKnows"] = 1
        if not contract.faults(schema, document):
            yield place
        del place["nobodyKnows"]


if __name__ == "__main__":
    found = check(Contract(sys.argv[1]))
    print("\n".join(found) or "all are valid")
    sys.exit(bool(found))
