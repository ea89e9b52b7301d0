"""What Schemathesis has to know of Ferry beyond openapi.yaml. It is loaded by SCHEMATHESIS_HOOKS; see scripts/schemathesis.sh."""
import json, pathlib, re
import jsonschema_rs, schemathesis, yaml
from schemathesis.core.media_types import YAML_MEDIA_TYPES
from schemathesis.specs.openapi.checks import positive_data_acceptance

# Why a request may be refused of which a schema says that it is well formed: what the bytes of a text mean, or what the
# service has stored. Details of problems, each as a whole; all of a reply's must be among them.
BEYOND_A_SCHEMA = [re.compile(each) for each in (
    # Texts of this service's own making.
    "is not a cursor that this list gave out",
    "is not this service's, or was changed",
    "no configuration has this name",
    "stands for a value that is not known",
    "must have 1 to 255 bytes",  # Idempotency-Key: quotes do not count, and octets are not characters.
    "must have at most \\d+ bytes.*",  # The same.
    "no file has this id",
    "must not be a stream without a delegate, .*",
    "is not for tasks of background sessions: their session's delegate hears of them",
    # What members say together.
    "must not be above tlsMaximumSupportedProtocolVersion",
    "must be false: a download is delivered when it is whole",
    "is required: NSURLAuthenticationMethod\\w+ takes a .*",
    "a name that begins with __.*",
    "must not be empty where the value is empty, too",
    "must not have .*",
    "must not begin or end with a blank",
    "must begin with '/'",
    "is for background sessions",
    "background sessions take no completion handlers: .*",
    "must (not be a stream|be a stored file .*) in a background session",
    "must be 0: an ephemeral session writes nothing to disk",
    "must have 4096 octets at the most, together with the name",
    # URLs, hosts, networks.
    "not a URL: .*",
    ".* \\(NSURLErrorDomain -\\d+ \\w+\\)",
    "must be an http or https URL with a host",
    "the scheme '.*' is not supported; .*",
    "a user has no control characters",
    "a password has no zero bytes and no line ends",
    "must be the URL of a proxy, like .*",
    "must be `\\*`, a host or an address, optionally followed by `:port`, or a network in CIDR notation",
    "must be a host, \\*\\. and a domain, or an address without brackets; international names as xn--",
    "must be a host's name in ASCII or an address, perhaps after a dot",
    "not certificates in PEM: .*",
    "(certificate|key) is not one in PEM.*",
    "certificate: holds more than certificates.*",
    "key is not the certificate's.*",
    "must be whsec_ and the base64 of 24 to 64 bytes",
    "is not base64 \\(RFC 4648 §4\\)",
    "is not a method that can be sent",
    "is not a header field name \\(RFC 9110\\)",
    "is set by the service",
    "must be a string without control characters",
    "must have 1 to 255 bytes of UTF-8",
    "is a public suffix, under which others register their names",
)]


def is_beyond_a_schema(problem):
    details = [each["detail"] for each in problem.get("errors", [])] or [problem.get("detail", "")]
    return all(any(rule.fullmatch(detail) for rule in BEYOND_A_SCHEMA) for detail in details)


@schemathesis.check
def valid_data_acceptance(context, response, case):
    """positive_data_acceptance, but for what no schema can say."""
    if case.operation.definition.raw["operationId"] == "createFile" and not isinstance(case.body, dict):
        return None  # What stands for any type is sent as JSON, which is a type of its own there.
    if response.status_code == 400 and is_beyond_a_schema(response.json()):
        return None
    return positive_data_acceptance(context, response, case)


@schemathesis.hook
def filter_case(context, case):
    """What stands for any type would be sent as JSON, which is a type of its own; the bytes go as octets anyway."""
    if case.media_type == "application/x-ndjson" and not isinstance(case.body, (str, bytes)):
        return False  # Lines are a text, whatever is in them.
    return case.media_type != "*/*"


# Event streams do not end. The rest of this time, in seconds, is waited for more.
@schemathesis.hook
def before_call(context, case, kwargs):
    if case.operation.definition.raw.get("tags") == ["Events"]:
        kwargs["timeout"] = 0.2


document = yaml.safe_load((pathlib.Path(__file__).parent / "../../openapi.yaml").read_text())
event = jsonschema_rs.Draft202012Validator({**document, "$ref": "#/components/schemas/Event"})


@schemathesis.deserializer("text/event-stream")
def events(context, response):
    """The text as it is; what follows `data:` is an Event."""
    for line in response.content.decode().split("\n"):
        if line.startswith("data:"):
            event.validate(json.loads(line.removeprefix("data:")))
    return response.content.decode()


# A file may have any type, and any bytes: what says that it is YAML need not be.
@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def text(context, response):
    return response.content.decode(errors="replace")


@schemathesis.hook
def before_load_schema(context, schema):
    """YAML is read before it is compared with the schema, which says that it is bytes."""
    del schema["paths"]["/openapi.yaml"]["get"]["responses"]["200"]["content"]["application/yaml"]["schema"]


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value
