"""Facts about Ferry that openapi.yaml cannot express. Schemathesis loads this file by SCHEMATHESIS_HOOKS; see
scripts/schemathesis.sh."""
import json, pathlib, re
import jsonschema_rs, schemathesis, yaml
from schemathesis.core.media_types import YAML_MEDIA_TYPES
from schemathesis.specs.openapi.checks import positive_data_acceptance

# The reasons for refusing a request that matches its schema: the meaning of a text, or the state of the service. Each pattern matches
# the whole detail of a problem. A reply is accepted if all of its details match.
BEYOND_A_SCHEMA = [re.compile(each, re.DOTALL) for each in (
    # Texts that only this service makes.
    "must be nextCursor of the page before, not .*",
    "was not created by this service, or was changed; .*",
    "no configuration has the name .*",
    "is redacted, and Ferry has no value for it; send the value",
    "must have 1 to 255 bytes, not \\d+",  # Idempotency-Key: quotes do not count, and octets are not characters.
    "must have at most \\d+ bytes.*",  # The same.
    "no file has this id; .*",
    "must not be a stream unless the session or the task has a delegate; .*",
    "must be left out in a background session.*",
    # Combinations of members.
    "must not be above tlsMaximumSupportedProtocolVersion .*",
    "must be false for a download, .*",
    "is required: NSURLAuthenticationMethod\\w+ takes a .*",
    "a name that begins with __.*",
    "must not be empty if the value .*",
    "must not contain .*",
    "must not begin or end with a blank",
    "must begin with '/', not be .*",
    "must be left out unless the session is a background session",
    "wait must be left out in a background session; .*",
    "must (not be a stream|be a stored file .*) in a background session.*",
    "must be 0; an ephemeral session writes nothing to disk",
    "must have 4096 octets at the most, together with the name",
    # URLs, hosts, networks.
    "is not a valid URL .*",
    ".* \\(NSURLErrorDomain -\\d+ \\w+\\)",
    "must be an http or https URL with a host",
    "the scheme '.*' is not supported; .*",
    "must be the URL of a proxy, like .*",
    "must be `\\*`, a host or an address, optionally followed by `:port`, or a network in CIDR notation, not .*",
    "must be a host, \\*\\. and a domain, or an address without brackets; .*",
    "must be an ASCII host name or an address, optionally preceded by a dot, not .*",
    "must be certificates in PEM: .*",
    "(certificate|key) must be in PEM.*",
    "(certificate )?contains more than certificates.*",
    "key does not belong to the certificate.*",
    "must be whsec_ and the base64 of 24 to 64 bytes",
    "is not base64 \\(RFC 4648 §4\\)",
    "'.*' is not supported; use an HTTP method .*",
    "is not a header field name .*",
    "must be a header field name .*",
    "is set by Ferry; leave it out",
    "must have 1 to 255 bytes of UTF-8, not \\d+",
    "is a public suffix, under which others register names; .*",
)]


def is_beyond_a_schema(problem):
    details = [each["detail"] for each in problem.get("errors", [])] or [problem.get("detail", "")]
    return all(any(rule.fullmatch(detail) for rule in BEYOND_A_SCHEMA) for detail in details)


@schemathesis.check
def valid_data_acceptance(context, response, case):
    """Performs the check positive_data_acceptance, except for the reasons above."""
    if case.operation.definition.raw["operationId"] == "createFile" and not isinstance(case.body, dict):
        return None  # The placeholder for any type is sent as JSON, which is a type of its own here.
    if response.status_code == 400 and is_beyond_a_schema(response.json()):
        return None
    return positive_data_acceptance(context, response, case)


@schemathesis.hook
def filter_case(context, case):
    """Skips the placeholder for any type, which would be sent as JSON. The same bytes are also sent as octets."""
    if case.media_type == "application/x-ndjson" and not isinstance(case.body, (str, bytes)):
        return False  # NDJSON is a text, whatever its lines contain.
    return case.media_type != "*/*"


# Event streams do not end. Schemathesis waits for further events for the rest of this time, in seconds.
@schemathesis.hook
def before_call(context, case, kwargs):
    if case.operation.definition.raw.get("tags") == ["Events"]:
        kwargs["timeout"] = 0.2


document = yaml.safe_load((pathlib.Path(__file__).parent / "../../openapi.yaml").read_text())
event = jsonschema_rs.Draft202012Validator({**document, "$ref": "#/components/schemas/Event"})


@schemathesis.deserializer("text/event-stream")
def events(context, response):
    """Returns the text unchanged. The data of each event must match the schema Event."""
    for line in response.content.decode().split("\n"):
        if line.startswith("data:"):
            event.validate(json.loads(line.removeprefix("data:")))
    return response.content.decode()


# A file may have any type and any bytes, so a file of type YAML need not be YAML.
@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def text(context, response):
    return response.content.decode(errors="replace")


@schemathesis.hook
def before_load_schema(context, schema):
    """Removes the schema of the contract's own reply: Schemathesis parses the YAML, and the schema says bytes."""
    del schema["paths"]["/openapi.yaml"]["get"]["responses"]["200"]["content"]["application/yaml"]["schema"]


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value
