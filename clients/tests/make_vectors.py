#!/usr/bin/env python3
"""Makes webhooks.json, the messages that all clients must accept or refuse. The signatures come from standardwebhooks, the
reference library, and from cryptography. Both packages are needed.
usage: make_vectors.py >webhooks.json"""
import base64, datetime, json
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks.webhooks import Webhook

NOW = 1795871774
IDENTIFIER = "whd_01a2224c-985b-754f-a4c2-07244fef98e1"
BODY = '{"type":"task.didComplete","timestamp":"2026-11-28T13:16:14.811Z","data":{"sessionId":"ses_shared","taskId":null}}'
SECRET, OTHER = ("whsec_" + base64.b64encode(bytes([seed] * 32)).decode() for seed in (1, 2))
PRIVATE, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([seed] * 32)) for seed in (3, 4))
PUBLIC = PRIVATE.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
PUBLIC_KEY = "whpk_" + base64.b64encode(PUBLIC).decode()


def v1(secret=SECRET, body=BODY, identifier=IDENTIFIER, time=NOW):
    return Webhook(secret).sign(identifier, datetime.datetime.fromtimestamp(time, datetime.timezone.utc), body)


def v1a(private=PRIVATE, body=BODY):
    return "v1a," + base64.b64encode(private.sign(f"{IDENTIFIER}.{NOW}.{body}".encode())).decode()


def vector(name, valid, signature, keys=(SECRET,), body=BODY, time=NOW, now=NOW, **fields):
    headers = {"webhook-id": IDENTIFIER, "webhook-timestamp": str(time), "webhook-signature": signature}
    headers.update({key.replace("_", "-"): value for key, value in fields.items()})
    headers = {key: value for key, value in headers.items() if value is not None}
    return {"name": name, "valid": valid, "keys": list(keys), "now": now, "headers": headers, "body": body}


unicode = BODY.replace("null", '"Grüße, 世界 🚢"')
text = "not JSON"
flipped = v1()[:-5] + ("A" if v1()[-5] != "A" else "B") + v1()[-4:]
vectors = [
    vector("v1", True, v1()),
    vector("v1 with characters outside ASCII", True, v1(body=unicode), body=unicode),
    vector("v1 of the second signature", True, v1(OTHER) + " " + v1()),
    vector("v1 of the first signature", True, v1() + " " + v1(OTHER)),
    vector("v1 of the second key", True, v1(), keys=(OTHER, SECRET)),
    vector("v1 after a signature of an unknown version", True, "v2,AAAA " + v1()),
    vector("v1 of 300 s ago", True, v1(), now=NOW + 300),
    vector("v1 of 301 s ago", False, v1(), now=NOW + 301),
    vector("v1 in 300 s", True, v1(), now=NOW - 300),
    vector("v1 in 301 s", False, v1(), now=NOW - 301),
    vector("v1 of another secret", False, v1(OTHER)),
    vector("v1 of another body", False, v1(body=BODY + " ")),
    vector("v1 of another id", False, v1(identifier="whd_2")),
    vector("v1 of another time", False, v1(time=NOW - 1)),
    vector("v1 with a changed character", False, flipped),
    vector("v1 that is cut off", False, v1()[:-1]),
    vector("v1 with trailing text", False, v1() + "="),
    vector("v1 without its version", False, v1()[3:]),
    vector("v1 labelled as v2", False, "v2" + v1()[2:]),
    vector("v1 labelled as v1a", False, "v1a" + v1()[2:]),
    vector("a signature outside ASCII", False, "v1,é" + v1()[4:]),
    vector("an empty signature", False, ""),
    vector("no signature", False, None),
    vector("no id", False, v1(), webhook_id=None),
    vector("no time", False, v1(), webhook_timestamp=None),
    vector("a time that is not a number", False, v1(), webhook_timestamp="now"),
    vector("a negative time", False, v1(), webhook_timestamp="-5"),
    vector("a time with a fraction", False, v1(), webhook_timestamp=f"{NOW}.0"),
    vector("a time of 400 digits", False, v1(), webhook_timestamp="9" * 400),
    vector("a time in other digits", False, v1(), webhook_timestamp="١٧"),
    vector("a body that is not JSON", False, v1(body=text), body=text),
    vector("v1a", True, v1a(), keys=(PUBLIC_KEY,)),
    vector("v1a with characters outside ASCII", True, v1a(body=unicode), keys=(PUBLIC_KEY,), body=unicode),
    vector("v1a after one of another key", True, v1a(STRANGER) + " " + v1a(), keys=(PUBLIC_KEY,)),
    vector("v1a with a secret as the second key", True, v1a(), keys=(SECRET, PUBLIC_KEY)),
    vector("v1a of another key", False, v1a(STRANGER), keys=(PUBLIC_KEY,)),
    vector("v1a of another body", False, v1a(body=BODY + " "), keys=(PUBLIC_KEY,)),
    vector("v1a for a secret", False, v1a()),
    vector("v1a that is not base64", False, "v1a,!!!!", keys=(PUBLIC_KEY,)),
    vector("v1a that is cut off", False, v1a()[:-4], keys=(PUBLIC_KEY,)),
    vector("v1a labelled as v1", False, "v1" + v1a()[3:], keys=(PUBLIC_KEY,)),
    vector("v1a labelled as v1b", False, "v1b" + v1a()[3:], keys=(PUBLIC_KEY,)),
    vector("v1 with the public key as the secret", False, v1("whsec_" + PUBLIC_KEY[5:]), keys=(PUBLIC_KEY,)),
]
print(json.dumps(vectors, indent=1))
