"""Verification of webhook messages (Standard Webhooks 1.0.0), and replies that answer decisions."""
from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Callable, Dict, Iterable, NamedTuple, Optional, Protocol, Tuple

from .errors import WebhookVerificationError

if TYPE_CHECKING:
    from .models import DecisionAnswer, WebhookMessage

TOLERANCE = 300.0
_clock = time.time


class HeaderFields(Protocol):
    """Header fields, such as a dictionary, or the `headers` of `http.server`."""

    def items(self) -> Iterable[Tuple[str, str]]: ...


class WebhookReply(NamedTuple):
    """The reply to send to the service."""
    status: int
    headers: Dict[str, str]
    body: bytes


class Webhook:
    """Verifies messages with the secrets (`whsec_…`) or public keys (`whpk_…`) of a webhook.

    Pass the new and the previous one after a rotation. A public key needs the package `cryptography`, which
    `pip install 'ferry-client[ed25519]'` installs.
    """

    def __init__(self, *keys: str, tolerance: float = TOLERANCE) -> None:
        """tolerance: The largest difference between the time of a message and this machine's clock, in seconds."""
        if not keys:
            raise ValueError("keys: a webhook needs a secret (whsec_…) or a public key (whpk_…)")
        self._checks = [_check(key) for key in keys]
        self._tolerance = tolerance

    def verify(self, headers: HeaderFields, body: bytes) -> WebhookMessage:
        """Return the message, or raise `WebhookVerificationError`.

        headers: The header fields. The case of their names does not matter.
        body: The body as it was received. A parsed and written body has another signature.
        """
        fields = {name.lower(): value for name, value in headers.items()}
        try:
            identifier, timestamp, given = (fields["webhook-" + name] for name in ("id", "timestamp", "signature"))
        except KeyError as error:
            raise WebhookVerificationError(f"the header field {error.args[0]} is missing") from None
        if not (timestamp.isascii() and timestamp.isdecimal()) or len(timestamp) > 15:
            raise WebhookVerificationError("webhook-timestamp is not a number of seconds")
        if abs(_clock() - int(timestamp)) > self._tolerance:
            raise WebhookVerificationError("webhook-timestamp is too old, or in the future")
        signed = f"{identifier}.{timestamp}.".encode() + bytes(body)
        # Every signature is compared with every key, so that the duration does not depend on the position of a match.
        if not any([check(each, signed) for each in given.split(" ") for check in self._checks]):
            raise WebhookVerificationError("no signature in webhook-signature is valid for this webhook")
        try:
            message: WebhookMessage = json.loads(body)
        except ValueError as error:
            raise WebhookVerificationError("the body is not JSON") from error
        return message

    def respond(self, headers: HeaderFields, body: bytes,
                handler: Callable[[WebhookMessage], Optional[DecisionAnswer]]) -> WebhookReply:
        """Verify a message and return the reply to it.

        The handler's result is the answer to the decision of a message with `data["decisionId"]`. With None, the service
        decides later. An invalid message gets 401 and does not reach the handler. If the handler raises an error, the
        caller must reply 500, so that the service sends the message again.
        """
        try:
            message = self.verify(headers, body)
        except WebhookVerificationError as error:
            return WebhookReply(401, {"Content-Type": "text/plain"}, f"{error}\n".encode())
        answer = handler(message)
        if answer is None:
            return WebhookReply(204, {}, b"")
        return WebhookReply(200, {"Content-Type": "application/json"}, json.dumps(answer).encode())


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _check(key: str) -> Callable[[str, bytes], bool]:
    """A function that compares one signature with this key."""
    if key.startswith("whsec_"):
        secret = _decode(key[len("whsec_"):])
        if not secret:
            raise ValueError("keys: the secret is not whsec_ and base64")
        return lambda given, signed: hmac.compare_digest(
            given.encode(), b"v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()))
    if key.startswith("whpk_"):
        return _public_check(_decode(key[len("whpk_"):]))
    raise ValueError("keys: a key begins with whsec_ or whpk_")


def _public_check(key: bytes) -> Callable[[str, bytes], bool]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise ImportError("signatures of the scheme v1a need: pip install 'ferry-client[ed25519]'") from None
    if len(key) != 32:
        raise ValueError("keys: the public key is not whpk_ and the base64 of 32 bytes")
    public = Ed25519PublicKey.from_public_bytes(key)

    def check(given: str, signed: bytes) -> bool:
        if not given.startswith("v1a,"):
            return False
        try:
            public.verify(_decode(given[len("v1a,"):]), signed)
            return True
        except InvalidSignature:
            return False

    return check
