"""A client of Ferry, which fetches from HTTP origins with URLSession's sessions and tasks, over REST."""
from . import models
from .client import Client
from .errors import (DigestError, FerryError, ProblemError, TaskFailedError, UnreachableError, WaitTimeoutError,
                     WebhookVerificationError, raise_for_error)
from .events import EventParser, EventStream, ServerSentEvent
from .transport import Content, ContentReply
from .webhooks import Webhook, WebhookReply

__version__ = "0.1.0"
__all__ = ["Client", "Content", "ContentReply", "DigestError", "EventParser", "EventStream", "FerryError", "ProblemError",
           "ServerSentEvent", "TaskFailedError", "UnreachableError", "WaitTimeoutError", "Webhook", "WebhookReply",
           "WebhookVerificationError", "models", "raise_for_error"]
