"""Writes the models and operations of the Python client."""
import json, keyword, re, textwrap
from contract import EVENT_DATA, glued, lines, pascal, snake

HEADER = '''"""{about} clients/generate.py writes this file from openapi.yaml."""
from __future__ import annotations

'''
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def union(kinds):
    kinds = list(dict.fromkeys(kinds))
    if "None" in kinds:
        rest = [kind for kind in kinds if kind != "None"]
        return f"Optional[{union(rest)}]" if rest else "None"
    return kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]"


def kind(schema, prefix=""):
    """The type of a schema's values. `prefix` is the module of the models."""
    if "$ref" in schema:
        return prefix + schema["$ref"].split("/")[-1]
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return union(kind(each, prefix) for each in schema[choice])
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "enum" in schema:
        values = [f"Literal[{', '.join(json.dumps(each) for each in schema['enum'] if each is not None)}]"]
        return union(values + (["None"] if None in schema["enum"] else []))
    types = schema.get("type", "object")
    return union(single(each, schema, prefix) for each in (types if isinstance(types, list) else [types]))


def single(name, schema, prefix):
    if name == "array":
        return f"List[{kind(schema['items'], prefix)}]"
    if name == "object":
        values = schema.get("additionalProperties")
        if not isinstance(values, dict) and "properties" in schema:
            return "Dict[str, int]" if all(each.get("type") == "integer" for each in schema["properties"].values()) else "Dict[str, Any]"
        return f"Dict[str, {kind(values, prefix) if isinstance(values, dict) else 'Any'}]"
    return SIMPLE[name]


def note(text, indent):
    """A docstring."""
    if not text:
        return ""
    text = re.sub(r"[ \t]+$", "", text.strip(), flags=re.M).replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    if "\n" not in text and len(text) + indent + 6 <= 120:
        return " " * indent + f'"""{text}"""\n'
    body = textwrap.indent(text, " " * indent)
    return body[:indent] + '"""' + body[indent:] + ("\n" + " " * indent if "\n" in text else "") + '"""\n'


def member_note(schema, indent):
    return note(schema.get("description", ""), indent)


def required(of, member, schema):
    return of if member in schema.get("required", []) else f"NotRequired[{of}]"


def model(name, schema):
    if schema.get("type") != "object" or "additionalProperties" in schema and "properties" not in schema:
        alias = f"{name} = {quoted(kind(schema))}"
        if alias.endswith('"'):
            alias = f"{name} = Union[{quoted(kind(schema))}]"  # a text alone would be no type
        if len(alias) > 118:
            alias = alias.replace("Literal[", "Literal[\n    ").replace("]", "\n]", 1)
            alias = "\n".join(lines(each, 110, 4) if each.startswith(" ") else each for each in alias.split("\n"))
        return alias + "\n" + note(schema.get("description", ""), 0)
    if any(map(keyword.iskeyword, schema.get("properties", {}))):
        members = ", ".join(f'"{member}": {json.dumps(required(kind(value), member, schema))}'
                            for member, value in schema["properties"].items())
        return f'{name} = TypedDict("{name}", {{{members}}})\n' + note(schema.get("description", ""), 0)
    text = f"class {name}(TypedDict):\n" + (note(schema.get("description", ""), 4) or "    pass\n" * (not schema.get("properties")))
    for member, value in schema.get("properties", {}).items():
        text += f"    {member}: {required(kind(value), member, schema)}\n"
        text += member_note(value, 4)
    return text


def quoted(text):
    """Python evaluates an alias at once, so its names are strings."""
    names = {"Union", "Optional", "Literal", "List", "Dict", "Any", "None", "str", "int", "float", "bool"}
    strings = []
    def keep(match):
        strings.append(match[0])
        return f"\0{len(strings) - 1}\0"
    text = re.sub(r'"[^"]*"', keep, text)
    text = re.sub(r"[A-Za-z_]\w*", lambda match: match[0] if match[0] in names else f'"{match[0]}"', text)
    return re.sub(r"\0(\d+)\0", lambda match: strings[int(match[1])], text)


def models(contract):
    parts = [HEADER.format(about="The objects of the contract, as JSON has them.") +
             "from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union\n\n"
             "if TYPE_CHECKING:\n    from typing_extensions import NotRequired\n"]
    parts += [model(name, schema) for name, schema in contract.schemas.items()]
    for data in dict.fromkeys(EVENT_DATA.values()):
        parts.append(f"class Message{data}({data}, WebhookSubject):\n    pass\n")
    for event, data in EVENT_DATA.items():
        parts.append(
            f"class {pascal(event)}Event(TypedDict):\n    id: Optional[int]\n    type: Literal[\"{event}\"]\n    time: Time\n"
            f"    sessionId: Optional[str]\n    taskId: Optional[str]\n    data: {data}\n")
    for event, data in EVENT_DATA.items():
        parts.append(f"class {pascal(event)}Message(TypedDict):\n    type: Literal[\"{event}\"]\n    timestamp: Time\n"
                     f"    data: Message{data}\n")
    for group, about in (("Event", "An event of a stream. `type` selects the type of `data`."),
                         ("Message", "A webhook message. `type` selects the type of `data`.")):
        names = "".join(f"    {pascal(each)}{group},\n" for each in EVENT_DATA)
        parts.append(f"{'WebhookMessage' if group == 'Message' else group} = Union[\n{names}]\n" + note(about, 0))
    return "\n\n".join(parts)


class Signature:
    """The lines of one method."""

    def __init__(self, operation, name, options, returns, body=True):
        self.operation, self.name, self.options, self.returns = operation, name, options, returns
        self.parameters = [f"{snake(each.name)}: {kind(each.schema, 'models.')}" for each in operation.segments]
        if body and operation.body == "content":
            self.parameters.append("content: Content")
        elif body and operation.body:
            of = kind(operation.body, "models.")
            self.parameters.append(f"body: {of}" if operation.needs_body else f"body: Optional[{of}] = None")
        named = []
        if body and operation.body == "content":
            named.append('content_type: str = "application/octet-stream"')
        named += [f"{snake(each.name)}: {optional(each)} = None" for each in options]
        if returns == "EventStream":
            named.append("on_disconnect: Optional[Callable[[Exception], None]] = None")
        self.parameters += ["*"] * bool(named) + named

    def head(self):
        text = ", ".join(map(glued, ["self"] + self.parameters))
        if len(self.name) + len(text) + len(self.returns) > 96:
            text = "\n        " + lines(text, 110, 8) + "\n    "
        return f"    def {self.name}({text}) -> {self.returns}:\n".replace("\u00a0", " ")

    def about(self, description):
        operation = self.operation
        text = operation.summary + ".\n"
        if description:
            text += "\n" + description + "\n"
        notes = ""
        for each in self.options:
            if each.description:
                notes += textwrap.fill(f"- `{snake(each.name)}`: " + " ".join(each.description.split()), 108, subsequent_indent="  ",
                                       break_long_words=False, break_on_hyphens=False) + "\n"
        if notes:
            text += "\nOptions:\n\n" + notes
        return note(text.strip(), 8)


def optional(parameter):
    of = kind(parameter.schema, "models.")
    return of if of.startswith("Optional[") else f"Optional[{of}]"


def target(operation):
    path = operation.path
    for each in operation.segments:
        path = path.replace("{%s}" % each.wire, "{_segment(%s)}" % snake(each.name))
    return ("f" if operation.segments else "") + f'"{path}"'


def arguments(operation, options, body=True):
    query = [glued(f'"{each.wire}": {value(each)}') for each in options if each.place == "query"]
    fields = [glued(f'"{each.wire}": {snake(each.name)}') for each in options
              if each.place == "header" and each.wire not in ("Prefer", "Idempotency-Key")]
    given = [f'"{operation.method}"', glued(target(operation))]
    if query:
        given.append("query={%s}" % ", ".join(query))
    if fields:
        given.append("fields={%s}" % ", ".join(fields))
    if body and operation.body == "content":
        given.append("content=content, content_type=content_type")
    elif body and operation.body:
        given.append("body=body")
    if any(each.wire == "Prefer" for each in options):
        given.append("wait=wait")
    if any(each.wire == "Idempotency-Key" for each in options):
        given.append(glued("key=idempotency_key or new_key()"))
    return ", ".join(given)


def value(parameter):
    name = snake(parameter.name)
    return f'",".join({name}) if {name} else None' if parameter.has_commas else name


def call(text):
    """A statement in lines of 110 characters."""
    if len(text) <= 108:
        return f"        {text}\n".replace("\u00a0", " ")
    head, rest = text.split("(", 1)
    return f"        {head}(\n            {lines(rest, 108, 12)}\n"


def method(contract, operation):
    name, options = snake(operation.id), operation.options
    if operation.reply == "events":
        stream = [each for each in options if each.wire not in ("limit", "Prefer")]
        signature = Signature(operation, name, stream, "EventStream")
        query = ", ".join(glued(f'"{each.wire}": {value(each)}') for each in stream)
        text = signature.head() + signature.about(operation.description)
        text += call(f"return self._events({target(operation)}, {{{query}}}, on_disconnect)")
        page = [each for each in options if each.wire != "data"]
        signature = Signature(operation, name.replace("stream_", "list_"), page, kind(operation.json_reply, "models."))
        text += "\n" + signature.head() + note("Read a page of the events of `%s`.\n\n`nextAfter` is the `after` of the next page. "
                                               "With `wait`, a page without events waits for the first one." % name, 8)
        return text + call(f"return self._json({arguments(operation, page)})")
    if operation.reply == "content":
        signature = Signature(operation, name, options, "ContentReply")
        text = signature.head() + signature.about(operation.description)
        text += call(f"return self._content({arguments(operation, options)})")
        if operation.json_reply:
            signature = Signature(operation, name + "_info", [], kind(operation.json_reply, "models."))
            text += "\n" + signature.head() + note("Read the description of the resource instead of its content.", 8)
            text += call(f"return self._json({arguments(operation, [])})")
        return text
    returns = {None: "None", "text": "str"}.get(operation.reply) if operation.reply in (None, "text") else kind(operation.reply, "models.")
    signature = Signature(operation, name, options, returns)
    text = signature.head() + signature.about(operation.description)
    verb = {None: "self._nothing", "text": "return self._text"}.get(operation.reply) if operation.reply in (None, "text") else "return self._json"
    text += call(f"{verb}({arguments(operation, options)})")
    item = contract.item(operation.reply) if isinstance(operation.reply, dict) else None
    if item and operation.option("cursor"):
        rest = [each for each in options if each.wire not in ("cursor", "limit")]
        of = kind(item, "models.")
        signature = Signature(operation, name.replace("list_", "iterate_"), rest, f"Iterator[{of}]")
        text += "\n" + signature.head() + note(f"Return the items of all pages of `{name}`, which this method reads one after the other.", 8)
        given = [snake(each.name) for each in operation.segments] + [f"{snake(each.name)}={snake(each.name)}" for each in rest]
        text += f"        return pages(lambda cursor: self.{name}(\n            {lines(', '.join(given + ['cursor=cursor', 'limit=500']), 106, 12)}))\n"
    return text


def operations(contract):
    text = HEADER.format(about="The operations of the contract.") + (
        "from typing import Any, Callable, Dict, Iterator, List, Literal, Optional\n\n"
        "from . import models\nfrom .events import EventStream\n"
        "from .transport import Content, ContentReply, Transport, new_key, pages, segment as _segment\n\n\n"
        "class Operations(Transport):\n"
        '    """One method for each operation of the service, by its operationId in Python\'s spelling."""\n')
    for operation in contract.operations:
        text += "\n" + method(contract, operation)
    return text
