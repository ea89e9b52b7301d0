"""Checks the examples of openapi.yaml against its schemas: each 2xx content has an example, and no example has an unknown member.

usage: openapi_examples.py OPENAPI"""
import copy, json, pathlib, re, sys
import jsonschema_rs
from ruamel.yaml import YAML

METHODS = ("get", "post", "put", "patch", "delete")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Contract:
    """The OpenAPI document, with the queries of this program."""

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
        """Collects the names of members that are maps, such as headers."""
        for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
            self.find_maps(each)
        if isinstance(node, dict) and isinstance(node.get("properties"), dict):
            for name, schema in node["properties"].items():
                schema = self.resolved(schema)
                if isinstance(schema, dict) and isinstance(schema.get("additionalProperties"), dict):
                    self.maps.add(name)

    def strict(self, schema, is_whole=True):
        """Returns the schema of a reply without unknown members and without members of requests only. Parts of a schema and conditions
        are left open, because they do not list all members."""
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
        """Returns the faults of a value."""
        key = json.dumps([schema, is_reply], sort_keys=True)
        if key not in self.validators:
            whole = {**self.strict_document, **self.strict(schema)} if is_reply else {**self.document, **schema}
            self.validators[key] = jsonschema_rs.Draft202012Validator(
                whole, validate_formats=True, ignore_unknown_formats=True,
                formats={"date-time": lambda text: TIME.fullmatch(text) is not None})
        return [f"{'/'.join(map(str, each.instance_path))}: {each.message[:400]}" for each in self.validators[key].iter_errors(value)]

    # Contents of the document

    def operations(self):
        """Yields every operation with its method and path. The operations of webhooks have neither."""
        for path, item in self.document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield item[method], method.upper(), path
        for item in self.document["components"]["pathItems"].values():
            yield item["post"], None, None

    def replies(self, operation):
        """Yields the 2xx replies of an operation: the status, the reply's place in the document, and the reply."""
        for status, reply in operation["responses"].items():
            if status.startswith("2"):
                yield status, reply.get("$ref", f"{operation['operationId']} {status}"), self.resolved(reply)

    def examples(self, content):
        """Returns the examples of a content by name."""
        found = {name: self.resolved(each)["value"] for name, each in content.get("examples", {}).items()}
        return {"example": content["example"], **found} if "example" in content else found

    def contents(self, node):
        """Yields every content of the requests and replies under a node."""
        for key, each in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []:
            if key == "content":
                yield from each.items()
            else:
                yield from self.contents(each)

    def documents(self, media_type, content, value):
        """Returns the JSON documents of a content, each with its schema."""
        if media_type == "text/event-stream":
            return [({"$ref": "#/components/schemas/Event"}, json.loads(each["data"])) for each in events(value)]
        if media_type == "application/x-ndjson":
            line = {"anyOf": [{"$ref": "#/components/schemas/Task"}, {"$ref": "#/components/schemas/Problem"}]}
            return [(line, json.loads(each)) for each in value.splitlines()]
        return [(content["schema"], value)]

    def places(self, value):
        """Yields the objects in a value whose members are named by a schema."""
        if isinstance(value, dict):
            yield value
        for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []:
            if key not in self.maps:
                yield from self.places(each)


def events(text):
    """Returns the events of a stream as dictionaries of their fields. Comments are skipped."""
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
                        faults += [f"{where} {name}: accepts an unknown member" for _ in lax(contract, schema, document)]
    for root in (contract.document["paths"], contract.document["components"]):
        for media_type, content in contract.contents(root):
            for name, value in contract.examples(content).items():
                if media_type != "application/x-ndjson":
                    faults += [f"{media_type} {name}: {fault}" for fault in contract.faults(content["schema"], value, is_reply=False)]
    used = json.dumps(contract.document)
    for name in contract.document["components"]["examples"]:
        if f'"#/components/examples/{name}"' not in used:
            faults.append(f"no reply refers to the example {name}")
    faults += [f"generated clients cannot send it: {schema}" for schema in narrow_booleans(contract.document)]
    return faults


def narrow_booleans(node):
    """Yields Booleans that `enum` or `const` restricts to one value. openapi-generator makes texts of them, which equal nothing. `not`
    is safe."""
    if isinstance(node, dict):
        if node.get("type") == "boolean" and ("enum" in node or "const" in node):
            yield node
        for member in node.values():
            yield from narrow_booleans(member)
    elif isinstance(node, list):
        for member in node:
            yield from narrow_booleans(member)


def lax(contract, schema, document):
    """Yields the objects of a valid document that accept an unknown member, and whose members are therefore unchecked."""
    for place in list(contract.places(document)):
        place["nobodyKnows"] = 1
        if not contract.faults(schema, document):
            yield place
        del place["nobodyKnows"]


if __name__ == "__main__":
    found = check(Contract(sys.argv[1]))
    print("\n".join(found) or "all examples are valid")
    sys.exit(bool(found))
