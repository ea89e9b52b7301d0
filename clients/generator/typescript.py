"""Writes the models and operations of the TypeScript client."""
import json, re, textwrap
from contract import EVENT_DATA, camel, glued, lines

HEADER = "// {about} clients/generate.py writes this file from openapi.yaml.\n\n"
SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def text(value):
    return "'" + value + "'" if isinstance(value, str) and "'" not in value else json.dumps(value)


def kind(schema, prefix=""):
    """The type of a schema's values. `prefix` is the name space of the models."""
    if "$ref" in schema:
        return prefix + schema["$ref"].split("/")[-1]
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return union(kind(each, prefix) for each in schema[choice])
    if "const" in schema:
        return text(schema["const"])
    if "enum" in schema:
        return union(map(text, schema["enum"]))
    types = schema.get("type", "object")
    return union(single(each, schema, prefix) for each in (types if isinstance(types, list) else [types]))


def union(kinds):
    return " | ".join(dict.fromkeys(kinds))


def single(name, schema, prefix):
    if name == "array":
        of = kind(schema["items"], prefix)
        return f"Array<{of}>" if " " in of else f"{of}[]"
    if name == "object":
        if schema.get("properties"):
            required = schema.get("required", [])
            return "{" + "; ".join(f"{key}{'' if key in required else '?'}: {kind(value, prefix)}"
                                   for key, value in schema["properties"].items()) + "}"
        values = schema.get("additionalProperties")
        return f"Record<string, {kind(values, prefix) if isinstance(values, dict) else 'unknown'}>"
    return SIMPLE[name]


def note(value, indent=0, rewrap=False):
    """A documentation comment."""
    value = (value or "").strip().replace("*/", "*\u200b/")
    if not value:
        return ""
    space = " " * indent
    if rewrap:
        value = "\n".join(textwrap.wrap(" ".join(value.split()), 112 - indent))
    if "\n" not in value and len(value) + indent + 7 <= 120:
        return f"{space}/** {value} */\n"
    return f"{space}/**\n" + "".join(f"{space} * {line}".rstrip() + "\n" for line in value.split("\n")) + f"{space} */\n"


def model(name, schema):
    made = note(schema.get("description", ""))
    if schema.get("type") != "object" or "additionalProperties" in schema and "properties" not in schema:
        return made + "export type " + lines(f"{name} = {kind(schema)};", 106, 2) + "\n"
    made += f"export interface {name} {{\n"
    for member, value in schema.get("properties", {}).items():
        optional = "" if member in schema.get("required", []) else "?"
        made += note(value.get("description", ""), 2) + f"  {member}{optional}: {kind(value)};\n"
    return made + "}\n"


def models(contract):
    parts = [HEADER.format(about="The objects of the contract, as JSON has them.").rstrip() + "\n"]
    parts += [model(name, schema) for name, schema in contract.schemas.items()]
    parts.append(note("The `data` of each type of event.") + "export interface EventData {\n" +
                 "".join(f"  '{event}': {data};\n" for event, data in EVENT_DATA.items()) + "}\n")
    parts.append(note("An event of a stream. `type` selects the type of `data`.") +
                 "export type Event<T extends EventType = EventType> = {\n"
                 "  [K in T]: {id: number | null; type: K; time: Time; sessionId: string | null; taskId: string | null; data: EventData[K]}\n"
                 "}[T];\n")
    parts.append(note("A webhook message. `type` selects the type of `data`.") +
                 "export type WebhookMessage<T extends EventType = EventType> = {\n"
                 "  [K in T]: {type: K; timestamp: Time; data: EventData[K] & WebhookSubject}\n"
                 "}[T];\n")
    return "\n".join(parts)


def options(operation, given, returns):
    """The declaration of the last parameter."""
    members = [glued(f"{camel(each.name)}?: {kind(each.schema, 'models.')}") for each in given]
    if operation.body == "content" and returns != "info":
        members.insert(0, glued("contentType?: string"))
    members.append(glued("signal?: AbortSignal"))
    if returns == "EventStream":
        members.append(glued("onDisconnect?: (error: unknown) => void"))
    text = "; ".join(members)
    return "options: {" + (f"\n    {lines(text, 112, 4)}\n  " if len(text) > 60 else text.replace("\u00a0", " ")) + "} = {}"


def head(operation, name, given, returns, prefix="", body=True):
    parameters = [f"{camel(each.name)}: {kind(each.schema, 'models.')}" for each in operation.segments]
    if body and operation.body == "content":
        parameters.append("content: Content")
    elif body and operation.body:
        parameters.append(f"body{'' if operation.needs_body else '?'}: {kind(operation.body, 'models.')}")
    parameters.append(options(operation, given, returns))
    return f"  {prefix}{name}({', '.join(parameters)}): {returns} {{\n"


def target(operation):
    path = operation.path
    for each in operation.segments:
        path = path.replace("{%s}" % each.wire, "${encodeURIComponent(%s)}" % camel(each.name))
    return f"`{path}`" if operation.segments else f"'{path}'"


def value(parameter):
    return f"options.{camel(parameter.name)}" + ("?.join()" if parameter.has_commas else "")


def request(operation, given, body=True):
    query = [glued(f"{each.wire}: {value(each)}") for each in given if each.place == "query"]
    fields = [glued(f"'{each.wire}': options.{camel(each.name)}") for each in given
              if each.place == "header" and each.wire not in ("Prefer", "Idempotency-Key")]
    members = [glued(f"method: '{operation.method}'"), glued(f"path: {target(operation)}")]
    if query:
        members.append("query: {%s}" % ", ".join(query))
    if fields:
        members.append("fields: {%s}" % ", ".join(fields))
    if body and operation.body == "content":
        members.append(glued("content, contentType: options.contentType"))
    elif body and operation.body:
        members.append("body")
    if any(each.wire == "Prefer" for each in given):
        members.append(glued("wait: options.wait"))
    if any(each.wire == "Idempotency-Key" for each in given):
        members.append(glued("key: options.idempotencyKey ?? newKey()"))
    members.append(glued("signal: options.signal"))
    return lines("{" + ", ".join(members) + "}", 110, 6)


def about(operation, given):
    text = operation.summary + ".\n" + ("\n" + operation.description + "\n" if operation.description else "")
    notes = "".join(textwrap.fill(f"- `{camel(each.name)}`: " + " ".join(each.description.split()), 112, subsequent_indent="  ",
                                  break_long_words=False, break_on_hyphens=False) + "\n" for each in given if each.description)
    return note(text + ("\nOptions:\n\n" + notes if notes else ""), 2)


def method(contract, operation):
    name, given = operation.id, operation.options
    if operation.reply == "events":
        stream = [each for each in given if each.wire not in ("limit", "Prefer")]
        query = ", ".join(glued(f"{each.wire}: {value(each)}") for each in stream)
        made = about(operation, stream) + head(operation, name, stream, "EventStream")
        call = lines(glued(target(operation)) + ", {" + query + "}, options", 100, 6)
        made += f"    return this.events({call});\n  }}\n\n"
        page = [each for each in given if each.wire != "data"]
        made += note(f"Read a page of the events of `{name}`. `nextAfter` is the `after` of the next page. With `wait`, a page without "
                      "events waits for the first one.", 2, rewrap=True)
        made += head(operation, name.replace("stream", "list"), page, f"Promise<{kind(operation.json_reply, 'models.')}>")
        return made + f"    return this.json({request(operation, page)});\n  }}\n"
    if operation.reply == "content":
        made = about(operation, given) + head(operation, name, given, "Promise<ContentReply>")
        made += f"    return this.content({request(operation, given)});\n  }}\n"
        if operation.json_reply:
            made += "\n" + note("Read the description of the resource instead of its content.", 2)
            made += head(operation, name + "Info", [], f"Promise<{kind(operation.json_reply, 'models.')}>")
            made += f"    return this.json({request(operation, [])});\n  }}\n"
        return made
    of = {None: "void", "text": "string"}.get(operation.reply) if operation.reply in (None, "text") else kind(operation.reply, "models.")
    verb = {None: "nothing", "text": "text"}.get(operation.reply) if operation.reply in (None, "text") else "json"
    made = about(operation, given) + head(operation, name, given, f"Promise<{of}>")
    made += f"    return this.{verb}({request(operation, given)});\n  }}\n"
    item = contract.item(operation.reply) if isinstance(operation.reply, dict) else None
    if item and operation.option("cursor"):
        rest = [each for each in given if each.wire not in ("cursor", "limit")]
        segments = "".join(camel(each.name) + ", " for each in operation.segments)
        made += "\n" + note(f"The items of all pages of `{name}`, which this method reads one after the other.", 2)
        made += head(operation, name.replace("list", "iterate"), rest, f"AsyncGenerator<{kind(item, 'models.')}>")
        made += f"    return pages(cursor => this.{name}({segments}{{...options, cursor, limit: 500}}));\n  }}\n"
    return made


def operations(contract):
    made = HEADER.format(about="The operations of the contract.") + (
        "import type {EventStream} from './events.js';\nimport type * as models from './models.js';\n"
        "import {newKey, pages, Transport} from './transport.js';\nimport type {Content, ContentReply} from './transport.js';\n\n"
        "/** One method for each operation of the service, by its operationId. */\n"
        "export abstract class Operations extends Transport {\n")
    return made + "\n".join(method(contract, each) for each in contract.operations) + "}\n"
