"""The objects of the contract, as JSON has them. clients/generate.py writes this file from openapi.yaml."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired


SessionID = str


TaskID = str


DecisionID = str


EndpointID = str


DeliveryID = str


FileID = str


Time = str


Description = Optional[str]
"""The description is for the client's own use. It has at most 64 KiB of UTF-8."""


Headers = Dict[str, str]
"""The object has header fields by name. Commas join the values of fields with the same name."""


SessionState = Literal["active", "invalidating", "invalid"]
"""An `active` session accepts tasks. An `invalidating` session accepts no tasks and waits for the end of its
tasks. An `invalid` session has ended.
"""


class SessionCreation(TypedDict):
    type: NotRequired[SessionType]
    identifier: NotRequired[Optional[BackgroundIdentifier]]
    """`identifier` is required for a background session. Other sessions have none."""
    description: NotRequired[Description]
    configuration: NotRequired[SessionConfigurationCreation]
    delegate: NotRequired[Optional[Delegate]]
    """`delegate` determines which calls are decisions, and where Ferry posts messages. With null, the session has
    no decisions and no webhook; event streams have all events anyway. A background session requires a delegate.
    """


class SessionConfigurationCreation(TypedDict):
    """The object is the configuration of a session. If `named` is present, properties that are absent here come from
    that named configuration.
    """
    requestCachePolicy: NotRequired[CachePolicy]
    httpShouldSetCookies: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.httpShouldSetCookies`. If true, requests carry the
    session's cookies. The session stores the cookies of responses in both cases.
    """
    httpCookieAcceptPolicy: NotRequired[Literal["always", "never", "onlyFromMainDocumentDomain"]]
    """`URLSessionConfiguration.httpCookieAcceptPolicy` determines which cookies the session stores.
    `onlyFromMainDocumentDomain` refuses cookies whose registrable domain differs from that of the request's
    `mainDocumentURL`. A request without one is its own main document.
    """
    urlCache: NotRequired[Optional[URLCacheConfiguration]]
    """The property corresponds to `URLSessionConfiguration.urlCache`. With null, the session has no cache. A
    background session accepts only null. An ephemeral session accepts only a `diskCapacity` of 0.
    """
    waitsForConnectivity: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.waitsForConnectivity`. If true, a task without a usable
    network waits for one; otherwise, it fails. A background session always waits.
    """
    allowsCellularAccess: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.allowsCellularAccess`. If false, tasks do not use
    network interfaces that the operator classifies as cellular (`--interface-class`). If no other interface
    reaches the origin, a task waits or fails with `notConnectedToInternet`. The error then has a
    `networkUnavailableReason`.
    """
    allowsExpensiveNetworkAccess: NotRequired[bool]
    """`URLSessionConfiguration.allowsExpensiveNetworkAccess` has the same effect for interfaces that are
    classified as expensive.
    """
    allowsConstrainedNetworkAccess: NotRequired[bool]
    """`URLSessionConfiguration.allowsConstrainedNetworkAccess` has the same effect for interfaces that are
    classified as constrained.
    """
    networkServiceType: NotRequired[NetworkServiceType]
    """`URLSessionConfiguration.networkServiceType` applies to tasks whose request has no `networkServiceType` of
    its own.
    """
    requiresDNSSECValidation: NotRequired[bool]
    """`URLSessionConfiguration.requiresDNSSECValidation` must be false. Ferry does not validate DNSSEC and refuses
    true with 400.
    """
    isDiscretionary: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.isDiscretionary`. If true, tasks of a background
    session run only while no background task without the property runs. They also wait for the operator's
    windows (`--discretionary-window`) and for a low load of the machine (`--discretionary-maximum-load`). In
    other sessions, the property has no effect.
    """
    sessionSendsLaunchEvents: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.sessionSendsLaunchEvents`. If true, Ferry posts
    `session.handleEvents` to the delegate's webhook. In other than background sessions, the property has no
    effect.
    """
    retry: NotRequired[Optional[RetryConfiguration]]
    timeoutIntervalForRequest: NotRequired[Seconds]
    """`URLSessionConfiguration.timeoutIntervalForRequest` is in seconds. A task ends with `timedOut` if it
    transfers no byte for that long. A request's `timeoutInterval` overrides the value.
    """
    timeoutIntervalForResource: NotRequired[Seconds]
    """`URLSessionConfiguration.timeoutIntervalForResource` is in seconds. A task ends with `timedOut` if it takes
    longer than that after its start.
    """
    httpMaximumConnectionsPerHost: NotRequired[int]
    """`URLSessionConfiguration.httpMaximumConnectionsPerHost` is the maximum number of the session's concurrent
    requests and connections to one origin. Further tasks wait.
    """
    httpShouldUsePipelining: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.httpShouldUsePipelining`. If true, a request waits for
    a connection that can multiplex (HTTP/2) instead of opening another one.
    """
    httpAdditionalHeaders: NotRequired[RequestHeaders]
    """`URLSessionConfiguration.httpAdditionalHeaders` has the header fields that Ferry adds to requests. The
    fields of a request override them.
    """
    secretHeaderFields: NotRequired[List[str]]
    """The values of request header fields with these names are secret, in addition to the secret fields of
    `RequestHeaders`. Ferry shows `(redacted)` instead. At most 64 names of at most 256 bytes fit; more get 422.
    """
    tlsMinimumSupportedProtocolVersion: NotRequired[TLSVersion]
    """`URLSessionConfiguration.tlsMinimumSupportedProtocolVersion` is the oldest version of TLS that the session
    accepts. The default is TLSv1.2, or the maximum version if that is older.
    """
    tlsMaximumSupportedProtocolVersion: NotRequired[TLSVersion]
    """`URLSessionConfiguration.tlsMaximumSupportedProtocolVersion` is the newest version of TLS that the session
    uses.
    """
    tlsAdditionalRootCertificates: NotRequired[Optional[str]]
    """The session trusts these certificate authorities in addition to those of the service. The text is PEM. It
    has at most 1000 certificates and 4 MiB, and at most 16 certificates with the same subject; more get 422.
    """
    tlsPinnedPublicKeys: NotRequired[PinnedPublicKeys]
    proxies: NotRequired[Optional[ProxyConfiguration]]
    urlCredentialStorage: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.urlCredentialStorage`. If true, the session stores
    credentials.
    """
    maximumBytesPerSecond: NotRequired[BytesPerSecond]
    """The tasks of the session together transfer at most this number of bytes in a second, in both directions.
    Null means no limit.
    """
    allowsInsecureRedirects: NotRequired[bool]
    """If true, Ferry follows redirects from https to http. If false, such a redirect ends the task with -1022, as
    App Transport Security does. If `redirects` is `ask`, the delegate decides instead.
    """
    bodyRetention: NotRequired[float]
    """A client can read the body of a task for this number of seconds after the task's end. Then the body expires."""
    named: NotRequired[ConfigurationName]


SessionType = Literal["default", "ephemeral", "background"]
"""A `default` session stores cookies, permanent credentials and its cache on disk
(`URLSessionConfiguration.default`).

An `ephemeral` session stores everything in memory, and is lost when the service stops
(`URLSessionConfiguration.ephemeral`). Ferry deletes its bodies, cookies, credentials and cache as soon as it is
invalid. Its tasks can be read until the session is deleted.

A `background` session (`URLSessionConfiguration.background(withIdentifier:)`) continues its tasks while the
service is stopped. It differs from other sessions:

- `identifier` is required, and finds the session again.
- `delegate` is required. It may be `{}`; then only event streams report the session's tasks.
- The session has no cache, and cannot start from a named configuration.
- Tasks always wait for connectivity and follow redirects, without events for either. Only challenges and
  delayed requests can be decisions. Ferry ignores `ask` for others.
- An upload sends a stored file. Bodies cannot be streams.
- A failed attempt is repeated after a network error, 429 or 503.
- `session.handleEvents` wakes the client. `session.didFinishEvents` reports that every task has ended and every
  message was delivered or given up.
"""


BackgroundIdentifier = str
"""The identifier is unique among a tenant's background sessions that are not invalid. It has at most 255 bytes of
UTF-8, without control characters.
"""


ConfigurationName = str


class ConfigurationCreation(TypedDict):
    name: ConfigurationName
    configuration: SessionConfiguration


class NamedConfiguration(TypedDict):
    name: ConfigurationName
    configuration: SessionConfiguration
    createdAt: Time
    updatedAt: Time


class ConfigurationPage(TypedDict):
    items: List[NamedConfiguration]
    nextCursor: Optional[str]
    """`nextCursor` is the `cursor` of the next page. It is null on the last page."""


class CookieSetting(TypedDict):
    """The object is a cookie that a client sets (`HTTPCookie`)."""
    name: str
    value: str
    """`name` and `value` together have at most 4096 bytes. Longer ones get 422."""
    domain: NotRequired[Optional[str]]
    """`domain` is a host. With a leading dot, the cookie also applies to its subdomains, and a public suffix gets
    400. Without `domain`, `url` is required.
    """
    url: NotRequired[Optional[str]]
    """The host and the directory of this URL are the defaults of `domain` and `path`."""
    path: NotRequired[Optional[str]]
    expiresDate: NotRequired[Optional[str]]
    """`expiresDate` is the time when the cookie expires, at most 400 days ahead. A later time becomes 400 days.
    Without a time, the cookie lasts as long as the session.
    """
    maximumAge: NotRequired[Optional[int]]
    """`maximumAge` is the number of seconds until the cookie expires. It overrides `expiresDate`."""
    isSecure: NotRequired[bool]
    """If true, Ferry sends the cookie only over https."""
    isHTTPOnly: NotRequired[bool]
    sameSitePolicy: NotRequired[Optional[Literal["lax", "strict", "none"]]]
    """`sameSitePolicy` limits requests of other sites. Null means that only `httpCookieAcceptPolicy` decides, as
    for a cookie without `SameSite`.
    """
    isSessionOnly: NotRequired[bool]
    """Ferry ignores this member, so that a client can send a listed cookie back."""
    createdDate: NotRequired[str]
    """Ferry ignores this member, so that a client can send a listed cookie back."""


CookieSettings = Union["CookieSetting", "CookieSettingPage"]


class CookieSettingPage(TypedDict):
    """The object is a list of cookies to set. It has the form of a session's list of cookies."""
    items: List[CookieSetting]
    nextCursor: NotRequired[Optional[str]]
    """Ferry ignores this member, so that a client can send a list back."""


class Cookie(TypedDict):
    """The object is a cookie (`HTTPCookie`)."""
    name: str
    value: str
    domain: str
    """`domain` is a host. With a leading dot, the cookie also applies to its subdomains."""
    path: str
    expiresDate: Optional[str]
    isSessionOnly: bool
    """If true, the cookie has no `expiresDate` and lasts as long as the session."""
    isSecure: bool
    isHTTPOnly: bool
    sameSitePolicy: Optional[Literal["lax", "strict", "none"]]
    createdDate: Time


class CookiePage(TypedDict):
    items: List[Cookie]
    nextCursor: Optional[str]
    """`nextCursor` is always null, because one page has all cookies."""


Cookies = Union["Cookie", "CookiePage"]


class Cache(TypedDict):
    """The object describes a session's cache (`URLCache`). Capacities and usages are in bytes."""
    memoryCapacity: int
    currentMemoryUsage: int
    diskCapacity: int
    currentDiskUsage: int
    countOfEntries: int
    entries: List[CacheEntry]


class CacheEntry(TypedDict):
    url: str
    status: int
    size: int
    """`size` is the number of bytes of the stored body."""
    isComplete: bool
    """If false, the cache has only a part of the body."""
    storedAt: Time
    """`storedAt` is the time when the cache last received the response, or the origin last confirmed it."""
    isInMemory: bool
    isOnDisk: bool


CachePolicy = Literal[
    "useProtocolCachePolicy", "reloadIgnoringLocalCacheData", "reloadIgnoringLocalAndRemoteCacheData",
    "returnCacheDataElseLoad", "returnCacheDataDontLoad", "reloadRevalidatingCacheData"
]
"""`URLRequest.CachePolicy` determines how a task uses the session's cache. With `returnCacheDataDontLoad`, a task
without a stored response fails with `cannotLoadFromNetwork`.
"""


class Probe(TypedDict):
    """The object names the origin to test."""
    url: str
    """`url` is the origin's URL, with http or https."""
    timeoutInterval: NotRequired[float]
    """`timeoutInterval` is the maximum duration of all steps together, in seconds."""


class Reachability(TypedDict):
    url: str
    isReachable: bool
    remoteAddress: Optional[str]
    """`remoteAddress` is the address of the connection. If no connection succeeded, it is the address that Ferry
    tried last.
    """
    dns: Optional[ReachabilityStep]
    connect: Optional[ReachabilityStep]
    tls: Optional[ReachabilityStep]
    error: Optional[TaskError]


class ReachabilityStep(TypedDict):
    """The object is the result of one step. It is null if Ferry did not reach the step. `tls` is also null for http."""
    ok: bool
    duration: float
    """`duration` is in seconds."""


NetworkServiceType = Literal[
    "default", "video", "background", "voice", "responsiveData", "avStreaming", "responsiveAV",
    "callSignaling"
]
"""`URLRequest.networkServiceType` names the purpose of the traffic. It determines the mark (DSCP) of the packets
that Ferry sends. Routers may use the mark to prioritize packets. Tasks with different marks do not share a
connection.

The marks are `default` 0, `video` AF41, `background` CS1, `voice` EF, `responsiveData` AF21, `avStreaming`
AF31, `responsiveAV` CS4, and `callSignaling` CS5.
"""


class SessionConfiguration(TypedDict):
    """The object corresponds to `URLSessionConfiguration`. Ferry refuses the properties of Apple's that it cannot
    support with 400. `errors` explains why, or names a replacement. A configuration has at most 1 MiB without its
    certificates; a larger one gets 422.
    """
    requestCachePolicy: NotRequired[CachePolicy]
    httpShouldSetCookies: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.httpShouldSetCookies`. If true, requests carry the
    session's cookies. The session stores the cookies of responses in both cases.
    """
    httpCookieAcceptPolicy: NotRequired[Literal["always", "never", "onlyFromMainDocumentDomain"]]
    """`URLSessionConfiguration.httpCookieAcceptPolicy` determines which cookies the session stores.
    `onlyFromMainDocumentDomain` refuses cookies whose registrable domain differs from that of the request's
    `mainDocumentURL`. A request without one is its own main document.
    """
    urlCache: NotRequired[Optional[URLCacheConfiguration]]
    """The property corresponds to `URLSessionConfiguration.urlCache`. With null, the session has no cache. A
    background session accepts only null. An ephemeral session accepts only a `diskCapacity` of 0.
    """
    waitsForConnectivity: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.waitsForConnectivity`. If true, a task without a usable
    network waits for one; otherwise, it fails. A background session always waits.
    """
    allowsCellularAccess: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.allowsCellularAccess`. If false, tasks do not use
    network interfaces that the operator classifies as cellular (`--interface-class`). If no other interface
    reaches the origin, a task waits or fails with `notConnectedToInternet`. The error then has a
    `networkUnavailableReason`.
    """
    allowsExpensiveNetworkAccess: NotRequired[bool]
    """`URLSessionConfiguration.allowsExpensiveNetworkAccess` has the same effect for interfaces that are
    classified as expensive.
    """
    allowsConstrainedNetworkAccess: NotRequired[bool]
    """`URLSessionConfiguration.allowsConstrainedNetworkAccess` has the same effect for interfaces that are
    classified as constrained.
    """
    networkServiceType: NotRequired[NetworkServiceType]
    """`URLSessionConfiguration.networkServiceType` applies to tasks whose request has no `networkServiceType` of
    its own.
    """
    requiresDNSSECValidation: NotRequired[bool]
    """`URLSessionConfiguration.requiresDNSSECValidation` must be false. Ferry does not validate DNSSEC and refuses
    true with 400.
    """
    isDiscretionary: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.isDiscretionary`. If true, tasks of a background
    session run only while no background task without the property runs. They also wait for the operator's
    windows (`--discretionary-window`) and for a low load of the machine (`--discretionary-maximum-load`). In
    other sessions, the property has no effect.
    """
    sessionSendsLaunchEvents: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.sessionSendsLaunchEvents`. If true, Ferry posts
    `session.handleEvents` to the delegate's webhook. In other than background sessions, the property has no
    effect.
    """
    retry: NotRequired[Optional[RetryConfiguration]]
    timeoutIntervalForRequest: NotRequired[Seconds]
    """`URLSessionConfiguration.timeoutIntervalForRequest` is in seconds. A task ends with `timedOut` if it
    transfers no byte for that long. A request's `timeoutInterval` overrides the value.
    """
    timeoutIntervalForResource: NotRequired[Seconds]
    """`URLSessionConfiguration.timeoutIntervalForResource` is in seconds. A task ends with `timedOut` if it takes
    longer than that after its start.
    """
    httpMaximumConnectionsPerHost: NotRequired[int]
    """`URLSessionConfiguration.httpMaximumConnectionsPerHost` is the maximum number of the session's concurrent
    requests and connections to one origin. Further tasks wait.
    """
    httpShouldUsePipelining: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.httpShouldUsePipelining`. If true, a request waits for
    a connection that can multiplex (HTTP/2) instead of opening another one.
    """
    httpAdditionalHeaders: NotRequired[RequestHeaders]
    """`URLSessionConfiguration.httpAdditionalHeaders` has the header fields that Ferry adds to requests. The
    fields of a request override them.
    """
    secretHeaderFields: NotRequired[List[str]]
    """The values of request header fields with these names are secret, in addition to the secret fields of
    `RequestHeaders`. Ferry shows `(redacted)` instead. At most 64 names of at most 256 bytes fit; more get 422.
    """
    tlsMinimumSupportedProtocolVersion: NotRequired[TLSVersion]
    """`URLSessionConfiguration.tlsMinimumSupportedProtocolVersion` is the oldest version of TLS that the session
    accepts. The default is TLSv1.2, or the maximum version if that is older.
    """
    tlsMaximumSupportedProtocolVersion: NotRequired[TLSVersion]
    """`URLSessionConfiguration.tlsMaximumSupportedProtocolVersion` is the newest version of TLS that the session
    uses.
    """
    tlsAdditionalRootCertificates: NotRequired[Optional[str]]
    """The session trusts these certificate authorities in addition to those of the service. The text is PEM. It
    has at most 1000 certificates and 4 MiB, and at most 16 certificates with the same subject; more get 422.
    """
    tlsPinnedPublicKeys: NotRequired[PinnedPublicKeys]
    proxies: NotRequired[Optional[ProxyConfiguration]]
    urlCredentialStorage: NotRequired[bool]
    """The property corresponds to `URLSessionConfiguration.urlCredentialStorage`. If true, the session stores
    credentials.
    """
    maximumBytesPerSecond: NotRequired[BytesPerSecond]
    """The tasks of the session together transfer at most this number of bytes in a second, in both directions.
    Null means no limit.
    """
    allowsInsecureRedirects: NotRequired[bool]
    """If true, Ferry follows redirects from https to http. If false, such a redirect ends the task with -1022, as
    App Transport Security does. If `redirects` is `ask`, the delegate decides instead.
    """
    bodyRetention: NotRequired[float]
    """A client can read the body of a task for this number of seconds after the task's end. Then the body expires."""


Seconds = float


BytesPerSecond = Optional[int]


class URLCacheConfiguration(TypedDict):
    """The capacities of a session's cache are in bytes. A response may use a twentieth of `diskCapacity`, or of
    `memoryCapacity` if the session has no cache on disk. An ephemeral session has its cache in memory.
    """
    memoryCapacity: NotRequired[int]
    diskCapacity: NotRequired[int]


class RetryConfiguration(TypedDict):
    """A task repeats a failed attempt after a network error, or after a response with one of `statuses`. It does so
    until `timeoutIntervalForResource` has passed since the first attempt. `Retry-After` of the origin overrides
    `backoff`.

    - With null, tasks of background sessions repeat their attempts by the defaults. Tasks of other sessions do
      not.
    - Clients do not see the response and the data of an attempt that is repeated. A data or upload task outside
      background sessions repeats no attempt after its response was reported.
    - Outside background sessions, `retry` of the configuration applies to idempotent methods. `retry` of the task
      applies to every method. A streamed body cannot be sent again, so its task does not repeat attempts.
    - If the service restarts, the task continues with another attempt. In an ephemeral session it is lost.
    """
    maximumAttempts: NotRequired[Optional[int]]
    """`maximumAttempts` is the maximum number of attempts, including the first. Null means no limit."""
    backoff: NotRequired[float]
    """`backoff` is the longest wait before the second attempt, in seconds. Each further wait is up to twice as
    long, and at most 300 seconds. If `backoff` is longer than 300 seconds, the waits do not grow. Each wait is
    a random time between half and all of its maximum.
    """
    statuses: NotRequired[Optional[List[int]]]
    """`statuses` are the statuses after which the task repeats the attempt. Null means 429 (Too Many Requests) and
    503 (Service Unavailable).
    """


class ProxyConfiguration(TypedDict):
    """The property corresponds to `URLSessionConfiguration.proxyConfigurations`. `http` is the proxy for http URLs,
    and `https` is the proxy for https URLs (CONNECT). `socks5` is a SOCKS version 5 proxy for URLs that have
    neither; it also resolves names. Ferry uses the user in a proxy's URL but does not return it. Without a proxy,
    and with null, connections are direct. Ferry ignores the environment's proxy variables.
    """
    http: NotRequired[Optional[str]]
    https: NotRequired[Optional[str]]
    socks5: NotRequired[Optional[str]]
    noProxy: NotRequired[List[str]]
    """Ferry reaches these origins without a proxy. An entry is `*`, a host with its subdomains, an address, or a
    network in CIDR notation. A host or an address may have a port. At most 10000 entries fit; more get 422.
    """


class DelegateWebhook(TypedDict):
    url: str
    """`url` is the http or https URL of the endpoint. Lists show it without user info, query and fragment. A literal
    address or `localhost` that the egress policy refuses gets 422.
    """
    secret: NotRequired[WebhookSecret]
    events: NotRequired[List[EventType]]
    """Ferry posts events of these types. Progress events, `events.didReset` and `webhook.test` are not allowed."""
    answers: NotRequired[bool]
    """If true, Ferry also posts every decision to the endpoint. The endpoint's response is the answer."""
    order: NotRequired[DeliveryOrder]


DeliveryOrder = Literal["task", "none"]
"""With `task`, the default, the messages of a task arrive in order: each waits until the previous one is delivered
or given up. With `none`, messages do not wait for each other.
"""


EndpointEvents = List["WebhookEventType"]
"""The endpoint receives events of these types. The default is `task.didComplete`. Progress events,
`events.didReset` and `webhook.test` are not allowed.
"""


WebhookEventType = Union["EventType"]


EndpointHeaders = Dict[str, str]
"""Ferry adds these header fields to each message. Replies show secret values as `(redacted)`. The fields of
Standard Webhooks, `Content-Type`, `Content-Length`, `Host`, `Transfer-Encoding`, `Connection` and `Expect` are
not allowed. More than 20 fields get 422.
"""


SignatureScheme = Literal["v1", "v1a"]
"""`v1`, the default, is HMAC-SHA256 with a shared secret. `v1a` is Ed25519: Ferry keeps the private key, and
`publicKey` verifies the messages.
"""


class EndpointCreation(TypedDict):
    url: str
    """`url` is the http or https URL of the endpoint, without user info. Replies show it without query and
    fragment. A literal address or `localhost` that the egress policy refuses gets 422.
    """
    description: NotRequired[Description]
    events: NotRequired[EndpointEvents]
    order: NotRequired[DeliveryOrder]
    headers: NotRequired[EndpointHeaders]
    signature: NotRequired[SignatureScheme]
    secret: NotRequired[str]
    """`secret` is `whsec_` and the base64 of 24 to 64 bytes. Without it, Ferry makes one. It is not allowed with
    the signature `v1a`.
    """
    maximumConcurrency: NotRequired[int]
    """Ferry makes at most this many attempts to the endpoint at once. The default is 16."""
    maximumPerSecond: NotRequired[Optional[float]]
    """Ferry begins at most this many attempts a second. With null, the default, there is no limit."""


class EndpointPatch(TypedDict):
    url: NotRequired[str]
    """`url` is the http or https URL of the endpoint, without user info. Replies show it without query and
    fragment. A literal address or `localhost` that the egress policy refuses gets 422.
    """
    description: NotRequired[Description]
    events: NotRequired[EndpointEvents]
    order: NotRequired[DeliveryOrder]
    headers: NotRequired[EndpointHeaders]
    maximumConcurrency: NotRequired[int]
    """Ferry makes at most this many attempts to the endpoint at once. The default is 16."""
    maximumPerSecond: NotRequired[Optional[float]]
    """Ferry begins at most this many attempts a second. With null, the default, there is no limit."""
    state: NotRequired[EndpointState]


EndpointState = Literal["enabled", "disabled"]
"""A `disabled` endpoint receives no messages. A client disables it, or Ferry does: after a 410 response, or after
five days without a successful attempt.
"""


class EndpointRotation(TypedDict):
    overlap: NotRequired[float]
    """The previous key signs, too, for this many seconds. With 0, it stops at once."""
    secret: NotRequired[str]
    """`secret` is the new secret of an endpoint with the signature `v1`. Without it, Ferry makes one."""


class Endpoint(TypedDict):
    id: EndpointID
    url: str
    """`url` has no query and no fragment."""
    description: Optional[str]
    events: List[EventType]
    order: DeliveryOrder
    headers: Headers
    signature: SignatureScheme
    publicKey: NotRequired[str]
    """`publicKey` is `whpk_` and the base64 of the Ed25519 key. Only the signature `v1a` has it."""
    maximumConcurrency: int
    maximumPerSecond: Optional[float]
    state: EndpointState
    disabledReason: Optional[str]
    """`disabledReason` says why Ferry sends no messages. It is null while the endpoint is enabled."""
    failingSince: Optional[str]
    """`failingSince` is the time of the first failed attempt since the last success, if attempts have failed for a
    minute or more.
    """
    createdAt: Time


class EndpointWithSecret(TypedDict):
    id: EndpointID
    url: str
    """`url` has no query and no fragment."""
    description: Optional[str]
    events: List[EventType]
    order: DeliveryOrder
    headers: Headers
    signature: SignatureScheme
    publicKey: NotRequired[str]
    """`publicKey` is `whpk_` and the base64 of the Ed25519 key. Only the signature `v1a` has it."""
    maximumConcurrency: int
    maximumPerSecond: Optional[float]
    state: EndpointState
    disabledReason: Optional[str]
    """`disabledReason` says why Ferry sends no messages. It is null while the endpoint is enabled."""
    failingSince: Optional[str]
    """`failingSince` is the time of the first failed attempt since the last success, if attempts have failed for a
    minute or more.
    """
    createdAt: Time
    secret: NotRequired[str]
    """`secret` signs the messages. An endpoint with the signature `v1a` has none."""


class EndpointPage(TypedDict):
    items: List[Endpoint]
    nextCursor: Optional[str]
    """The value is always null."""


DeliveryState = Literal["pending", "delivered", "failed"]
"""A `pending` message has attempts to come. A `delivered` one got a 2xx response. Ferry gave a `failed` one up."""


class Delivery(TypedDict):
    id: DeliveryID
    webhookId: str
    """`webhookId` is the `webhook-id` of the message."""
    endpoint: Optional[str]
    """`endpoint` is null for the webhook of a session or a task."""
    url: Optional[str]
    """`url` has no user info, query and fragment. It is null if the endpoint or the session was deleted."""
    type: EventType
    sessionId: SessionID
    taskId: Optional[str]
    state: DeliveryState
    attemptCount: int
    """`attemptCount` counts all attempts."""
    attempts: List[DeliveryAttempt]
    """`attempts` has the last 20 attempts, oldest first."""
    createdAt: Time
    nextAttemptAt: Optional[str]
    """The next attempt begins at this time or later. It may have passed if the message waits for an earlier one,
    or its endpoint is disabled. It is null unless the message is pending.
    """
    finishedAt: Optional[str]
    """`finishedAt` is the time when the message was delivered or given up."""


class DeliveryAttempt(TypedDict):
    time: Time
    """`time` is the end of the attempt."""
    status: Optional[int]
    """`status` is the status of the response. It is null without one."""
    latency: Optional[float]
    """`latency` is the duration of the attempt in seconds."""
    reply: Optional[str]
    """`reply` is the first 1 KiB of the response's body."""
    error: Optional[str]
    """`error` says why there was no response."""


class DeliveryPage(TypedDict):
    items: List[Delivery]
    nextCursor: Optional[str]
    """`nextCursor` is the `cursor` of the next page. It is null on the last page."""


class Redelivery(TypedDict):
    endpoint: NotRequired[EndpointID]
    """Ferry selects deliveries to this endpoint."""
    task: NotRequired[TaskID]
    """Ferry selects messages about this task."""
    state: NotRequired[DeliveryState]
    """Ferry selects deliveries in this state."""
    since: NotRequired[Time]
    """Ferry selects deliveries that were created at this time or later."""


class RedeliveryCount(TypedDict):
    redelivered: int


class CompletionCreation(TypedDict):
    """The object is the completion handler of a task. The completion webhook receives `task.didComplete` instead of
    the delegate's webhook. The delegate does not decide about the response and its caching, but still decides about
    everything else. The delegate's webhook does not receive `downloadTask.didFinishDownloading`. In a background
    session, the completion webhook receives `task.didComplete`, and the delegate's webhook still receives both.
    """
    webhook: CompletionWebhookCreation


class CompletionWebhookCreation(TypedDict):
    url: str
    """`url` is the http or https URL of the endpoint. A literal address or `localhost` that the egress policy
    refuses gets 422.
    """
    secret: NotRequired[WebhookSecret]
    order: NotRequired[DeliveryOrder]
    """`order` is as in a delegate's webhook. Replies do not show it."""


class RequestBodyCreation(TypedDict):
    """The object is the body of a request, in one of four forms. Without any of them, the request has no body."""
    text: NotRequired[str]
    """Ferry sends the text as UTF-8."""
    base64: NotRequired[str]
    """Ferry sends the decoded bytes."""
    file: NotRequired[FileID]
    """Ferry sends the stored file. The `Content-Type` is that of the file, unless the request or the session has
    one.
    """
    stream: NotRequired[bool]
    """The client sends the body with PUT of the task's body (`httpBodyStream`). The session or the task must have
    a delegate; `{}` is enough.
    """


class UnderlyingError(TypedDict):
    """The object is the cause of an error, as a library reported it."""
    library: NotRequired[str]
    code: NotRequired[int]


class Completion(TypedDict):
    webhook: CompletionWebhook


class CompletionWebhook(TypedDict):
    """The object is a webhook without its secret. Lists show its URL without user info, query and fragment."""
    url: str


class RequestBodyAnswer(TypedDict):
    """The object is the body of the request. It has one of the forms of a new request, or the form that Ferry showed.
    `size` with an optional `file` keeps the body of the proposed request.
    """
    text: NotRequired[str]
    """Ferry sends the text as UTF-8."""
    base64: NotRequired[str]
    """Ferry sends the decoded bytes."""
    file: NotRequired[FileID]
    """Ferry sends the stored file."""
    stream: NotRequired[bool]
    """The client sends the body with PUT of the task's body."""
    size: NotRequired[int]
    """`size` is the size that Ferry showed, in bytes. It keeps the body."""


class ProposedCredential(TypedDict):
    """The object corresponds to `URLAuthenticationChallenge.proposedCredential`. If `previousFailureCount` is 0, Ferry
    uses this credential without an answer. Otherwise, it is the credential that was refused last.
    """
    user: NotRequired[Optional[str]]
    """`user` is null for a certificate."""


class TransactionResponse(TypedDict):
    status: NotRequired[int]


PinnedPublicKeys = Dict[str, List[str]]
"""The property corresponds to `NSPinnedDomains` of App Transport Security. A member's name is a host, or `*.` and
a domain, or an address. Its value lists pins: `sha256/` and the base64 of the SHA-256 of a SubjectPublicKeyInfo
(RFC 7469). A valid certificate chain must also contain one of these keys. At most 1000 hosts with 64 pins each
fit; more get 422.
"""


TLSVersion = Literal["TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"]


RequestHeaders = Dict[str, str]
"""The object has header fields by name. A field has at most 64 KiB, and all fields together have at most 256 KiB;
more get 422.

Ferry sets `Host`, `Content-Length`, `Transfer-Encoding`, `Connection`, `Upgrade`, `TE` and `Trailer` itself and
refuses them with 400. A request whose body is a stream may have a `Content-Length`.

Replies, events, messages and logs show `(redacted)` instead of the value of a secret field. Secret fields are
`Authorization`, `Proxy-Authorization`, `Cookie`, and the key and token fields of common services. Examples are
`API-Key`, `X-API-Key`, `X-Auth-Token`, `X-Access-Token`, `X-CSRF-Token`, `X-Amz-Security-Token`,
`X-Goog-API-Key`, `Private-Token` and `X-Vault-Token`. `secretHeaderFields` of the session adds names.

A client may send `(redacted)` back to keep the value, in these places:

- In PUT of a named configuration, `(redacted)` stands for the previous value.
- In a session with `named`, it stands for the value of the named configuration.
- In the request of an answer, it stands for the proposed request's value, if the origin is the same.

If no value is known, Ferry refuses `(redacted)` with 400. In an answer, Ferry removes the field instead.
"""


class Delegate(TypedDict):
    """The object is the delegate of a session. It determines which calls are decisions, and which events Ferry posts
    to a webhook. The event of a decision has the decision's id.
    """
    webhook: NotRequired[Optional[DelegateWebhook]]
    sessionChallenges: NotRequired[Optional[Literal["ask", "default"]]]
    """The property corresponds to `urlSession(_:didReceive:completionHandler:)`. With `ask`, the delegate decides
    about challenges of connections: NTLM, Negotiate, ClientCertificate and ServerTrust. With null,
    `taskChallenges` also applies to these challenges, as `task.didReceiveChallenge`.
    """
    taskChallenges: NotRequired[Optional[Literal["ask", "default"]]]
    """The property corresponds to `urlSession(_:task:didReceive:completionHandler:)`. With `ask`, the delegate
    decides about all other challenges of servers (401) and proxies (407). With `default` or null, stored
    credentials and the default evaluation decide.
    """
    redirects: NotRequired[Literal["ask", "follow"]]
    """The property corresponds to `urlSession(_:task:willPerformHTTPRedirection:newRequest:)`. With `ask`, the
    delegate decides about redirects. With `follow`, Ferry follows them, but from https to http only with
    `allowsInsecureRedirects`.
    """
    responses: NotRequired[Literal["ask", "allow"]]
    """The property corresponds to `urlSession(_:dataTask:didReceive:completionHandler:)`. With `ask`, the delegate
    decides about the responses of data and upload tasks. With `allow`, Ferry receives their bodies. Tasks with
    a completion handler (`completion` or `Prefer: wait`) have no such decision.
    """
    caching: NotRequired[Literal["ask", "default"]]
    """The property corresponds to `urlSession(_:dataTask:willCacheResponse:)`. With `ask`, the delegate decides
    about responses that may be stored in the cache. With `default`, Ferry stores them. Tasks with a completion
    handler have no such decision.
    """
    delayedRequests: NotRequired[Literal["ask", "continue"]]
    """The property corresponds to `urlSession(_:task:willBeginDelayedRequest:)`. With `ask`, the delegate decides
    about a task's request when its `earliestBeginDate` has come. With `continue`, Ferry sends the request.
    """
    decisionTimeout: NotRequired[Seconds]
    """`decisionTimeout` is in seconds. A decision without an answer then expires, and its default applies. A task
    whose `task.needNewBodyStream` expires fails.
    """


class TaskDelegate(TypedDict):
    """The object corresponds to `URLSessionTask.delegate`. The members of a task's delegate override those of the
    session's delegate. An absent or null member is that of the session's delegate. The task's `webhook` receives
    the task's messages instead of the session's webhook. Tasks of a session share connections. If the task's
    delegate trusts a certificate chain, Ferry also trusts it for the session's other tasks that ask about the
    chain.
    """
    webhook: NotRequired[Optional[DelegateWebhook]]
    sessionChallenges: NotRequired[Optional[Literal["ask", "default"]]]
    taskChallenges: NotRequired[Optional[Literal["ask", "default"]]]
    redirects: NotRequired[Literal["ask", "follow"]]
    responses: NotRequired[Literal["ask", "allow"]]
    caching: NotRequired[Literal["ask", "default"]]
    delayedRequests: NotRequired[Literal["ask", "continue"]]
    decisionTimeout: NotRequired[Seconds]


WebhookSecret = str
"""`secret` is `whsec_` and the base64 of 24 to 64 bytes. It signs the messages. Without a secret, the service
signs with its own.
"""


class Session(TypedDict):
    id: SessionID
    type: SessionType
    identifier: Optional[BackgroundIdentifier]
    state: SessionState
    description: Optional[str]
    createdAt: Time
    configuration: SessionConfiguration
    delegate: Optional[Delegate]


class SessionPage(TypedDict):
    items: List[Session]
    nextCursor: Optional[str]
    """`nextCursor` is the `cursor` of the next page. It is null on the last page."""


class Invalidation(TypedDict):
    mode: NotRequired[Literal["finishTasks", "cancelTasks"]]
    """With `finishTasks`, the tasks continue to their end. With `cancelTasks`, Ferry cancels them."""


class Cancellation(TypedDict):
    producingResumeData: NotRequired[bool]
    """If true, the reply waits for the end of the task and has `resumeData`."""


class ResumeData(TypedDict):
    resumeData: str
    """`resumeData` is a text that only this service can read. Clients must not interpret it."""


TaskKind = Literal["data", "download", "upload"]
"""An `upload` task sends a body; otherwise, it does the same as a `data` task. The bodies of their responses can
be read while they arrive. The body of a `download` task can be read after its end.
"""


TaskState = Literal["running", "suspended", "canceling", "completed"]


TaskOutcome = Literal["succeeded", "failed", "cancelled"]
"""A task has succeeded if its `error` is null. It was cancelled if its error is `cancelled` (-999), and has failed
with any other error.
"""


GroupName = str
"""A group belongs to the tenant. Its tasks may be in several sessions."""


class Group(TypedDict):
    name: GroupName
    state: Literal["open", "closed", "completed"]
    """A closed group accepts no new tasks. It is completed when all of its tasks have ended."""
    tasks: Dict[str, int]
    """The numbers of tasks by state and, for tasks that have ended, by outcome."""
    countOfBytesSent: int
    """The bytes that the tasks have sent."""
    countOfBytesReceived: int
    """The bytes that the tasks have received."""
    createdAt: Time
    closedAt: OptionalTime
    completedAt: OptionalTime


class GroupPage(TypedDict):
    items: List[Group]
    nextCursor: Optional[str]
    """`nextCursor` is the `cursor` of the next page. It is null on the last page."""


Labels = Dict[str, str]
"""Lists find tasks by their labels."""


class TaskSelection(TypedDict):
    """A task is selected if it matches all members that are given."""
    all: NotRequired[bool]
    """If true, all tasks are selected. No filter may be given."""
    dryRun: NotRequired[bool]
    """If true, Ferry counts the tasks and changes nothing."""
    kind: NotRequired[TaskKind]
    state: NotRequired[TaskState]
    outcome: NotRequired[TaskOutcome]
    group: NotRequired[GroupName]
    labels: NotRequired[Labels]
    url: NotRequired[str]
    """A pattern of the original URL."""
    urlPrefix: NotRequired[str]
    """The beginning of the original URL."""
    description: NotRequired[str]
    """A part of the description."""
    neverResumed: NotRequired[bool]
    """Whether only tasks without a command are selected."""
    since: NotRequired[str]
    """The earliest time of creation."""
    id: NotRequired[str]
    """A part of the id."""


class CommandCounts(TypedDict):
    matched: int
    """The number of selected tasks."""
    changed: int
    """The number of selected tasks that the command has changed."""
    failed: int
    """The number of selected tasks whose command failed. A service that does not answer adds one, because its
    ephemeral tasks are unknown. Send the request again, with the same Idempotency-Key.
    """


class EventPage(TypedDict):
    items: List[Event]
    nextAfter: str
    """`nextAfter` is the `after` of the next page."""


TaskPhase = Optional[Literal[
    "queued", "waitingForConnectivity", "waitingForDecision", "waitingToRetry", "transferring"
]]
"""`phase` says what a `running` task does. It is null in other states.

In the phase `waitingToRetry`, an attempt has failed and another will follow. `lastError` and `nextAttemptAt` are then present.
"""


class TaskCreation(TypedDict):
    kind: TaskKind
    request: NotRequired[RequestCreation]
    """`request` is required unless `resumeData` is present. The request of an upload requires a `body`."""
    resumeData: NotRequired[Optional[str]]
    """The resume data of an earlier download or upload replaces `request`. The task continues the transfer of the
    earlier one.

    - A download starts from the beginning if the resource has changed, or if the received bytes are no longer
      stored.
    - An upload ends with -1011 if its server no longer has the received bytes.
    - The reply is 400 if the upload's body is no longer stored here.
    - The reply is 400 if another service or tenant made the data, if it was changed, or if the service no
      longer has its key.
    """
    resume: NotRequired[bool]
    """If true, the task starts at once. Otherwise, Ferry creates it suspended."""
    priority: NotRequired[float]
    """The property corresponds to `URLSessionTask.priority`, from 0 to 1. Of the tasks that wait to start, those
    with a higher priority start first.
    """
    earliestBeginDate: NotRequired[OptionalTime]
    """`URLSessionTask.earliestBeginDate` is an RFC 3339 time with any offset. Ferry sends nothing before it. A
    time in the past has no effect.
    """
    maximumBytesPerSecond: NotRequired[BytesPerSecond]
    """The task transfers at most this number of bytes in a second, in both directions. The limit of the session
    also applies. Null means no limit of its own.
    """
    description: NotRequired[Description]
    group: NotRequired[Optional[GroupName]]
    """The group must be absent in an ephemeral session, whose tasks are not stored (422)."""
    labels: NotRequired[Optional[Labels]]
    countOfBytesClientExpectsToSend: NotRequired[ByteGuess]
    """`URLSessionTask.countOfBytesClientExpectsToSend` is an estimate of the size of the request's body. Ferry
    uses it if it does not know the size, as for a stream.
    """
    countOfBytesClientExpectsToReceive: NotRequired[ByteGuess]
    """`URLSessionTask.countOfBytesClientExpectsToReceive` is an estimate of the size of the response's body. Ferry
    uses it if the response has no length.
    """
    prefersIncrementalDelivery: NotRequired[bool]
    """The property corresponds to `URLSessionTask.prefersIncrementalDelivery`. The default is true for data and
    upload tasks, and false for downloads. A download refuses true with 400.

    If false, Ferry delivers the body only when it is complete:

    - Until then, GET of the task's body gets 409, and there is no `dataTask.didReceiveData`. `progress` still
      counts the bytes.
    - Then one `dataTask.didReceiveData` reports all bytes. With `data=inline`, several events may carry them.
    - In a multipart response, each part is delivered when it is complete.
    """
    failOnStatus: NotRequired[bool]
    """If true, a status of 400 or more ends the task with the error `httpStatus`. The task keeps its `response`. A
    data or upload task also keeps the body, a download has none.
    """
    retry: NotRequired[Optional[RetryConfiguration]]
    """The property replaces `retry` of the session's configuration. A task with a streamed body refuses it with
    400.
    """
    expected: NotRequired[Optional[ExpectedBody]]
    """The body that the client expects, as Ferry serves it: after content decoding, and with all parts of a
    multipart response. Null means any body.

    - A body with another size or digest ends the task with `contentMismatch`. The task then has neither a body
      nor resume data.
    - If a resumed download has another digest, Ferry first fetches the whole body once.
    - A status other than 2xx ends the task with `httpStatus`.
    - A request with the method HEAD refuses `expected` with 400.
    """
    destination: NotRequired[Optional[DestinationCreation]]
    """The file that a download becomes. Tasks of other kinds refuse it with 400. Null means that Ferry keeps the
    body.
    """
    completion: NotRequired[Optional[CompletionCreation]]
    delegate: NotRequired[Optional[TaskDelegate]]
    """The property corresponds to `URLSessionTask.delegate`. The session's delegate applies to each member that is
    absent. A task of a background session cannot have a delegate (400).
    """


class TaskPatch(TypedDict):
    """The object has the members of the task that change."""
    priority: NotRequired[Optional[float]]
    """Null sets the priority to 0.5."""
    description: NotRequired[Description]
    earliestBeginDate: NotRequired[OptionalTime]
    maximumBytesPerSecond: NotRequired[BytesPerSecond]
    request: NotRequired[RequestPatch]
    countOfBytesClientExpectsToSend: NotRequired[Optional[int]]
    """Null removes the estimate and sets -1."""
    countOfBytesClientExpectsToReceive: NotRequired[Optional[int]]
    """Null removes the estimate and sets -1."""


class RequestPatch(TypedDict):
    url: NotRequired[str]
    """The URL must meet the rules for that of a new task. If it has another scheme, host or port and `headers` is
    absent, Ferry removes the fields that carry secrets, and the user and password of the previous URL. The
    secret fields of the session's `httpAdditionalHeaders` are not sent there either.
    """
    headers: NotRequired[RequestHeaders]
    """`headers` replaces all fields. The value `(redacted)` keeps the field's present value. It gets 422 if the
    task has no such field, or if `url` has another scheme, host or port than the present URL. The
    `Content-Length` of a streamed body stays.
    """


class DestinationCreation(TypedDict):
    """A download with a destination becomes a file that belongs to the client. Neither retention nor the deletion of
    the task deletes the file.

    - Ferry checks `expected` first, then writes the file under a hidden name in the same directory and renames it.
      Ferry creates missing directories.
    - If the file cannot be written, the task ends with `destinationFailed`. Its body is kept, and
      `POST /v1/tasks/{task}/retry` uses the body without a second download.
    - `GET /v1/tasks/{task}/body` serves the file while it is unchanged.
    """
    file: str
    """`file` is an absolute path without `.`, `..` and empty parts. It is below a directory that the operator has
    opened for the tenant (`--destination-directory`). Otherwise the reply is 403. A path with a symbolic link
    below that directory fails the task.
    """
    ifExists: NotRequired[ExistingFile]


ExistingFile = Literal["fail", "replace", "rename"]
"""`ifExists` says what happens if the file exists already:

- `fail`: the task ends with `destinationFailed`, before its request is sent if possible.
- `replace`: the download replaces the file.
- `rename`: the download gets the first free name such as `a (1).iso`. `file` of the ended task has it.
"""


class Destination(TypedDict):
    """The object is the file that the download becomes."""
    file: str
    """`file` is the path. After a success, it is the path of the file."""
    ifExists: ExistingFile


class ExpectedBody(TypedDict):
    size: NotRequired[int]
    """The size in bytes."""
    sha256: NotRequired[str]
    """`sha256` is the SHA-256 digest in hexadecimal. Ferry returns it in lower case."""


ByteGuess = int
"""The value is the client's estimate of a number of bytes. -1 means no estimate."""


class RequestCreation(TypedDict):
    url: str
    """`URLRequest.url` is an http or https URL of at most 64 KiB; a longer one gets 422. Ferry removes a user and
    password from it, does not return them, and uses them only for this task and origin.
    """
    method: NotRequired[str]
    """`URLRequest.httpMethod` is any method except CONNECT and TRACE. The default is POST for an upload and GET
    otherwise. Ferry accepts GET, HEAD, POST, PUT, DELETE and OPTIONS in any case, and sends other methods
    unchanged. A GET with a body ends with `dataLengthExceedsMaximum`.
    """
    headers: NotRequired[RequestHeaders]
    body: NotRequired[Optional[RequestBodyCreation]]
    timeoutInterval: NotRequired[Seconds]
    """`URLRequest.timeoutInterval` is in seconds. The task ends with `timedOut` if it transfers no byte for that
    long. The default is the session's `timeoutIntervalForRequest`.
    """
    cachePolicy: NotRequired[CachePolicy]
    """The property corresponds to `URLRequest.cachePolicy`. The default is the session's `requestCachePolicy`."""
    httpShouldHandleCookies: NotRequired[bool]
    """The property corresponds to `URLRequest.httpShouldHandleCookies`. If true, the request carries cookies and
    the session stores those of the response.
    """
    mainDocumentURL: NotRequired[Optional[str]]
    """`URLRequest.mainDocumentURL` is the document that the request is a part of. The default is the request's own
    URL.
    """
    allowsCellularAccess: NotRequired[bool]
    """The property corresponds to `URLRequest.allowsCellularAccess`. The session's configuration can also forbid
    it.
    """
    allowsExpensiveNetworkAccess: NotRequired[bool]
    allowsConstrainedNetworkAccess: NotRequired[bool]
    networkServiceType: NotRequired[NetworkServiceType]
    """The property corresponds to `URLRequest.networkServiceType`. `default` means the session's
    `networkServiceType`.
    """
    requiresDNSSECValidation: NotRequired[bool]
    """`URLRequest.requiresDNSSECValidation` must be false. Ferry refuses true with 400."""


class Request(TypedDict):
    url: str
    method: str
    headers: Headers
    timeoutInterval: NotRequired[float]
    """`timeoutInterval` is in seconds. It is absent if the session's value applies."""
    body: NotRequired[RequestBody]
    """`body` is absent if the request has no body."""
    cachePolicy: NotRequired[CachePolicy]
    """`cachePolicy` is absent if the session's policy applies."""
    httpShouldHandleCookies: NotRequired[bool]
    """`httpShouldHandleCookies` is false or absent. If it is absent, the request uses cookies."""
    mainDocumentURL: NotRequired[str]
    """`mainDocumentURL` is absent if the request is its own main document."""
    allowsCellularAccess: NotRequired[bool]
    """`allowsCellularAccess` and the next two members are absent if all three are true."""
    allowsExpensiveNetworkAccess: NotRequired[bool]
    allowsConstrainedNetworkAccess: NotRequired[bool]
    networkServiceType: NotRequired[NetworkServiceType]
    """`networkServiceType` is absent if the session's value applies."""


class RequestBody(TypedDict):
    """The object describes the body of a request, without its bytes."""
    size: NotRequired[int]
    """`size` is the number of bytes. It is absent for a stream."""
    file: NotRequired[FileID]
    """`file` is the id of the stored file that is the body."""
    stream: NotRequired[bool]
    """If true, the client sends the body with PUT of the task's body."""


class Response(TypedDict):
    """The object is the final response of the origin, without its body (`HTTPURLResponse`)."""
    url: str
    """`url` is the URL after redirects."""
    status: int
    headers: Headers
    mimeType: NotRequired[Optional[str]]
    """`mimeType` is the media type in lower case, without parameters."""
    textEncodingName: NotRequired[Optional[str]]
    """`textEncodingName` is the charset in lower case."""
    suggestedFilename: NotRequired[str]
    """`URLResponse.suggestedFilename` comes from `Content-Disposition`, or otherwise from the URL. It has no
    directories. If the name has no extension and `mimeType` is a common type, Ferry appends the extension of
    the type.
    """
    expectedContentLength: int
    """`expectedContentLength` is the number of bytes of the body, or -1 if it is unknown."""
    httpVersion: str
    fromCache: NotRequired[bool]
    """If true, the response comes from the session's cache."""


class Progress(TypedDict):
    """The object counts the bytes of a task (`URLSessionTask.progress`). An unknown total is -1."""
    countOfBytesSent: NotRequired[int]
    countOfBytesExpectedToSend: NotRequired[int]
    countOfBytesReceived: NotRequired[int]
    """`countOfBytesReceived` counts bytes after the decoding of content codings."""
    countOfBytesExpectedToReceive: NotRequired[int]
    fractionCompleted: NotRequired[Optional[float]]
    """`fractionCompleted` is null if a total is unknown. The client's estimate replaces an unknown total, until
    the count exceeds the estimate.
    """


class TaskError(TypedDict):
    """The object is the error with which a task or an attempt failed (`URLSessionTask.error`)."""
    domain: Literal["NSURLErrorDomain", "FerryErrorDomain"]
    code: int
    """`code` is Apple's code in `NSURLErrorDomain`. In `FerryErrorDomain`, 1 is `destinationNotPermitted`, 2
    `quotaExceeded`, 3 `bodyTooLarge`, 4 `attemptLimitReached`, 5 `contentMismatch`, 6
    `destinationFailed` and 7 `httpStatus`.
    """
    name: str
    """`name` is the name of the code."""
    message: str
    """`message` is a text for people. Programs should use `code`."""
    failingURL: Optional[str]
    resumeDataAvailable: bool
    """If true, the task's resume data can be read, and another task can continue."""
    underlying: Optional[UnderlyingError]
    rule: NotRequired[str]
    """`rule` is the name of the rule that refused the destination. Other errors have none."""
    networkUnavailableReason: NotRequired[Literal["cellular", "expensive", "constrained"]]
    """`networkUnavailableReason` is the class of the networks that the task may not use. Other errors have none."""
    status: NotRequired[int]
    """`status` is the status of a complete response. The error `httpStatus` has one. So has `lastError` if the
    origin's status is the reason for another attempt; its name is then `badServerResponse`.
    """


class Body(TypedDict):
    """The object describes the body of a task's response. GET of the task's body returns the bytes."""
    size: int
    """`size` is the number of bytes."""
    sha256: str
    expiresAt: OptionalTime
    """`expiresAt` is the time when the body expires. It is null if the body is the file at the task's destination."""
    text: NotRequired[str]
    """`text` has the bytes if `include=body` is set and they are UTF-8."""
    base64: NotRequired[str]
    """`base64` has the bytes if `include=body` is set and they are not UTF-8."""


class Task(TypedDict):
    id: TaskID
    sessionId: SessionID
    taskIdentifier: int
    """`URLSessionTask.taskIdentifier` numbers the tasks of a session, from 1."""
    kind: TaskKind
    state: TaskState
    phase: NotRequired[TaskPhase]
    description: NotRequired[Optional[str]]
    priority: NotRequired[float]
    earliestBeginDate: NotRequired[OptionalTime]
    """Ferry sends nothing before this time."""
    isDiscretionary: NotRequired[bool]
    """The member is true if no client was listening when the task was created in a background session. No event
    stream of all sessions, of the session or of one of its tasks was then open. Ferry treats the task as if
    `isDiscretionary` of the session were true. Otherwise, the member is absent.
    """
    maximumBytesPerSecond: NotRequired[BytesPerSecond]
    countOfBytesClientExpectsToSend: NotRequired[ByteGuess]
    countOfBytesClientExpectsToReceive: NotRequired[ByteGuess]
    prefersIncrementalDelivery: NotRequired[bool]
    """If true, Ferry delivers the body as it arrives. Downloads have false."""
    originalRequest: Request
    currentRequest: Request
    """`URLSessionTask.currentRequest` is the request after redirects."""
    response: NotRequired[Optional[Response]]
    """`response` is null before the origin's response. A download with retries has it only after its
    end.
    """
    progress: Progress
    error: NotRequired[Optional[TaskError]]
    outcome: NotRequired[TaskOutcome]
    """A task has the member when it has ended."""
    group: NotRequired[GroupName]
    """The member is absent if the task has no group."""
    labels: NotRequired[Labels]
    """The member is absent if the task has no labels."""
    hint: NotRequired[str]
    """Advice about the request. It is not part of the task."""
    body: NotRequired[Optional[Body]]
    """`body` is null before the end of the task, after a failure, and after the body was deleted or became a file."""
    retryCount: NotRequired[int]
    """`retryCount` is the number of failed attempts that another attempt followed. Outside background
    sessions it counts the requests that another service repeated. An attempt that the end of a process interrupted continues and does not count.
    """
    lastError: NotRequired[LastError]
    nextAttemptAt: NotRequired[NextAttemptAt]
    downloadTaskId: NotRequired[str]
    """`downloadTaskId` is the download task that this data task became."""
    completion: NotRequired[Optional[Completion]]
    failOnStatus: NotRequired[bool]
    """`failOnStatus` is absent if it is false."""
    expected: NotRequired[ExpectedBody]
    """`expected` is absent if any body is accepted."""
    destination: NotRequired[Destination]
    """`destination` is absent if the task has none."""
    retry: NotRequired[RetryConfiguration]
    """`retry` is absent if the session's rules apply."""
    retryOf: NotRequired[TaskID]
    """`retryOf` is the task that this one repeats. Other tasks have none."""
    delegate: NotRequired[Optional[TaskDelegate]]
    """`delegate` has the members that the task's own delegate has. The session's delegate has the others."""
    createdAt: Time
    startedAt: NotRequired[OptionalTime]
    """`startedAt` is the time when the transfer began."""
    completedAt: NotRequired[OptionalTime]


class CancelledTask(TypedDict):
    id: TaskID
    sessionId: SessionID
    taskIdentifier: int
    """`URLSessionTask.taskIdentifier` numbers the tasks of a session, from 1."""
    kind: TaskKind
    state: TaskState
    phase: NotRequired[TaskPhase]
    description: NotRequired[Optional[str]]
    priority: NotRequired[float]
    earliestBeginDate: NotRequired[OptionalTime]
    """Ferry sends nothing before this time."""
    isDiscretionary: NotRequired[bool]
    """The member is true if no client was listening when the task was created in a background session. No event
    stream of all sessions, of the session or of one of its tasks was then open. Ferry treats the task as if
    `isDiscretionary` of the session were true. Otherwise, the member is absent.
    """
    maximumBytesPerSecond: NotRequired[BytesPerSecond]
    countOfBytesClientExpectsToSend: NotRequired[ByteGuess]
    countOfBytesClientExpectsToReceive: NotRequired[ByteGuess]
    prefersIncrementalDelivery: NotRequired[bool]
    """If true, Ferry delivers the body as it arrives. Downloads have false."""
    originalRequest: Request
    currentRequest: Request
    """`URLSessionTask.currentRequest` is the request after redirects."""
    response: NotRequired[Optional[Response]]
    """`response` is null before the origin's response. A download with retries has it only after its
    end.
    """
    progress: Progress
    error: NotRequired[Optional[TaskError]]
    outcome: NotRequired[TaskOutcome]
    """A task has the member when it has ended."""
    group: NotRequired[GroupName]
    """The member is absent if the task has no group."""
    labels: NotRequired[Labels]
    """The member is absent if the task has no labels."""
    hint: NotRequired[str]
    """Advice about the request. It is not part of the task."""
    body: NotRequired[Optional[Body]]
    """`body` is null before the end of the task, after a failure, and after the body was deleted or became a file."""
    retryCount: NotRequired[int]
    """`retryCount` is the number of failed attempts that another attempt followed. Outside background
    sessions it counts the requests that another service repeated. An attempt that the end of a process interrupted continues and does not count.
    """
    lastError: NotRequired[LastError]
    nextAttemptAt: NotRequired[NextAttemptAt]
    downloadTaskId: NotRequired[str]
    """`downloadTaskId` is the download task that this data task became."""
    completion: NotRequired[Optional[Completion]]
    failOnStatus: NotRequired[bool]
    """`failOnStatus` is absent if it is false."""
    expected: NotRequired[ExpectedBody]
    """`expected` is absent if any body is accepted."""
    destination: NotRequired[Destination]
    """`destination` is absent if the task has none."""
    retry: NotRequired[RetryConfiguration]
    """`retry` is absent if the session's rules apply."""
    retryOf: NotRequired[TaskID]
    """`retryOf` is the task that this one repeats. Other tasks have none."""
    delegate: NotRequired[Optional[TaskDelegate]]
    """`delegate` has the members that the task's own delegate has. The session's delegate has the others."""
    createdAt: Time
    startedAt: NotRequired[OptionalTime]
    """`startedAt` is the time when the transfer began."""
    completedAt: NotRequired[OptionalTime]
    resumeData: NotRequired[Optional[str]]
    """Another task of the same kind can continue with `resumeData`. It is null if the task cannot be resumed,
    or if it had ended before.
    """


OptionalTime = Optional[str]


class TaskPage(TypedDict):
    items: List[Task]
    nextCursor: Optional[str]
    """`nextCursor` is the `cursor` of the next page. It is null on the last page."""


class FileCreation(TypedDict):
    fromTask: TaskID
    """`fromTask` is a task that has ended and has a body."""


class StoredFile(TypedDict):
    id: FileID
    size: int
    """`size` is the number of bytes."""
    sha256: str
    contentType: Optional[str]
    """`contentType` is the `Content-Type` that the file was stored with. Without one, Ferry returns the file as
    `application/octet-stream`.
    """
    fromTask: Optional[str]
    """`fromTask` is the task whose body the file was."""
    createdAt: Time


class FilePage(TypedDict):
    items: List[StoredFile]
    nextCursor: Optional[str]
    """`nextCursor` is the `cursor` of the next page. It is null on the last page."""


DecisionType = Literal[
    "session.didReceiveChallenge", "task.didReceiveChallenge", "task.willPerformHTTPRedirection",
    "task.needNewBodyStream", "task.willBeginDelayedRequest", "dataTask.didReceiveResponse",
    "dataTask.willCacheResponse"
]
"""The type of a decision is the type of its event."""


DecisionState = Literal["pending", "answered", "expired", "withdrawn"]
"""A `pending` decision waits for an answer. An `answered` one has an answer. An `expired` one got no answer in
time, and `default` was applied. A `withdrawn` one lost its purpose, because the task ended or was cancelled.
"""


DecisionDefault = Literal["performDefaultHandling", "follow", "fail", "continue", "allow", "allowed"]
"""The default applies if a decision expires. For challenges, it is `performDefaultHandling`. For the other types,
in the order of `DecisionType`, it is `follow`, `fail`, `continue`, `allow` and `allowed`.
"""


class Decision(TypedDict):
    id: DecisionID
    type: DecisionType
    state: DecisionState
    sessionId: SessionID
    taskId: TaskID
    createdAt: Time
    expiresAt: Time
    default: DecisionDefault
    data: Union[ChallengedData, RedirectedData, DelayedData, RespondedData, WillCacheData, Dict[str, Any]]
    """`data` is the `data` of the event without the members of the decision. It is empty for
    `task.needNewBodyStream`.
    """
    answer: Optional[DecisionAnswer]
    """`answer` is the delegate's answer without passwords and private keys. If it has a request whose body exceeds
    64 KiB, it has the `size` instead of the body. It is null without an answer, and for
    `task.needNewBodyStream`.
    """


class DecisionPage(TypedDict):
    items: List[Decision]
    nextCursor: Optional[str]
    """`nextCursor` is the `cursor` of the next page. It is null on the last page."""


DecisionAnswer = Union["ChallengeAnswer", "RedirectAnswer", "ResponseAnswer", "DelayedRequestAnswer", "CachingAnswer"]
"""The object is the answer to a challenge, a redirect, a response, a delayed request, or a response that may be
stored.
"""


AuthenticationMethod = Literal[
    "NSURLAuthenticationMethodDefault", "NSURLAuthenticationMethodHTTPBasic",
    "NSURLAuthenticationMethodHTTPDigest", "NSURLAuthenticationMethodHTMLForm", "NSURLAuthenticationMethodNTLM",
    "NSURLAuthenticationMethodNegotiate", "NSURLAuthenticationMethodClientCertificate",
    "NSURLAuthenticationMethodServerTrust"
]
"""The value corresponds to `URLProtectionSpace.authenticationMethod`. `NSURLAuthenticationMethodDefault` is the
method of the protocol itself, which is user and password for a SOCKS proxy. In a stored credential, it stands
for every method with a password.
"""


class ProtectionSpaceSetting(TypedDict):
    """The object is the protection space that a client sets a credential for (`URLProtectionSpace`)."""
    host: str
    """`host` is the host of the server or of the proxy. It has at most 253 bytes."""
    port: NotRequired[int]
    """The default is the port of the protocol."""
    protocol: NotRequired[Literal["http", "https", "socks5"]]
    realm: NotRequired[Optional[str]]
    """Null means every realm. A realm has at most 1 KiB."""
    authenticationMethod: NotRequired[AuthenticationMethod]
    """`NSURLAuthenticationMethodServerTrust` is not allowed, because trust is decided for each chain. The default
    is `NSURLAuthenticationMethodDefault`.
    """
    isProxy: NotRequired[bool]


class ProtectionSpace(TypedDict):
    """The object describes the servers or proxies for which a credential is valid (`URLProtectionSpace`). In a
    challenge, it also has the properties that the server sent.
    """
    host: str
    """`host` is the host of the server or of the proxy."""
    port: NotRequired[int]
    """The default is the port of the protocol."""
    protocol: NotRequired[Literal["http", "https", "socks5"]]
    realm: NotRequired[Optional[str]]
    """Null means that the method has no realm. In a stored credential, null means every realm."""
    authenticationMethod: NotRequired[AuthenticationMethod]
    isProxy: NotRequired[bool]
    serverTrust: NotRequired[ServerTrust]
    """`serverTrust` is present in a ServerTrust challenge."""
    distinguishedNames: NotRequired[List[str]]
    """`distinguishedNames` is present in a ClientCertificate challenge. It names the certificate authorities whose
    certificates the server accepts (RFC 2253). An empty list means any.
    """


class ServerTrust(TypedDict):
    certificates: List[ServerCertificate]
    """The list is the certificate chain that the server sent, with its own certificate first."""
    evaluation: TrustEvaluation
    """`evaluation` is the default evaluation of the chain. It applies without an answer."""


class ServerCertificate(TypedDict):
    subject: str
    """`subject` is in the form of RFC 2253."""
    issuer: str
    notBefore: Time
    notAfter: Time
    sha256: str
    """`sha256` is the SHA-256 of the certificate, in hexadecimal."""
    publicKeySHA256: str
    """`publicKeySHA256` is the base64 of the SHA-256 of the certificate's public key. Pins have the same form."""
    pem: str


class TrustEvaluation(TypedDict):
    isTrusted: bool
    code: Optional[str]
    """`code` is the name of the error with which the task would end."""
    message: str


class CredentialCreation(TypedDict):
    """The object is a user with a password, or a client certificate with its key (`URLCredential`). A user has at most
    1 KiB and a password at most 16 KiB. Certificates have at most 64 KiB each. Larger values get 422.
    """
    user: NotRequired[Optional[str]]
    """`user` is null with a certificate."""
    password: NotRequired[str]
    clientCertificate: NotRequired[str]
    """The text is PEM. The certificates of the certificate authorities may follow the client's own. The chain has
    at most 16 certificates; a longer one gets 422.
    """
    privateKey: NotRequired[str]
    """The text is PEM, without a passphrase."""
    persistence: NotRequired[Literal["none", "forSession", "permanent"]]
    """The value corresponds to `URLCredential.Persistence`. It determines how long Ferry keeps the credential:

    - `none`: only for the task. It is the default in an answer, and not allowed when a credential is set.
    - `forSession`: until the session is invalid or the service stops. It is the default when a credential is
      set.
    - `permanent`: in the database, encrypted. An ephemeral session keeps these in memory.

    A background session stores `forSession` credentials in the database until it is invalid, so they survive
    the service.
    """


class Credential(TypedDict):
    """The object is a credential without its secret."""
    user: Optional[str]
    """`user` is null for a certificate."""
    clientCertificate: NotRequired[str]
    """The text is PEM."""
    persistence: Literal["none", "forSession", "permanent"]


class CredentialSetting(TypedDict):
    protectionSpace: ProtectionSpaceSetting
    credential: CredentialCreation


class CredentialDeletion(TypedDict):
    protectionSpace: NotRequired[ProtectionSpaceSetting]


class CredentialEntry(TypedDict):
    protectionSpace: ProtectionSpace
    credential: Credential


class CredentialPage(TypedDict):
    items: List[CredentialEntry]
    nextCursor: Optional[str]
    """`nextCursor` is always null, because one page has all credentials."""


class ChallengeAnswer(TypedDict):
    disposition: Literal["useCredential", "performDefaultHandling", "cancelAuthenticationChallenge", "rejectProtectionSpace"]
    """The values correspond to `URLSession.AuthChallengeDisposition`:

    - `useCredential`: use `credential`.
    - `performDefaultHandling`: use a stored credential that was not refused yet. Without one, the response is
      the result.
    - `cancelAuthenticationChallenge`: cancel the task.
    - `rejectProtectionSpace`: continue with the next scheme that the server offered. Without one, it does the
      same as `performDefaultHandling`.
    """
    credential: NotRequired[Optional[Union[CredentialCreation, Credential, TrustAnswer]]]
    """`credential` is only allowed with `useCredential`. Null continues without a credential. `trust` answers a
    ServerTrust challenge: Ferry trusts exactly this chain for this host in this session.
    """


class TrustAnswer(TypedDict):
    trust: bool


class RedirectAnswer(TypedDict):
    request: Optional[RequestAnswer]
    """`request` is the request that Ferry sends: the proposed one or another. With null, the redirect's own
    response and body are the result.
    """


class ResponseAnswer(TypedDict):
    disposition: Literal["allow", "cancel", "becomeDownload"]
    """The property corresponds to `URLSession.ResponseDisposition`. With `allow`, the task receives the body. With
    `cancel`, Ferry cancels the task. With `becomeDownload`, a new download task continues the transfer, and
    `dataTask.didBecomeDownloadTask` names it.
    """


class CachingAnswer(TypedDict):
    storagePolicy: Literal["allowed", "allowedInMemoryOnly", "notAllowed"]
    response: NotRequired[Optional[StoredResponseAnswer]]
    """`response` replaces the response that Ferry stores. It is not allowed with `notAllowed`."""


class StoredResponseAnswer(TypedDict):
    """The object is the response that the cache stores. URL, status and body do not change."""
    headers: Dict[str, str]
    """These header fields replace all header fields of the stored response. Later tasks that read from the cache
    receive them. They also determine how long the response is fresh, and whether Ferry may store it at all.

    Some fields cannot change. The answer may omit them, or repeat the values that Ferry showed; other values
    get 400:

    - The cache never stores `Connection`, `Keep-Alive`, `Proxy-Connection`, `Proxy-Authenticate`,
      `Proxy-Authentication-Info`, `Proxy-Authorization`, `TE`, `Trailer`, `Transfer-Encoding`, `Upgrade`,
      `Set-Cookie` and `Set-Cookie2`.
    - `Age`, `Content-Encoding`, `Content-Length`, `Content-Range`, `Date`, `ETag`, `Last-Modified` and `Vary`
      keep their values.

    If the origin later confirms the response with 304, the fields of the 304 replace those with the same names.
    A field has at most 64 KiB, and all fields together have at most 256 KiB.
    """


class DelayedRequestAnswer(TypedDict):
    disposition: Literal["continueLoading", "useNewRequest", "cancel"]
    request: NotRequired[Optional[RequestAnswer]]
    """`request` is the request that Ferry sends. It is required with `useNewRequest`, and not allowed otherwise."""


class RequestAnswer(TypedDict):
    """The object is the request that replaces the proposed one. Ferry copies no other members from the proposed
    request. A client may send the proposed request back unchanged.
    """
    url: str
    method: NotRequired[str]
    headers: NotRequired[RequestHeaders]
    body: NotRequired[Optional[RequestBodyAnswer]]
    timeoutInterval: NotRequired[Seconds]
    cachePolicy: NotRequired[CachePolicy]
    """The property corresponds to `URLRequest.cachePolicy`. The default is the session's `requestCachePolicy`."""
    httpShouldHandleCookies: NotRequired[bool]
    """The property corresponds to `URLRequest.httpShouldHandleCookies`. If true, the request carries cookies and
    the session stores those of the response.
    """
    mainDocumentURL: NotRequired[Optional[str]]
    """`URLRequest.mainDocumentURL` is the document that the request is a part of. The default is the request's own
    URL.
    """
    allowsCellularAccess: NotRequired[bool]
    """The property corresponds to `URLRequest.allowsCellularAccess`. The session's configuration can also forbid
    it.
    """
    allowsExpensiveNetworkAccess: NotRequired[bool]
    allowsConstrainedNetworkAccess: NotRequired[bool]
    networkServiceType: NotRequired[NetworkServiceType]
    """The property corresponds to `URLRequest.networkServiceType`. `default` means the session's
    `networkServiceType`.
    """
    requiresDNSSECValidation: NotRequired[bool]
    """`URLRequest.requiresDNSSECValidation` must be false. Ferry refuses true with 400."""


class Metrics(TypedDict):
    taskInterval: DateInterval
    """`URLSessionTaskMetrics.taskInterval` lasts from the task's creation to its end."""
    redirectCount: int
    transactionMetrics: List[TransactionMetrics]
    """The list has one entry for each request that Ferry sent, including redirects, and for each response from the
    cache.
    """


class DateInterval(TypedDict):
    start: Time
    end: Time
    duration: float
    """`duration` is in seconds."""


class TransactionRequest(TypedDict):
    url: str
    method: str


class TransactionMetrics(TypedDict):
    """The object has the metrics of one request and its response (`URLSessionTaskTransactionMetrics`). Times and
    addresses are absent if their step did not happen.
    """
    request: NotRequired[TransactionRequest]
    response: NotRequired[Optional[TransactionResponse]]
    fetchStartDate: NotRequired[Time]
    domainLookupStartDate: NotRequired[Time]
    domainLookupEndDate: NotRequired[Time]
    connectStartDate: NotRequired[Time]
    secureConnectionStartDate: NotRequired[Time]
    secureConnectionEndDate: NotRequired[Time]
    connectEndDate: NotRequired[Time]
    requestStartDate: NotRequired[Time]
    requestEndDate: NotRequired[Time]
    responseStartDate: NotRequired[Time]
    responseEndDate: NotRequired[Time]
    networkProtocolName: NotRequired[Optional[str]]
    resourceFetchType: NotRequired[Literal["networkLoad", "localCache"]]
    isReusedConnection: NotRequired[bool]
    isProxyConnection: NotRequired[bool]
    localAddress: NotRequired[str]
    localPort: NotRequired[int]
    remoteAddress: NotRequired[str]
    remotePort: NotRequired[int]
    isCellular: NotRequired[bool]
    """If true, the request used an interface that the operator classifies as cellular (`--interface-class`).
    `isExpensive` and `isConstrained` have the corresponding meaning.
    """
    isExpensive: NotRequired[bool]
    isConstrained: NotRequired[bool]
    isMultipath: NotRequired[bool]
    """The value is always false."""
    negotiatedTLSProtocolVersion: NotRequired[str]
    negotiatedTLSCipherSuite: NotRequired[str]
    """The value is the suite's name in the IANA registry."""
    domainResolutionProtocol: NotRequired[Literal["unknown"]]
    """The value is always `unknown`, because the system does not report how it resolves names."""
    countOfRequestHeaderBytesSent: NotRequired[int]
    countOfRequestBodyBytesSent: NotRequired[int]
    countOfRequestBodyBytesBeforeEncoding: NotRequired[int]
    """The value counts the bytes of the body itself. It excludes the framing of a chunked body."""
    countOfResponseHeaderBytesReceived: NotRequired[int]
    countOfResponseBodyBytesReceived: NotRequired[int]
    countOfResponseBodyBytesAfterDecoding: NotRequired[int]


EventType = Literal[
    "task.didCreate", "task.didChangeState", "session.didReceiveChallenge", "task.didReceiveChallenge",
    "task.willPerformHTTPRedirection", "task.needNewBodyStream", "task.didSendBodyData",
    "task.didReceiveInformationalResponse", "task.isWaitingForConnectivity", "task.willBeginDelayedRequest",
    "dataTask.didReceiveResponse", "dataTask.didReceiveData", "dataTask.didBecomeDownloadTask",
    "dataTask.willCacheResponse", "downloadTask.didResumeAtOffset", "downloadTask.didWriteData",
    "downloadTask.didFinishDownloading", "task.didFinishCollectingMetrics", "task.didComplete",
    "session.handleEvents", "group.didComplete", "session.didFinishEvents", "session.didBecomeInvalid",
    "events.didReset", "decision.answerWasRejected", "webhook.endpointDidDisable", "webhook.test"
]


class TaskCreatedData(TypedDict):
    kind: TaskKind
    taskIdentifier: int
    url: str
    method: str
    description: Optional[str]
    group: NotRequired[GroupName]
    labels: NotRequired[Labels]


class TaskStateChangedData(TypedDict):
    state: TaskState
    phase: TaskPhase
    lastError: NotRequired[LastError]
    nextAttemptAt: NotRequired[NextAttemptAt]


LastError = Union["TaskError"]
"""`lastError` is the error of the last attempt. It is present only in the phase `waitingToRetry`."""


NextAttemptAt = str
"""The next attempt begins at this time or later. The member is present together with `lastError`."""


class DecisionNotice(TypedDict):
    """The `data` of a decision's event has these members. They are absent if the call is not a decision."""
    decisionId: NotRequired[DecisionID]
    expiresAt: NotRequired[Time]
    """`expiresAt` is the time when the decision expires and `default` applies."""
    default: NotRequired[DecisionDefault]


class ChallengedData(TypedDict):
    """A server or a proxy asks who the client is, or the trust of a server is in doubt (`URLAuthenticationChallenge`).
    `taskId` is the task whose request or connection is challenged.
    """
    decisionId: NotRequired[DecisionID]
    expiresAt: NotRequired[Time]
    """`expiresAt` is the time when the decision expires and `default` applies."""
    default: NotRequired[DecisionDefault]
    protectionSpace: ProtectionSpace
    proposedCredential: Optional[ProposedCredential]
    previousFailureCount: int
    """`previousFailureCount` is the number of the task's credentials that this server or proxy has refused."""
    failureResponse: Optional[Response]
    """`failureResponse` is the response with 401 or 407. It is null if there was none."""


class RedirectedData(TypedDict):
    """The object has the arguments of `task.willPerformHTTPRedirection`."""
    decisionId: NotRequired[DecisionID]
    expiresAt: NotRequired[Time]
    """`expiresAt` is the time when the decision expires and `default` applies."""
    default: NotRequired[DecisionDefault]
    response: Response
    """`response` is the redirect response."""
    request: Request
    """`request` is the proposed request to the redirect's location."""


class BodyNeededData(TypedDict):
    """The object has the arguments of `task.needNewBodyStream`. The client must send the request's body, or send it
    again. The call is always a decision.
    """
    decisionId: DecisionID
    expiresAt: Time
    """`expiresAt` is the time when the decision expires and `default` applies."""
    default: DecisionDefault


class WillCacheData(TypedDict):
    """The object has the arguments of `dataTask.willCacheResponse`. The cache is about to store a response."""
    decisionId: NotRequired[DecisionID]
    expiresAt: NotRequired[Time]
    """`expiresAt` is the time when the decision expires and `default` applies."""
    default: NotRequired[DecisionDefault]
    response: Response
    countOfBytes: int
    """`countOfBytes` is the number of bytes of the response's body."""
    storagePolicy: Literal["allowed"]
    """`storagePolicy` is the policy that applies without an answer."""


class DelayedData(TypedDict):
    """The object has the arguments of `task.willBeginDelayedRequest`. The task's `earliestBeginDate` has come."""
    decisionId: NotRequired[DecisionID]
    expiresAt: NotRequired[Time]
    """`expiresAt` is the time when the decision expires and `default` applies."""
    default: NotRequired[DecisionDefault]
    request: Request
    """`request` is the request that Ferry is about to send."""


class InformedData(TypedDict):
    status: int
    headers: Headers


class RespondedData(TypedDict):
    """The object has the arguments of `dataTask.didReceiveResponse`. A `multipart/x-mixed-replace` response has one
    event for each part.
    """
    decisionId: NotRequired[DecisionID]
    expiresAt: NotRequired[Time]
    """`expiresAt` is the time when the decision expires and `default` applies."""
    default: NotRequired[DecisionDefault]
    response: Response


class SentData(TypedDict):
    """The object has the arguments of `task.didSendBodyData`. They count the bytes of the request's body since the
    previous event, so far, and in total. An unknown total is -1.
    """
    bytesSent: int
    totalBytesSent: int
    totalBytesExpectedToSend: int


class ReceivedData(TypedDict):
    """The object has the arguments of `dataTask.didReceiveData`. They count the bytes of the response's body since the
    previous event, so far, and in total. An unknown total is -1.
    """
    bytesReceived: int
    countOfBytesReceived: int
    countOfBytesExpectedToReceive: int
    data: NotRequired[str]
    """With `data=inline`, `data` has the bytes."""


class BecameDownloadData(TypedDict):
    """The object has the arguments of `dataTask.didBecomeDownloadTask`. The transfer continues as another task. This
    task has ended, without a `task.didComplete`.
    """
    downloadTaskId: TaskID
    downloadTask: Task


class ResumedData(TypedDict):
    """The object has the arguments of `downloadTask.didResumeAtOffset`. The download continues at this offset; 0 means
    that it started from the beginning.
    """
    fileOffset: int
    """`fileOffset` is the number of bytes that were already stored."""
    expectedTotalBytes: int
    """`expectedTotalBytes` is the number of bytes of the complete body, or -1 if it is unknown."""


class WrittenData(TypedDict):
    """The object has the arguments of `downloadTask.didWriteData`. They count the bytes of the body since the previous
    event, so far, and in total. An unknown total is -1.
    """
    bytesWritten: int
    totalBytesWritten: int
    totalBytesExpectedToWrite: int


class DownloadedData(TypedDict):
    body: Body
    suggestedFilename: Optional[str]


class MeasuredData(TypedDict):
    metrics: Metrics


class CompletedData(TypedDict):
    error: Optional[TaskError]
    status: Optional[int]
    """`status` is the status of the origin's response. It is null without a response."""
    body: Optional[Body]
    task: NotRequired[Task]
    """`task` is the task at its end. Only webhook messages have it."""


class HandleEventsData(TypedDict):
    identifier: BackgroundIdentifier


class FinishedEventsData(TypedDict):
    """The object has no members of its own."""


class InvalidatedData(TypedDict):
    error: Optional[str]
    """The value is always null."""


class ResetData(TypedDict):
    oldestAvailable: int
    """`oldestAvailable` is the id of the event with which the replay starts."""


class AnswerRejectedData(TypedDict):
    """The answer of a webhook was invalid or came too late, so Ferry did not apply it. If the decision was pending, its
    default was applied.
    """
    decisionId: DecisionID
    reason: str


class EndpointDisabledData(TypedDict):
    """A client disabled an endpoint, or Ferry did because the endpoint failed."""
    endpoint: EndpointID
    url: str
    reason: str


class WebhookSubject(TypedDict):
    sessionId: Optional[SessionID]
    """`sessionId` is null for `webhook.endpointDidDisable`."""
    taskId: Optional[str]


class Usage(TypedDict):
    tasks: Dict[str, int]
    """The numbers of tasks that have not ended, by state, and of those that have ended, by outcome."""
    disk: Optional[DiskSpace]
    """The space of the file system that has the data directory. It is null if the service cannot read it."""


class DiskSpace(TypedDict):
    availableBytes: int
    """The space that Ferry may use."""
    totalBytes: int


class ServiceSettings(TypedDict):
    settings: List[ServiceSetting]
    limits: List[ServiceLimit]


ServiceSetting = TypedDict("ServiceSetting", {"name": "str", "value": "Dict[str, Any]", "source": "Literal[\"commandLine\", \"environment\", \"file\", \"workingDirectory\", \"default\"]", "from": "Optional[str]"})


class ServiceLimit(TypedDict):
    name: str
    value: int
    unit: Literal["bytes", "seconds", "count"]
    meaning: str
    beyond: str
    """The effect of exceeding the limit."""


class Version(TypedDict):
    name: Literal["ferry"]
    version: str


ProblemName = Literal[
    "invalid-request", "malformed-json", "malformed-http", "unauthorized", "host-not-allowed",
    "origin-not-allowed", "destination-not-permitted", "not-found", "body-not-found", "method-not-allowed",
    "not-acceptable", "conflict", "body-not-ready", "decision-settled", "upload-interrupted",
    "precondition-failed", "idempotency-in-progress", "identifier-in-use", "payload-too-large", "request-timeout",
    "target-too-long", "head-too-large", "unsupported-media-type", "range-not-satisfiable",
    "idempotency-mismatch", "limit-exceeded", "unprocessable", "quota-exceeded", "internal-error",
    "stored-data-unreadable", "draining", "store-unavailable", "insufficient-storage"
]


class Problem(TypedDict):
    """The object is a problem in the form of RFC 9457."""
    type: str
    """`type` is the path of a page that explains the problem. It does not change between versions."""
    title: str
    status: int
    detail: NotRequired[str]
    """`detail` explains the problem of this request."""
    line: NotRequired[int]
    """`line` is the number of the batch's line, from 1. Blank lines count."""
    errors: NotRequired[List[FieldError]]
    """`errors` lists the fields at fault. It has at most 100 entries, and at most 10 for a line of a batch."""
    omittedErrors: NotRequired[int]
    """`omittedErrors` is the number of fields at fault that `errors` leaves out. It is absent if there are none."""


FieldError = TypedDict("FieldError", {"pointer": "str", "in": "NotRequired[Literal[\"query\", \"header\"]]", "detail": "str"})


class MessageTaskCreatedData(TaskCreatedData, WebhookSubject):
    pass


class MessageTaskStateChangedData(TaskStateChangedData, WebhookSubject):
    pass


class MessageChallengedData(ChallengedData, WebhookSubject):
    pass


class MessageRedirectedData(RedirectedData, WebhookSubject):
    pass


class MessageBodyNeededData(BodyNeededData, WebhookSubject):
    pass


class MessageSentData(SentData, WebhookSubject):
    pass


class MessageInformedData(InformedData, WebhookSubject):
    pass


class MessageFinishedEventsData(FinishedEventsData, WebhookSubject):
    pass


class MessageDelayedData(DelayedData, WebhookSubject):
    pass


class MessageRespondedData(RespondedData, WebhookSubject):
    pass


class MessageReceivedData(ReceivedData, WebhookSubject):
    pass


class MessageBecameDownloadData(BecameDownloadData, WebhookSubject):
    pass


class MessageWillCacheData(WillCacheData, WebhookSubject):
    pass


class MessageResumedData(ResumedData, WebhookSubject):
    pass


class MessageWrittenData(WrittenData, WebhookSubject):
    pass


class MessageDownloadedData(DownloadedData, WebhookSubject):
    pass


class MessageMeasuredData(MeasuredData, WebhookSubject):
    pass


class MessageCompletedData(CompletedData, WebhookSubject):
    pass


class MessageHandleEventsData(HandleEventsData, WebhookSubject):
    pass


class MessageGroup(Group, WebhookSubject):
    pass


class MessageInvalidatedData(InvalidatedData, WebhookSubject):
    pass


class MessageResetData(ResetData, WebhookSubject):
    pass


class MessageAnswerRejectedData(AnswerRejectedData, WebhookSubject):
    pass


class MessageEndpointDisabledData(EndpointDisabledData, WebhookSubject):
    pass


class TaskDidCreateEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.didCreate"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: TaskCreatedData


class TaskDidChangeStateEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.didChangeState"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: TaskStateChangedData


class SessionDidReceiveChallengeEvent(TypedDict):
    id: Optional[int]
    type: Literal["session.didReceiveChallenge"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: ChallengedData


class TaskDidReceiveChallengeEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.didReceiveChallenge"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: ChallengedData


class TaskWillPerformHTTPRedirectionEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.willPerformHTTPRedirection"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: RedirectedData


class TaskNeedNewBodyStreamEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.needNewBodyStream"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: BodyNeededData


class TaskDidSendBodyDataEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.didSendBodyData"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: SentData


class TaskDidReceiveInformationalResponseEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.didReceiveInformationalResponse"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: InformedData


class TaskIsWaitingForConnectivityEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.isWaitingForConnectivity"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: FinishedEventsData


class TaskWillBeginDelayedRequestEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.willBeginDelayedRequest"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: DelayedData


class DataTaskDidReceiveResponseEvent(TypedDict):
    id: Optional[int]
    type: Literal["dataTask.didReceiveResponse"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: RespondedData


class DataTaskDidReceiveDataEvent(TypedDict):
    id: Optional[int]
    type: Literal["dataTask.didReceiveData"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: ReceivedData


class DataTaskDidBecomeDownloadTaskEvent(TypedDict):
    id: Optional[int]
    type: Literal["dataTask.didBecomeDownloadTask"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: BecameDownloadData


class DataTaskWillCacheResponseEvent(TypedDict):
    id: Optional[int]
    type: Literal["dataTask.willCacheResponse"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: WillCacheData


class DownloadTaskDidResumeAtOffsetEvent(TypedDict):
    id: Optional[int]
    type: Literal["downloadTask.didResumeAtOffset"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: ResumedData


class DownloadTaskDidWriteDataEvent(TypedDict):
    id: Optional[int]
    type: Literal["downloadTask.didWriteData"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: WrittenData


class DownloadTaskDidFinishDownloadingEvent(TypedDict):
    id: Optional[int]
    type: Literal["downloadTask.didFinishDownloading"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: DownloadedData


class TaskDidFinishCollectingMetricsEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.didFinishCollectingMetrics"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: MeasuredData


class TaskDidCompleteEvent(TypedDict):
    id: Optional[int]
    type: Literal["task.didComplete"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: CompletedData


class SessionHandleEventsEvent(TypedDict):
    id: Optional[int]
    type: Literal["session.handleEvents"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: HandleEventsData


class GroupDidCompleteEvent(TypedDict):
    id: Optional[int]
    type: Literal["group.didComplete"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: Group


class SessionDidFinishEventsEvent(TypedDict):
    id: Optional[int]
    type: Literal["session.didFinishEvents"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: FinishedEventsData


class SessionDidBecomeInvalidEvent(TypedDict):
    id: Optional[int]
    type: Literal["session.didBecomeInvalid"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: InvalidatedData


class EventsDidResetEvent(TypedDict):
    id: Optional[int]
    type: Literal["events.didReset"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: ResetData


class DecisionAnswerWasRejectedEvent(TypedDict):
    id: Optional[int]
    type: Literal["decision.answerWasRejected"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: AnswerRejectedData


class WebhookEndpointDidDisableEvent(TypedDict):
    id: Optional[int]
    type: Literal["webhook.endpointDidDisable"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: EndpointDisabledData


class WebhookTestEvent(TypedDict):
    id: Optional[int]
    type: Literal["webhook.test"]
    time: Time
    sessionId: Optional[str]
    taskId: Optional[str]
    data: FinishedEventsData


class TaskDidCreateMessage(TypedDict):
    type: Literal["task.didCreate"]
    timestamp: Time
    data: MessageTaskCreatedData


class TaskDidChangeStateMessage(TypedDict):
    type: Literal["task.didChangeState"]
    timestamp: Time
    data: MessageTaskStateChangedData


class SessionDidReceiveChallengeMessage(TypedDict):
    type: Literal["session.didReceiveChallenge"]
    timestamp: Time
    data: MessageChallengedData


class TaskDidReceiveChallengeMessage(TypedDict):
    type: Literal["task.didReceiveChallenge"]
    timestamp: Time
    data: MessageChallengedData


class TaskWillPerformHTTPRedirectionMessage(TypedDict):
    type: Literal["task.willPerformHTTPRedirection"]
    timestamp: Time
    data: MessageRedirectedData


class TaskNeedNewBodyStreamMessage(TypedDict):
    type: Literal["task.needNewBodyStream"]
    timestamp: Time
    data: MessageBodyNeededData


class TaskDidSendBodyDataMessage(TypedDict):
    type: Literal["task.didSendBodyData"]
    timestamp: Time
    data: MessageSentData


class TaskDidReceiveInformationalResponseMessage(TypedDict):
    type: Literal["task.didReceiveInformationalResponse"]
    timestamp: Time
    data: MessageInformedData


class TaskIsWaitingForConnectivityMessage(TypedDict):
    type: Literal["task.isWaitingForConnectivity"]
    timestamp: Time
    data: MessageFinishedEventsData


class TaskWillBeginDelayedRequestMessage(TypedDict):
    type: Literal["task.willBeginDelayedRequest"]
    timestamp: Time
    data: MessageDelayedData


class DataTaskDidReceiveResponseMessage(TypedDict):
    type: Literal["dataTask.didReceiveResponse"]
    timestamp: Time
    data: MessageRespondedData


class DataTaskDidReceiveDataMessage(TypedDict):
    type: Literal["dataTask.didReceiveData"]
    timestamp: Time
    data: MessageReceivedData


class DataTaskDidBecomeDownloadTaskMessage(TypedDict):
    type: Literal["dataTask.didBecomeDownloadTask"]
    timestamp: Time
    data: MessageBecameDownloadData


class DataTaskWillCacheResponseMessage(TypedDict):
    type: Literal["dataTask.willCacheResponse"]
    timestamp: Time
    data: MessageWillCacheData


class DownloadTaskDidResumeAtOffsetMessage(TypedDict):
    type: Literal["downloadTask.didResumeAtOffset"]
    timestamp: Time
    data: MessageResumedData


class DownloadTaskDidWriteDataMessage(TypedDict):
    type: Literal["downloadTask.didWriteData"]
    timestamp: Time
    data: MessageWrittenData


class DownloadTaskDidFinishDownloadingMessage(TypedDict):
    type: Literal["downloadTask.didFinishDownloading"]
    timestamp: Time
    data: MessageDownloadedData


class TaskDidFinishCollectingMetricsMessage(TypedDict):
    type: Literal["task.didFinishCollectingMetrics"]
    timestamp: Time
    data: MessageMeasuredData


class TaskDidCompleteMessage(TypedDict):
    type: Literal["task.didComplete"]
    timestamp: Time
    data: MessageCompletedData


class SessionHandleEventsMessage(TypedDict):
    type: Literal["session.handleEvents"]
    timestamp: Time
    data: MessageHandleEventsData


class GroupDidCompleteMessage(TypedDict):
    type: Literal["group.didComplete"]
    timestamp: Time
    data: MessageGroup


class SessionDidFinishEventsMessage(TypedDict):
    type: Literal["session.didFinishEvents"]
    timestamp: Time
    data: MessageFinishedEventsData


class SessionDidBecomeInvalidMessage(TypedDict):
    type: Literal["session.didBecomeInvalid"]
    timestamp: Time
    data: MessageInvalidatedData


class EventsDidResetMessage(TypedDict):
    type: Literal["events.didReset"]
    timestamp: Time
    data: MessageResetData


class DecisionAnswerWasRejectedMessage(TypedDict):
    type: Literal["decision.answerWasRejected"]
    timestamp: Time
    data: MessageAnswerRejectedData


class WebhookEndpointDidDisableMessage(TypedDict):
    type: Literal["webhook.endpointDidDisable"]
    timestamp: Time
    data: MessageEndpointDisabledData


class WebhookTestMessage(TypedDict):
    type: Literal["webhook.test"]
    timestamp: Time
    data: MessageFinishedEventsData


Event = Union[
    TaskDidCreateEvent,
    TaskDidChangeStateEvent,
    SessionDidReceiveChallengeEvent,
    TaskDidReceiveChallengeEvent,
    TaskWillPerformHTTPRedirectionEvent,
    TaskNeedNewBodyStreamEvent,
    TaskDidSendBodyDataEvent,
    TaskDidReceiveInformationalResponseEvent,
    TaskIsWaitingForConnectivityEvent,
    TaskWillBeginDelayedRequestEvent,
    DataTaskDidReceiveResponseEvent,
    DataTaskDidReceiveDataEvent,
    DataTaskDidBecomeDownloadTaskEvent,
    DataTaskWillCacheResponseEvent,
    DownloadTaskDidResumeAtOffsetEvent,
    DownloadTaskDidWriteDataEvent,
    DownloadTaskDidFinishDownloadingEvent,
    TaskDidFinishCollectingMetricsEvent,
    TaskDidCompleteEvent,
    SessionHandleEventsEvent,
    GroupDidCompleteEvent,
    SessionDidFinishEventsEvent,
    SessionDidBecomeInvalidEvent,
    EventsDidResetEvent,
    DecisionAnswerWasRejectedEvent,
    WebhookEndpointDidDisableEvent,
    WebhookTestEvent,
]
"""An event of a stream. `type` selects the type of `data`."""


WebhookMessage = Union[
    TaskDidCreateMessage,
    TaskDidChangeStateMessage,
    SessionDidReceiveChallengeMessage,
    TaskDidReceiveChallengeMessage,
    TaskWillPerformHTTPRedirectionMessage,
    TaskNeedNewBodyStreamMessage,
    TaskDidSendBodyDataMessage,
    TaskDidReceiveInformationalResponseMessage,
    TaskIsWaitingForConnectivityMessage,
    TaskWillBeginDelayedRequestMessage,
    DataTaskDidReceiveResponseMessage,
    DataTaskDidReceiveDataMessage,
    DataTaskDidBecomeDownloadTaskMessage,
    DataTaskWillCacheResponseMessage,
    DownloadTaskDidResumeAtOffsetMessage,
    DownloadTaskDidWriteDataMessage,
    DownloadTaskDidFinishDownloadingMessage,
    TaskDidFinishCollectingMetricsMessage,
    TaskDidCompleteMessage,
    SessionHandleEventsMessage,
    GroupDidCompleteMessage,
    SessionDidFinishEventsMessage,
    SessionDidBecomeInvalidMessage,
    EventsDidResetMessage,
    DecisionAnswerWasRejectedMessage,
    WebhookEndpointDidDisableMessage,
    WebhookTestMessage,
]
"""A webhook message. `type` selects the type of `data`."""
