// The objects of the contract, as JSON has them. clients/generate.py writes this file from openapi.yaml.

export type SessionID = string;

export type TaskID = string;

export type DecisionID = string;

export type EndpointID = string;

export type DeliveryID = string;

export type FileID = string;

export type Time = string;

/** The description is for the client's own use. It has at most 64 KiB of UTF-8. */
export type Description = string | null;

/** The object has header fields by name. Commas join the values of fields with the same name. */
export type Headers = Record<string, string>;

/**
 * An `active` session accepts tasks. An `invalidating` session accepts no tasks and waits for the end of its
 * tasks. An `invalid` session has ended.
 */
export type SessionState = 'active' | 'invalidating' | 'invalid';

export interface SessionCreation {
  type?: SessionType;
  /** `identifier` is required for a background session. Other sessions have none. */
  identifier?: BackgroundIdentifier | null;
  description?: Description;
  configuration?: SessionConfigurationCreation;
  /**
   * `delegate` determines which calls are decisions, and where Ferry posts messages. With null, the session has
   * no decisions and no webhook; event streams have all events anyway. A background session requires a delegate.
   */
  delegate?: Delegate | null;
}

/**
 * The object is the configuration of a session. If `named` is present, properties that are absent here come from
 * that named configuration.
 */
export interface SessionConfigurationCreation {
  requestCachePolicy?: CachePolicy;
  /**
   * The property corresponds to `URLSessionConfiguration.httpShouldSetCookies`. If true, requests carry the
   * session's cookies. The session stores the cookies of responses in both cases.
   */
  httpShouldSetCookies?: boolean;
  /**
   * `URLSessionConfiguration.httpCookieAcceptPolicy` determines which cookies the session stores.
   * `onlyFromMainDocumentDomain` refuses cookies whose registrable domain differs from that of the request's
   * `mainDocumentURL`. A request without one is its own main document.
   */
  httpCookieAcceptPolicy?: 'always' | 'never' | 'onlyFromMainDocumentDomain';
  /**
   * The property corresponds to `URLSessionConfiguration.urlCache`. With null, the session has no cache. A
   * background session accepts only null. An ephemeral session accepts only a `diskCapacity` of 0.
   */
  urlCache?: URLCacheConfiguration | null;
  /**
   * The property corresponds to `URLSessionConfiguration.waitsForConnectivity`. If true, a task without a usable
   * network waits for one; otherwise, it fails. A background session always waits.
   */
  waitsForConnectivity?: boolean;
  /**
   * The property corresponds to `URLSessionConfiguration.allowsCellularAccess`. If false, tasks do not use
   * network interfaces that the operator classifies as cellular (`--interface-class`). If no other interface
   * reaches the origin, a task waits or fails with `notConnectedToInternet`. The error then has a
   * `networkUnavailableReason`.
   */
  allowsCellularAccess?: boolean;
  /**
   * `URLSessionConfiguration.allowsExpensiveNetworkAccess` has the same effect for interfaces that are
   * classified as expensive.
   */
  allowsExpensiveNetworkAccess?: boolean;
  /**
   * `URLSessionConfiguration.allowsConstrainedNetworkAccess` has the same effect for interfaces that are
   * classified as constrained.
   */
  allowsConstrainedNetworkAccess?: boolean;
  /**
   * `URLSessionConfiguration.networkServiceType` applies to tasks whose request has no `networkServiceType` of
   * its own.
   */
  networkServiceType?: NetworkServiceType;
  /**
   * `URLSessionConfiguration.requiresDNSSECValidation` must be false. Ferry does not validate DNSSEC and refuses
   * true with 400.
   */
  requiresDNSSECValidation?: boolean;
  /**
   * The property corresponds to `URLSessionConfiguration.isDiscretionary`. If true, tasks of a background
   * session run only while no background task without the property runs. They also wait for the operator's
   * windows (`--discretionary-window`) and for a low load of the machine (`--discretionary-maximum-load`). In
   * other sessions, the property has no effect.
   */
  isDiscretionary?: boolean;
  /**
   * The property corresponds to `URLSessionConfiguration.sessionSendsLaunchEvents`. If true, Ferry posts
   * `session.handleEvents` to the delegate's webhook. In other than background sessions, the property has no
   * effect.
   */
  sessionSendsLaunchEvents?: boolean;
  retry?: RetryConfiguration | null;
  /**
   * `URLSessionConfiguration.timeoutIntervalForRequest` is in seconds. A task ends with `timedOut` if it
   * transfers no byte for that long. A request's `timeoutInterval` overrides the value.
   */
  timeoutIntervalForRequest?: Seconds;
  /**
   * `URLSessionConfiguration.timeoutIntervalForResource` is in seconds. A task ends with `timedOut` if it takes
   * longer than that after its start.
   */
  timeoutIntervalForResource?: Seconds;
  /**
   * `URLSessionConfiguration.httpMaximumConnectionsPerHost` is the maximum number of the session's concurrent
   * requests and connections to one origin. Further tasks wait.
   */
  httpMaximumConnectionsPerHost?: number;
  /**
   * The property corresponds to `URLSessionConfiguration.httpShouldUsePipelining`. If true, a request waits for
   * a connection that can multiplex (HTTP/2) instead of opening another one.
   */
  httpShouldUsePipelining?: boolean;
  /**
   * `URLSessionConfiguration.httpAdditionalHeaders` has the header fields that Ferry adds to requests. The
   * fields of a request override them.
   */
  httpAdditionalHeaders?: RequestHeaders;
  /**
   * The values of request header fields with these names are secret, in addition to the secret fields of
   * `RequestHeaders`. Ferry shows `(redacted)` instead. At most 64 names of at most 256 bytes fit; more get 422.
   */
  secretHeaderFields?: string[];
  /**
   * `URLSessionConfiguration.tlsMinimumSupportedProtocolVersion` is the oldest version of TLS that the session
   * accepts. The default is TLSv1.2, or the maximum version if that is older.
   */
  tlsMinimumSupportedProtocolVersion?: TLSVersion;
  /**
   * `URLSessionConfiguration.tlsMaximumSupportedProtocolVersion` is the newest version of TLS that the session
   * uses.
   */
  tlsMaximumSupportedProtocolVersion?: TLSVersion;
  /**
   * The session trusts these certificate authorities in addition to those of the service. The text is PEM. It
   * has at most 1000 certificates and 4 MiB, and at most 16 certificates with the same subject; more get 422.
   */
  tlsAdditionalRootCertificates?: string | null;
  tlsPinnedPublicKeys?: PinnedPublicKeys;
  proxies?: ProxyConfiguration | null;
  /**
   * The property corresponds to `URLSessionConfiguration.urlCredentialStorage`. If true, the session stores
   * credentials.
   */
  urlCredentialStorage?: boolean;
  /**
   * The tasks of the session together transfer at most this number of bytes in a second, in both directions.
   * Null means no limit.
   */
  maximumBytesPerSecond?: BytesPerSecond;
  /**
   * If true, Ferry follows redirects from https to http. If false, such a redirect ends the task with -1022, as
   * App Transport Security does. If `redirects` is `ask`, the delegate decides instead.
   */
  allowsInsecureRedirects?: boolean;
  /** A client can read the body of a task for this number of seconds after the task's end. Then the body expires. */
  bodyRetention?: number;
  named?: ConfigurationName;
}

/**
 * A `default` session stores cookies, permanent credentials and its cache on disk
 * (`URLSessionConfiguration.default`).
 *
 * An `ephemeral` session stores everything in memory, and is lost when the service stops
 * (`URLSessionConfiguration.ephemeral`). Ferry deletes its bodies, cookies, credentials and cache as soon as it is
 * invalid. Its tasks can be read until the session is deleted.
 *
 * A `background` session (`URLSessionConfiguration.background(withIdentifier:)`) continues its tasks while the
 * service is stopped. It differs from other sessions:
 *
 * - `identifier` is required, and finds the session again.
 * - `delegate` is required. It may be `{}`; then only event streams report the session's tasks.
 * - The session has no cache, and cannot start from a named configuration.
 * - Tasks always wait for connectivity and follow redirects, without events for either. Only challenges and
 *   delayed requests can be decisions. Ferry ignores `ask` for others.
 * - An upload sends a stored file. Bodies cannot be streams.
 * - A failed attempt is repeated after a network error, 429 or 503.
 * - `session.handleEvents` wakes the client. `session.didFinishEvents` reports that every task has ended and every
 *   message was delivered or given up.
 */
export type SessionType = 'default' | 'ephemeral' | 'background';

/**
 * The identifier is unique among a tenant's background sessions that are not invalid. It has at most 255 bytes of
 * UTF-8, without control characters.
 */
export type BackgroundIdentifier = string;

export type ConfigurationName = string;

export interface ConfigurationCreation {
  name: ConfigurationName;
  configuration: SessionConfiguration;
}

export interface NamedConfiguration {
  name: ConfigurationName;
  configuration: SessionConfiguration;
  createdAt: Time;
  updatedAt: Time;
}

export interface ConfigurationPage {
  items: NamedConfiguration[];
  /** `nextCursor` is the `cursor` of the next page. It is null on the last page. */
  nextCursor: string | null;
}

/** The object is a cookie that a client sets (`HTTPCookie`). */
export interface CookieSetting {
  name: string;
  /** `name` and `value` together have at most 4096 bytes. Longer ones get 422. */
  value: string;
  /**
   * `domain` is a host. With a leading dot, the cookie also applies to its subdomains, and a public suffix gets
   * 400. Without `domain`, `url` is required.
   */
  domain?: string | null;
  /** The host and the directory of this URL are the defaults of `domain` and `path`. */
  url?: string | null;
  path?: string | null;
  /**
   * `expiresDate` is the time when the cookie expires, at most 400 days ahead. A later time becomes 400 days.
   * Without a time, the cookie lasts as long as the session.
   */
  expiresDate?: string | null;
  /** `maximumAge` is the number of seconds until the cookie expires. It overrides `expiresDate`. */
  maximumAge?: number | null;
  /** If true, Ferry sends the cookie only over https. */
  isSecure?: boolean;
  isHTTPOnly?: boolean;
  /**
   * `sameSitePolicy` limits requests of other sites. Null means that only `httpCookieAcceptPolicy` decides, as
   * for a cookie without `SameSite`.
   */
  sameSitePolicy?: 'lax' | 'strict' | 'none' | null;
  /** Ferry ignores this member, so that a client can send a listed cookie back. */
  isSessionOnly?: boolean;
  /** Ferry ignores this member, so that a client can send a listed cookie back. */
  createdDate?: string;
}

export type CookieSettings = CookieSetting | CookieSettingPage;

/** The object is a list of cookies to set. It has the form of a session's list of cookies. */
export interface CookieSettingPage {
  items: CookieSetting[];
  /** Ferry ignores this member, so that a client can send a list back. */
  nextCursor?: string | null;
}

/** The object is a cookie (`HTTPCookie`). */
export interface Cookie {
  name: string;
  value: string;
  /** `domain` is a host. With a leading dot, the cookie also applies to its subdomains. */
  domain: string;
  path: string;
  expiresDate: string | null;
  /** If true, the cookie has no `expiresDate` and lasts as long as the session. */
  isSessionOnly: boolean;
  isSecure: boolean;
  isHTTPOnly: boolean;
  sameSitePolicy: 'lax' | 'strict' | 'none' | null;
  createdDate: Time;
}

export interface CookiePage {
  items: Cookie[];
  /** `nextCursor` is always null, because one page has all cookies. */
  nextCursor: string | null;
}

export type Cookies = Cookie | CookiePage;

/** The object describes a session's cache (`URLCache`). Capacities and usages are in bytes. */
export interface Cache {
  memoryCapacity: number;
  currentMemoryUsage: number;
  diskCapacity: number;
  currentDiskUsage: number;
  countOfEntries: number;
  entries: CacheEntry[];
}

export interface CacheEntry {
  url: string;
  status: number;
  /** `size` is the number of bytes of the stored body. */
  size: number;
  /** If false, the cache has only a part of the body. */
  isComplete: boolean;
  /** `storedAt` is the time when the cache last received the response, or the origin last confirmed it. */
  storedAt: Time;
  isInMemory: boolean;
  isOnDisk: boolean;
}

/**
 * `URLRequest.CachePolicy` determines how a task uses the session's cache. With `returnCacheDataDontLoad`, a task
 * without a stored response fails with `cannotLoadFromNetwork`.
 */
export type CachePolicy = 'useProtocolCachePolicy' | 'reloadIgnoringLocalCacheData' |
  'reloadIgnoringLocalAndRemoteCacheData' | 'returnCacheDataElseLoad' | 'returnCacheDataDontLoad' |
  'reloadRevalidatingCacheData';

/** The object names the origin to test. */
export interface Probe {
  /** `url` is the origin's URL, with http or https. */
  url: string;
  /** `timeoutInterval` is the maximum duration of all steps together, in seconds. */
  timeoutInterval?: number;
}

export interface Reachability {
  url: string;
  isReachable: boolean;
  /**
   * `remoteAddress` is the address of the connection. If no connection succeeded, it is the address that Ferry
   * tried last.
   */
  remoteAddress: string | null;
  dns: ReachabilityStep | null;
  connect: ReachabilityStep | null;
  tls: ReachabilityStep | null;
  error: TaskError | null;
}

/** The object is the result of one step. It is null if Ferry did not reach the step. `tls` is also null for http. */
export interface ReachabilityStep {
  ok: boolean;
  /** `duration` is in seconds. */
  duration: number;
}

/**
 * `URLRequest.networkServiceType` names the purpose of the traffic. It determines the mark (DSCP) of the packets
 * that Ferry sends. Routers may use the mark to prioritize packets. Tasks with different marks do not share a
 * connection.
 *
 * The marks are `default` 0, `video` AF41, `background` CS1, `voice` EF, `responsiveData` AF21, `avStreaming`
 * AF31, `responsiveAV` CS4, and `callSignaling` CS5.
 */
export type NetworkServiceType = 'default' | 'video' | 'background' | 'voice' | 'responsiveData' | 'avStreaming' |
  'responsiveAV' | 'callSignaling';

/**
 * The object corresponds to `URLSessionConfiguration`. Ferry refuses the properties of Apple's that it cannot
 * support with 400. `errors` explains why, or names a replacement. A configuration has at most 1 MiB without its
 * certificates; a larger one gets 422.
 */
export interface SessionConfiguration {
  requestCachePolicy?: CachePolicy;
  /**
   * The property corresponds to `URLSessionConfiguration.httpShouldSetCookies`. If true, requests carry the
   * session's cookies. The session stores the cookies of responses in both cases.
   */
  httpShouldSetCookies?: boolean;
  /**
   * `URLSessionConfiguration.httpCookieAcceptPolicy` determines which cookies the session stores.
   * `onlyFromMainDocumentDomain` refuses cookies whose registrable domain differs from that of the request's
   * `mainDocumentURL`. A request without one is its own main document.
   */
  httpCookieAcceptPolicy?: 'always' | 'never' | 'onlyFromMainDocumentDomain';
  /**
   * The property corresponds to `URLSessionConfiguration.urlCache`. With null, the session has no cache. A
   * background session accepts only null. An ephemeral session accepts only a `diskCapacity` of 0.
   */
  urlCache?: URLCacheConfiguration | null;
  /**
   * The property corresponds to `URLSessionConfiguration.waitsForConnectivity`. If true, a task without a usable
   * network waits for one; otherwise, it fails. A background session always waits.
   */
  waitsForConnectivity?: boolean;
  /**
   * The property corresponds to `URLSessionConfiguration.allowsCellularAccess`. If false, tasks do not use
   * network interfaces that the operator classifies as cellular (`--interface-class`). If no other interface
   * reaches the origin, a task waits or fails with `notConnectedToInternet`. The error then has a
   * `networkUnavailableReason`.
   */
  allowsCellularAccess?: boolean;
  /**
   * `URLSessionConfiguration.allowsExpensiveNetworkAccess` has the same effect for interfaces that are
   * classified as expensive.
   */
  allowsExpensiveNetworkAccess?: boolean;
  /**
   * `URLSessionConfiguration.allowsConstrainedNetworkAccess` has the same effect for interfaces that are
   * classified as constrained.
   */
  allowsConstrainedNetworkAccess?: boolean;
  /**
   * `URLSessionConfiguration.networkServiceType` applies to tasks whose request has no `networkServiceType` of
   * its own.
   */
  networkServiceType?: NetworkServiceType;
  /**
   * `URLSessionConfiguration.requiresDNSSECValidation` must be false. Ferry does not validate DNSSEC and refuses
   * true with 400.
   */
  requiresDNSSECValidation?: boolean;
  /**
   * The property corresponds to `URLSessionConfiguration.isDiscretionary`. If true, tasks of a background
   * session run only while no background task without the property runs. They also wait for the operator's
   * windows (`--discretionary-window`) and for a low load of the machine (`--discretionary-maximum-load`). In
   * other sessions, the property has no effect.
   */
  isDiscretionary?: boolean;
  /**
   * The property corresponds to `URLSessionConfiguration.sessionSendsLaunchEvents`. If true, Ferry posts
   * `session.handleEvents` to the delegate's webhook. In other than background sessions, the property has no
   * effect.
   */
  sessionSendsLaunchEvents?: boolean;
  retry?: RetryConfiguration | null;
  /**
   * `URLSessionConfiguration.timeoutIntervalForRequest` is in seconds. A task ends with `timedOut` if it
   * transfers no byte for that long. A request's `timeoutInterval` overrides the value.
   */
  timeoutIntervalForRequest?: Seconds;
  /**
   * `URLSessionConfiguration.timeoutIntervalForResource` is in seconds. A task ends with `timedOut` if it takes
   * longer than that after its start.
   */
  timeoutIntervalForResource?: Seconds;
  /**
   * `URLSessionConfiguration.httpMaximumConnectionsPerHost` is the maximum number of the session's concurrent
   * requests and connections to one origin. Further tasks wait.
   */
  httpMaximumConnectionsPerHost?: number;
  /**
   * The property corresponds to `URLSessionConfiguration.httpShouldUsePipelining`. If true, a request waits for
   * a connection that can multiplex (HTTP/2) instead of opening another one.
   */
  httpShouldUsePipelining?: boolean;
  /**
   * `URLSessionConfiguration.httpAdditionalHeaders` has the header fields that Ferry adds to requests. The
   * fields of a request override them.
   */
  httpAdditionalHeaders?: RequestHeaders;
  /**
   * The values of request header fields with these names are secret, in addition to the secret fields of
   * `RequestHeaders`. Ferry shows `(redacted)` instead. At most 64 names of at most 256 bytes fit; more get 422.
   */
  secretHeaderFields?: string[];
  /**
   * `URLSessionConfiguration.tlsMinimumSupportedProtocolVersion` is the oldest version of TLS that the session
   * accepts. The default is TLSv1.2, or the maximum version if that is older.
   */
  tlsMinimumSupportedProtocolVersion?: TLSVersion;
  /**
   * `URLSessionConfiguration.tlsMaximumSupportedProtocolVersion` is the newest version of TLS that the session
   * uses.
   */
  tlsMaximumSupportedProtocolVersion?: TLSVersion;
  /**
   * The session trusts these certificate authorities in addition to those of the service. The text is PEM. It
   * has at most 1000 certificates and 4 MiB, and at most 16 certificates with the same subject; more get 422.
   */
  tlsAdditionalRootCertificates?: string | null;
  tlsPinnedPublicKeys?: PinnedPublicKeys;
  proxies?: ProxyConfiguration | null;
  /**
   * The property corresponds to `URLSessionConfiguration.urlCredentialStorage`. If true, the session stores
   * credentials.
   */
  urlCredentialStorage?: boolean;
  /**
   * The tasks of the session together transfer at most this number of bytes in a second, in both directions.
   * Null means no limit.
   */
  maximumBytesPerSecond?: BytesPerSecond;
  /**
   * If true, Ferry follows redirects from https to http. If false, such a redirect ends the task with -1022, as
   * App Transport Security does. If `redirects` is `ask`, the delegate decides instead.
   */
  allowsInsecureRedirects?: boolean;
  /** A client can read the body of a task for this number of seconds after the task's end. Then the body expires. */
  bodyRetention?: number;
}

export type Seconds = number;

export type BytesPerSecond = number | null;

/**
 * The capacities of a session's cache are in bytes. A response may use a twentieth of `diskCapacity`, or of
 * `memoryCapacity` if the session has no cache on disk. An ephemeral session has its cache in memory.
 */
export interface URLCacheConfiguration {
  memoryCapacity?: number;
  diskCapacity?: number;
}

/**
 * A task repeats a failed attempt after a network error, or after a response with one of `statuses`. It does so
 * until `timeoutIntervalForResource` has passed since the first attempt. `Retry-After` of the origin overrides
 * `backoff`.
 *
 * - With null, tasks of background sessions repeat their attempts by the defaults. Tasks of other sessions do
 *   not.
 * - Clients do not see the response and the data of an attempt that is repeated. A data or upload task outside
 *   background sessions repeats no attempt after its response was reported.
 * - Outside background sessions, `retry` of the configuration applies to idempotent methods. `retry` of the task
 *   applies to every method. A streamed body cannot be sent again, so its task does not repeat attempts.
 * - If the service restarts, the task continues with another attempt. In an ephemeral session it is lost.
 */
export interface RetryConfiguration {
  /** `maximumAttempts` is the maximum number of attempts, including the first. Null means no limit. */
  maximumAttempts?: number | null;
  /**
   * `backoff` is the longest wait before the second attempt, in seconds. Each further wait is up to twice as
   * long, and at most 300 seconds. If `backoff` is longer than 300 seconds, the waits do not grow. Each wait is
   * a random time between half and all of its maximum.
   */
  backoff?: number;
  /**
   * `statuses` are the statuses after which the task repeats the attempt. Null means 429 (Too Many Requests) and
   * 503 (Service Unavailable).
   */
  statuses?: number[] | null;
}

/**
 * The property corresponds to `URLSessionConfiguration.proxyConfigurations`. `http` is the proxy for http URLs,
 * and `https` is the proxy for https URLs (CONNECT). `socks5` is a SOCKS version 5 proxy for URLs that have
 * neither; it also resolves names. Ferry uses the user in a proxy's URL but does not return it. Without a proxy,
 * and with null, connections are direct. Ferry ignores the environment's proxy variables.
 */
export interface ProxyConfiguration {
  http?: string | null;
  https?: string | null;
  socks5?: string | null;
  /**
   * Ferry reaches these origins without a proxy. An entry is `*`, a host with its subdomains, an address, or a
   * network in CIDR notation. A host or an address may have a port. At most 10000 entries fit; more get 422.
   */
  noProxy?: string[];
}

export interface DelegateWebhook {
  /**
   * `url` is the http or https URL of the endpoint. Lists show it without user info, query and fragment. A literal
   * address or `localhost` that the egress policy refuses gets 422.
   */
  url: string;
  secret?: WebhookSecret;
  /** Ferry posts events of these types. Progress events, `events.didReset` and `webhook.test` are not allowed. */
  events?: EventType[];
  /** If true, Ferry also posts every decision to the endpoint. The endpoint's response is the answer. */
  answers?: boolean;
  order?: DeliveryOrder;
}

/**
 * With `task`, the default, the messages of a task arrive in order: each waits until the previous one is delivered
 * or given up. With `none`, messages do not wait for each other.
 */
export type DeliveryOrder = 'task' | 'none';

/**
 * The endpoint receives events of these types. The default is `task.didComplete`. Progress events,
 * `events.didReset` and `webhook.test` are not allowed.
 */
export type EndpointEvents = WebhookEventType[];

export type WebhookEventType = EventType;

/**
 * Ferry adds these header fields to each message. Replies show secret values as `(redacted)`. The fields of
 * Standard Webhooks, `Content-Type`, `Content-Length`, `Host`, `Transfer-Encoding`, `Connection` and `Expect` are
 * not allowed. More than 20 fields get 422.
 */
export type EndpointHeaders = Record<string, string>;

/**
 * `v1`, the default, is HMAC-SHA256 with a shared secret. `v1a` is Ed25519: Ferry keeps the private key, and
 * `publicKey` verifies the messages.
 */
export type SignatureScheme = 'v1' | 'v1a';

export interface EndpointCreation {
  /**
   * `url` is the http or https URL of the endpoint, without user info. Replies show it without query and
   * fragment. A literal address or `localhost` that the egress policy refuses gets 422.
   */
  url: string;
  description?: Description;
  events?: EndpointEvents;
  order?: DeliveryOrder;
  headers?: EndpointHeaders;
  signature?: SignatureScheme;
  /**
   * `secret` is `whsec_` and the base64 of 24 to 64 bytes. Without it, Ferry makes one. It is not allowed with
   * the signature `v1a`.
   */
  secret?: string;
  /** Ferry makes at most this many attempts to the endpoint at once. The default is 16. */
  maximumConcurrency?: number;
  /** Ferry begins at most this many attempts a second. With null, the default, there is no limit. */
  maximumPerSecond?: number | null;
}

export interface EndpointPatch {
  /**
   * `url` is the http or https URL of the endpoint, without user info. Replies show it without query and
   * fragment. A literal address or `localhost` that the egress policy refuses gets 422.
   */
  url?: string;
  description?: Description;
  events?: EndpointEvents;
  order?: DeliveryOrder;
  headers?: EndpointHeaders;
  /** Ferry makes at most this many attempts to the endpoint at once. The default is 16. */
  maximumConcurrency?: number;
  /** Ferry begins at most this many attempts a second. With null, the default, there is no limit. */
  maximumPerSecond?: number | null;
  state?: EndpointState;
}

/**
 * A `disabled` endpoint receives no messages. A client disables it, or Ferry does: after a 410 response, or after
 * five days without a successful attempt.
 */
export type EndpointState = 'enabled' | 'disabled';

export interface EndpointRotation {
  /** The previous key signs, too, for this many seconds. With 0, it stops at once. */
  overlap?: number;
  /** `secret` is the new secret of an endpoint with the signature `v1`. Without it, Ferry makes one. */
  secret?: string;
}

export interface Endpoint {
  id: EndpointID;
  /** `url` has no query and no fragment. */
  url: string;
  description: string | null;
  events: EventType[];
  order: DeliveryOrder;
  headers: Headers;
  signature: SignatureScheme;
  /** `publicKey` is `whpk_` and the base64 of the Ed25519 key. Only the signature `v1a` has it. */
  publicKey?: string;
  maximumConcurrency: number;
  maximumPerSecond: number | null;
  state: EndpointState;
  /** `disabledReason` says why Ferry sends no messages. It is null while the endpoint is enabled. */
  disabledReason: string | null;
  /**
   * `failingSince` is the time of the first failed attempt since the last success, if attempts have failed for a
   * minute or more.
   */
  failingSince: string | null;
  createdAt: Time;
}

export interface EndpointWithSecret {
  id: EndpointID;
  /** `url` has no query and no fragment. */
  url: string;
  description: string | null;
  events: EventType[];
  order: DeliveryOrder;
  headers: Headers;
  signature: SignatureScheme;
  /** `publicKey` is `whpk_` and the base64 of the Ed25519 key. Only the signature `v1a` has it. */
  publicKey?: string;
  maximumConcurrency: number;
  maximumPerSecond: number | null;
  state: EndpointState;
  /** `disabledReason` says why Ferry sends no messages. It is null while the endpoint is enabled. */
  disabledReason: string | null;
  /**
   * `failingSince` is the time of the first failed attempt since the last success, if attempts have failed for a
   * minute or more.
   */
  failingSince: string | null;
  createdAt: Time;
  /** `secret` signs the messages. An endpoint with the signature `v1a` has none. */
  secret?: string;
}

export interface EndpointPage {
  items: Endpoint[];
  /** The value is always null. */
  nextCursor: string | null;
}

/** A `pending` message has attempts to come. A `delivered` one got a 2xx response. Ferry gave a `failed` one up. */
export type DeliveryState = 'pending' | 'delivered' | 'failed';

export interface Delivery {
  id: DeliveryID;
  /** `webhookId` is the `webhook-id` of the message. */
  webhookId: string;
  /** `endpoint` is null for the webhook of a session or a task. */
  endpoint: string | null;
  /** `url` has no user info, query and fragment. It is null if the endpoint or the session was deleted. */
  url: string | null;
  type: EventType;
  sessionId: SessionID;
  taskId: string | null;
  state: DeliveryState;
  /** `attemptCount` counts all attempts. */
  attemptCount: number;
  /** `attempts` has the last 20 attempts, oldest first. */
  attempts: DeliveryAttempt[];
  createdAt: Time;
  /**
   * The next attempt begins at this time or later. It may have passed if the message waits for an earlier one,
   * or its endpoint is disabled. It is null unless the message is pending.
   */
  nextAttemptAt: string | null;
  /** `finishedAt` is the time when the message was delivered or given up. */
  finishedAt: string | null;
}

export interface DeliveryAttempt {
  /** `time` is the end of the attempt. */
  time: Time;
  /** `status` is the status of the response. It is null without one. */
  status: number | null;
  /** `latency` is the duration of the attempt in seconds. */
  latency: number | null;
  /** `reply` is the first 1 KiB of the response's body. */
  reply: string | null;
  /** `error` says why there was no response. */
  error: string | null;
}

export interface DeliveryPage {
  items: Delivery[];
  /** `nextCursor` is the `cursor` of the next page. It is null on the last page. */
  nextCursor: string | null;
}

export interface Redelivery {
  /** Ferry selects deliveries to this endpoint. */
  endpoint?: EndpointID;
  /** Ferry selects messages about this task. */
  task?: TaskID;
  /** Ferry selects deliveries in this state. */
  state?: DeliveryState;
  /** Ferry selects deliveries that were created at this time or later. */
  since?: Time;
}

export interface RedeliveryCount {
  redelivered: number;
}

/**
 * The object is the completion handler of a task. The completion webhook receives `task.didComplete` instead of
 * the delegate's webhook. The delegate does not decide about the response and its caching, but still decides about
 * everything else. The delegate's webhook does not receive `downloadTask.didFinishDownloading`. In a background
 * session, the completion webhook receives `task.didComplete`, and the delegate's webhook still receives both.
 */
export interface CompletionCreation {
  webhook: CompletionWebhookCreation;
}

export interface CompletionWebhookCreation {
  /**
   * `url` is the http or https URL of the endpoint. A literal address or `localhost` that the egress policy
   * refuses gets 422.
   */
  url: string;
  secret?: WebhookSecret;
  /** `order` is as in a delegate's webhook. Replies do not show it. */
  order?: DeliveryOrder;
}

/** The object is the body of a request, in one of four forms. Without any of them, the request has no body. */
export interface RequestBodyCreation {
  /** Ferry sends the text as UTF-8. */
  text?: string;
  /** Ferry sends the decoded bytes. */
  base64?: string;
  /**
   * Ferry sends the stored file. The `Content-Type` is that of the file, unless the request or the session has
   * one.
   */
  file?: FileID;
  /**
   * The client sends the body with PUT of the task's body (`httpBodyStream`). The session or the task must have
   * a delegate; `{}` is enough.
   */
  stream?: boolean;
}

/** The object is the cause of an error, as a library reported it. */
export interface UnderlyingError {
  library?: string;
  code?: number;
}

export interface Completion {
  webhook: CompletionWebhook;
}

/** The object is a webhook without its secret. Lists show its URL without user info, query and fragment. */
export interface CompletionWebhook {
  url: string;
}

/**
 * The object is the body of the request. It has one of the forms of a new request, or the form that Ferry showed.
 * `size` with an optional `file` keeps the body of the proposed request.
 */
export interface RequestBodyAnswer {
  /** Ferry sends the text as UTF-8. */
  text?: string;
  /** Ferry sends the decoded bytes. */
  base64?: string;
  /** Ferry sends the stored file. */
  file?: FileID;
  /** The client sends the body with PUT of the task's body. */
  stream?: boolean;
  /** `size` is the size that Ferry showed, in bytes. It keeps the body. */
  size?: number;
}

/**
 * The object corresponds to `URLAuthenticationChallenge.proposedCredential`. If `previousFailureCount` is 0, Ferry
 * uses this credential without an answer. Otherwise, it is the credential that was refused last.
 */
export interface ProposedCredential {
  /** `user` is null for a certificate. */
  user?: string | null;
}

export interface TransactionResponse {
  status?: number;
}

/**
 * The property corresponds to `NSPinnedDomains` of App Transport Security. A member's name is a host, or `*.` and
 * a domain, or an address. Its value lists pins: `sha256/` and the base64 of the SHA-256 of a SubjectPublicKeyInfo
 * (RFC 7469). A valid certificate chain must also contain one of these keys. At most 1000 hosts with 64 pins each
 * fit; more get 422.
 */
export type PinnedPublicKeys = Record<string, string[]>;

export type TLSVersion = 'TLSv1.0' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/**
 * The object has header fields by name. A field has at most 64 KiB, and all fields together have at most 256 KiB;
 * more get 422.
 *
 * Ferry sets `Host`, `Content-Length`, `Transfer-Encoding`, `Connection`, `Upgrade`, `TE` and `Trailer` itself and
 * refuses them with 400. A request whose body is a stream may have a `Content-Length`.
 *
 * Replies, events, messages and logs show `(redacted)` instead of the value of a secret field. Secret fields are
 * `Authorization`, `Proxy-Authorization`, `Cookie`, and the key and token fields of common services. Examples are
 * `API-Key`, `X-API-Key`, `X-Auth-Token`, `X-Access-Token`, `X-CSRF-Token`, `X-Amz-Security-Token`,
 * `X-Goog-API-Key`, `Private-Token` and `X-Vault-Token`. `secretHeaderFields` of the session adds names.
 *
 * A client may send `(redacted)` back to keep the value, in these places:
 *
 * - In PUT of a named configuration, `(redacted)` stands for the previous value.
 * - In a session with `named`, it stands for the value of the named configuration.
 * - In the request of an answer, it stands for the proposed request's value, if the origin is the same.
 *
 * If no value is known, Ferry refuses `(redacted)` with 400. In an answer, Ferry removes the field instead.
 */
export type RequestHeaders = Record<string, string>;

/**
 * The object is the delegate of a session. It determines which calls are decisions, and which events Ferry posts
 * to a webhook. The event of a decision has the decision's id.
 */
export interface Delegate {
  webhook?: DelegateWebhook | null;
  /**
   * The property corresponds to `urlSession(_:didReceive:completionHandler:)`. With `ask`, the delegate decides
   * about challenges of connections: NTLM, Negotiate, ClientCertificate and ServerTrust. With null,
   * `taskChallenges` also applies to these challenges, as `task.didReceiveChallenge`.
   */
  sessionChallenges?: 'ask' | 'default' | null;
  /**
   * The property corresponds to `urlSession(_:task:didReceive:completionHandler:)`. With `ask`, the delegate
   * decides about all other challenges of servers (401) and proxies (407). With `default` or null, stored
   * credentials and the default evaluation decide.
   */
  taskChallenges?: 'ask' | 'default' | null;
  /**
   * The property corresponds to `urlSession(_:task:willPerformHTTPRedirection:newRequest:)`. With `ask`, the
   * delegate decides about redirects. With `follow`, Ferry follows them, but from https to http only with
   * `allowsInsecureRedirects`.
   */
  redirects?: 'ask' | 'follow';
  /**
   * The property corresponds to `urlSession(_:dataTask:didReceive:completionHandler:)`. With `ask`, the delegate
   * decides about the responses of data and upload tasks. With `allow`, Ferry receives their bodies. Tasks with
   * a completion handler (`completion` or `Prefer: wait`) have no such decision.
   */
  responses?: 'ask' | 'allow';
  /**
   * The property corresponds to `urlSession(_:dataTask:willCacheResponse:)`. With `ask`, the delegate decides
   * about responses that may be stored in the cache. With `default`, Ferry stores them. Tasks with a completion
   * handler have no such decision.
   */
  caching?: 'ask' | 'default';
  /**
   * The property corresponds to `urlSession(_:task:willBeginDelayedRequest:)`. With `ask`, the delegate decides
   * about a task's request when its `earliestBeginDate` has come. With `continue`, Ferry sends the request.
   */
  delayedRequests?: 'ask' | 'continue';
  /**
   * `decisionTimeout` is in seconds. A decision without an answer then expires, and its default applies. A task
   * whose `task.needNewBodyStream` expires fails.
   */
  decisionTimeout?: Seconds;
}

/**
 * The object corresponds to `URLSessionTask.delegate`. The members of a task's delegate override those of the
 * session's delegate. An absent or null member is that of the session's delegate. The task's `webhook` receives
 * the task's messages instead of the session's webhook. Tasks of a session share connections. If the task's
 * delegate trusts a certificate chain, Ferry also trusts it for the session's other tasks that ask about the
 * chain.
 */
export interface TaskDelegate {
  webhook?: DelegateWebhook | null;
  sessionChallenges?: 'ask' | 'default' | null;
  taskChallenges?: 'ask' | 'default' | null;
  redirects?: 'ask' | 'follow';
  responses?: 'ask' | 'allow';
  caching?: 'ask' | 'default';
  delayedRequests?: 'ask' | 'continue';
  decisionTimeout?: Seconds;
}

/**
 * `secret` is `whsec_` and the base64 of 24 to 64 bytes. It signs the messages. Without a secret, the service
 * signs with its own.
 */
export type WebhookSecret = string;

export interface Session {
  id: SessionID;
  type: SessionType;
  identifier: BackgroundIdentifier | null;
  state: SessionState;
  description: string | null;
  createdAt: Time;
  configuration: SessionConfiguration;
  delegate: Delegate | null;
}

export interface SessionPage {
  items: Session[];
  /** `nextCursor` is the `cursor` of the next page. It is null on the last page. */
  nextCursor: string | null;
}

export interface Invalidation {
  /** With `finishTasks`, the tasks continue to their end. With `cancelTasks`, Ferry cancels them. */
  mode?: 'finishTasks' | 'cancelTasks';
}

export interface Cancellation {
  /** If true, the reply waits for the end of the task and has `resumeData`. */
  producingResumeData?: boolean;
}

export interface ResumeData {
  /** `resumeData` is a text that only this service can read. Clients must not interpret it. */
  resumeData: string;
}

/**
 * An `upload` task sends a body; otherwise, it does the same as a `data` task. The bodies of their responses can
 * be read while they arrive. The body of a `download` task can be read after its end.
 */
export type TaskKind = 'data' | 'download' | 'upload';

export type TaskState = 'running' | 'suspended' | 'canceling' | 'completed';

/**
 * A task has succeeded if its `error` is null. It was cancelled if its error is `cancelled` (-999), and has failed
 * with any other error.
 */
export type TaskOutcome = 'succeeded' | 'failed' | 'cancelled';

/** A group belongs to the tenant. Its tasks may be in several sessions. */
export type GroupName = string;

export interface Group {
  name: GroupName;
  /** A closed group accepts no new tasks. It is completed when all of its tasks have ended. */
  state: 'open' | 'closed' | 'completed';
  /** The numbers of tasks by state and, for tasks that have ended, by outcome. */
  tasks: {suspended: number; running: number; canceling: number; succeeded: number; failed: number; cancelled: number};
  /** The bytes that the tasks have sent. */
  countOfBytesSent: number;
  /** The bytes that the tasks have received. */
  countOfBytesReceived: number;
  createdAt: Time;
  closedAt: OptionalTime;
  completedAt: OptionalTime;
}

export interface GroupPage {
  items: Group[];
  /** `nextCursor` is the `cursor` of the next page. It is null on the last page. */
  nextCursor: string | null;
}

/** Lists find tasks by their labels. */
export type Labels = Record<string, string>;

/** A task is selected if it matches all members that are given. */
export interface TaskSelection {
  /** If true, all tasks are selected. No filter may be given. */
  all?: boolean;
  /** If true, Ferry counts the tasks and changes nothing. */
  dryRun?: boolean;
  kind?: TaskKind;
  state?: TaskState;
  outcome?: TaskOutcome;
  group?: GroupName;
  labels?: Labels;
  /** A pattern of the original URL. */
  url?: string;
  /** The beginning of the original URL. */
  urlPrefix?: string;
  /** A part of the description. */
  description?: string;
  /** Whether only tasks without a command are selected. */
  neverResumed?: boolean;
  /** The earliest time of creation. */
  since?: string;
  /** A part of the id. */
  id?: string;
}

export interface CommandCounts {
  /** The number of selected tasks. */
  matched: number;
  /** The number of selected tasks that the command has changed. */
  changed: number;
  /**
   * The number of selected tasks whose command failed. A service that does not answer adds one, because its
   * ephemeral tasks are unknown. Send the request again, with the same Idempotency-Key.
   */
  failed: number;
}

export interface EventPage {
  items: Event[];
  /** `nextAfter` is the `after` of the next page. */
  nextAfter: string;
}

/**
 * `phase` says what a `running` task does. It is null in other states.
 *
 * In the phase `waitingToRetry`, an attempt has failed and another will follow. `lastError` and `nextAttemptAt` are then present.
 */
export type TaskPhase = 'queued' | 'waitingForConnectivity' | 'waitingForDecision' | 'waitingToRetry' | 'transferring'
  | null;

export interface TaskCreation {
  kind: TaskKind;
  /** `request` is required unless `resumeData` is present. The request of an upload requires a `body`. */
  request?: RequestCreation;
  /**
   * The resume data of an earlier download or upload replaces `request`. The task continues the transfer of the
   * earlier one.
   *
   * - A download starts from the beginning if the resource has changed, or if the received bytes are no longer
   *   stored.
   * - An upload ends with -1011 if its server no longer has the received bytes.
   * - The reply is 400 if the upload's body is no longer stored here.
   * - The reply is 400 if another service or tenant made the data, if it was changed, or if the service no
   *   longer has its key.
   */
  resumeData?: string | null;
  /** If true, the task starts at once. Otherwise, Ferry creates it suspended. */
  resume?: boolean;
  /**
   * The property corresponds to `URLSessionTask.priority`, from 0 to 1. Of the tasks that wait to start, those
   * with a higher priority start first.
   */
  priority?: number;
  /**
   * `URLSessionTask.earliestBeginDate` is an RFC 3339 time with any offset. Ferry sends nothing before it. A
   * time in the past has no effect.
   */
  earliestBeginDate?: OptionalTime;
  /**
   * The task transfers at most this number of bytes in a second, in both directions. The limit of the session
   * also applies. Null means no limit of its own.
   */
  maximumBytesPerSecond?: BytesPerSecond;
  description?: Description;
  /** The group must be absent in an ephemeral session, whose tasks are not stored (422). */
  group?: GroupName | null;
  labels?: Labels | null;
  /**
   * `URLSessionTask.countOfBytesClientExpectsToSend` is an estimate of the size of the request's body. Ferry
   * uses it if it does not know the size, as for a stream.
   */
  countOfBytesClientExpectsToSend?: ByteGuess;
  /**
   * `URLSessionTask.countOfBytesClientExpectsToReceive` is an estimate of the size of the response's body. Ferry
   * uses it if the response has no length.
   */
  countOfBytesClientExpectsToReceive?: ByteGuess;
  /**
   * The property corresponds to `URLSessionTask.prefersIncrementalDelivery`. The default is true for data and
   * upload tasks, and false for downloads. A download refuses true with 400.
   *
   * If false, Ferry delivers the body only when it is complete:
   *
   * - Until then, GET of the task's body gets 409, and there is no `dataTask.didReceiveData`. `progress` still
   *   counts the bytes.
   * - Then one `dataTask.didReceiveData` reports all bytes. With `data=inline`, several events may carry them.
   * - In a multipart response, each part is delivered when it is complete.
   */
  prefersIncrementalDelivery?: boolean;
  /**
   * If true, a status of 400 or more ends the task with the error `httpStatus`. The task keeps its `response`. A
   * data or upload task also keeps the body, a download has none.
   */
  failOnStatus?: boolean;
  /**
   * The property replaces `retry` of the session's configuration. A task with a streamed body refuses it with
   * 400.
   */
  retry?: RetryConfiguration | null;
  /**
   * The body that the client expects, as Ferry serves it: after content decoding, and with all parts of a
   * multipart response. Null means any body.
   *
   * - A body with another size or digest ends the task with `contentMismatch`. The task then has neither a body
   *   nor resume data.
   * - If a resumed download has another digest, Ferry first fetches the whole body once.
   * - A status other than 2xx ends the task with `httpStatus`.
   * - A request with the method HEAD refuses `expected` with 400.
   */
  expected?: ExpectedBody | null;
  /**
   * The file that a download becomes. Tasks of other kinds refuse it with 400. Null means that Ferry keeps the
   * body.
   */
  destination?: DestinationCreation | null;
  completion?: CompletionCreation | null;
  /**
   * The property corresponds to `URLSessionTask.delegate`. The session's delegate applies to each member that is
   * absent. A task of a background session cannot have a delegate (400).
   */
  delegate?: TaskDelegate | null;
}

/** The object has the members of the task that change. */
export interface TaskPatch {
  /** Null sets the priority to 0.5. */
  priority?: number | null;
  description?: Description;
  earliestBeginDate?: OptionalTime;
  maximumBytesPerSecond?: BytesPerSecond;
  request?: RequestPatch;
  /** Null removes the estimate and sets -1. */
  countOfBytesClientExpectsToSend?: number | null;
  /** Null removes the estimate and sets -1. */
  countOfBytesClientExpectsToReceive?: number | null;
}

export interface RequestPatch {
  /**
   * The URL must meet the rules for that of a new task. If it has another scheme, host or port and `headers` is
   * absent, Ferry removes the fields that carry secrets, and the user and password of the previous URL. The
   * secret fields of the session's `httpAdditionalHeaders` are not sent there either.
   */
  url?: string;
  /**
   * `headers` replaces all fields. The value `(redacted)` keeps the field's present value. It gets 422 if the
   * task has no such field, or if `url` has another scheme, host or port than the present URL. The
   * `Content-Length` of a streamed body stays.
   */
  headers?: RequestHeaders;
}

/**
 * A download with a destination becomes a file that belongs to the client. Neither retention nor the deletion of
 * the task deletes the file.
 *
 * - Ferry checks `expected` first, then writes the file under a hidden name in the same directory and renames it.
 *   Ferry creates missing directories.
 * - If the file cannot be written, the task ends with `destinationFailed`. Its body is kept, and
 *   `POST /v1/tasks/{task}/retry` uses the body without a second download.
 * - `GET /v1/tasks/{task}/body` serves the file while it is unchanged.
 */
export interface DestinationCreation {
  /**
   * `file` is an absolute path without `.`, `..` and empty parts. It is below a directory that the operator has
   * opened for the tenant (`--destination-directory`). Otherwise the reply is 403. A path with a symbolic link
   * below that directory fails the task.
   */
  file: string;
  ifExists?: ExistingFile;
}

/**
 * `ifExists` says what happens if the file exists already:
 *
 * - `fail`: the task ends with `destinationFailed`, before its request is sent if possible.
 * - `replace`: the download replaces the file.
 * - `rename`: the download gets the first free name such as `a (1).iso`. `file` of the ended task has it.
 */
export type ExistingFile = 'fail' | 'replace' | 'rename';

/** The object is the file that the download becomes. */
export interface Destination {
  /** `file` is the path. After a success, it is the path of the file. */
  file: string;
  ifExists: ExistingFile;
}

export interface ExpectedBody {
  /** The size in bytes. */
  size?: number;
  /** `sha256` is the SHA-256 digest in hexadecimal. Ferry returns it in lower case. */
  sha256?: string;
}

/** The value is the client's estimate of a number of bytes. -1 means no estimate. */
export type ByteGuess = number;

export interface RequestCreation {
  /**
   * `URLRequest.url` is an http or https URL of at most 64 KiB; a longer one gets 422. Ferry removes a user and
   * password from it, does not return them, and uses them only for this task and origin.
   */
  url: string;
  /**
   * `URLRequest.httpMethod` is any method except CONNECT and TRACE. The default is POST for an upload and GET
   * otherwise. Ferry accepts GET, HEAD, POST, PUT, DELETE and OPTIONS in any case, and sends other methods
   * unchanged. A GET with a body ends with `dataLengthExceedsMaximum`.
   */
  method?: string;
  headers?: RequestHeaders;
  body?: RequestBodyCreation | null;
  /**
   * `URLRequest.timeoutInterval` is in seconds. The task ends with `timedOut` if it transfers no byte for that
   * long. The default is the session's `timeoutIntervalForRequest`.
   */
  timeoutInterval?: Seconds;
  /** The property corresponds to `URLRequest.cachePolicy`. The default is the session's `requestCachePolicy`. */
  cachePolicy?: CachePolicy;
  /**
   * The property corresponds to `URLRequest.httpShouldHandleCookies`. If true, the request carries cookies and
   * the session stores those of the response.
   */
  httpShouldHandleCookies?: boolean;
  /**
   * `URLRequest.mainDocumentURL` is the document that the request is a part of. The default is the request's own
   * URL.
   */
  mainDocumentURL?: string | null;
  /**
   * The property corresponds to `URLRequest.allowsCellularAccess`. The session's configuration can also forbid
   * it.
   */
  allowsCellularAccess?: boolean;
  allowsExpensiveNetworkAccess?: boolean;
  allowsConstrainedNetworkAccess?: boolean;
  /**
   * The property corresponds to `URLRequest.networkServiceType`. `default` means the session's
   * `networkServiceType`.
   */
  networkServiceType?: NetworkServiceType;
  /** `URLRequest.requiresDNSSECValidation` must be false. Ferry refuses true with 400. */
  requiresDNSSECValidation?: boolean;
}

export interface Request {
  url: string;
  method: string;
  headers: Headers;
  /** `timeoutInterval` is in seconds. It is absent if the session's value applies. */
  timeoutInterval?: number;
  /** `body` is absent if the request has no body. */
  body?: RequestBody;
  /** `cachePolicy` is absent if the session's policy applies. */
  cachePolicy?: CachePolicy;
  /** `httpShouldHandleCookies` is false or absent. If it is absent, the request uses cookies. */
  httpShouldHandleCookies?: boolean;
  /** `mainDocumentURL` is absent if the request is its own main document. */
  mainDocumentURL?: string;
  /** `allowsCellularAccess` and the next two members are absent if all three are true. */
  allowsCellularAccess?: boolean;
  allowsExpensiveNetworkAccess?: boolean;
  allowsConstrainedNetworkAccess?: boolean;
  /** `networkServiceType` is absent if the session's value applies. */
  networkServiceType?: NetworkServiceType;
}

/** The object describes the body of a request, without its bytes. */
export interface RequestBody {
  /** `size` is the number of bytes. It is absent for a stream. */
  size?: number;
  /** `file` is the id of the stored file that is the body. */
  file?: FileID;
  /** If true, the client sends the body with PUT of the task's body. */
  stream?: boolean;
}

/** The object is the final response of the origin, without its body (`HTTPURLResponse`). */
export interface Response {
  /** `url` is the URL after redirects. */
  url: string;
  status: number;
  headers: Headers;
  /** `mimeType` is the media type in lower case, without parameters. */
  mimeType?: string | null;
  /** `textEncodingName` is the charset in lower case. */
  textEncodingName?: string | null;
  /**
   * `URLResponse.suggestedFilename` comes from `Content-Disposition`, or otherwise from the URL. It has no
   * directories. If the name has no extension and `mimeType` is a common type, Ferry appends the extension of
   * the type.
   */
  suggestedFilename?: string;
  /** `expectedContentLength` is the number of bytes of the body, or -1 if it is unknown. */
  expectedContentLength: number;
  httpVersion: string;
  /** If true, the response comes from the session's cache. */
  fromCache?: boolean;
}

/** The object counts the bytes of a task (`URLSessionTask.progress`). An unknown total is -1. */
export interface Progress {
  countOfBytesSent?: number;
  countOfBytesExpectedToSend?: number;
  /** `countOfBytesReceived` counts bytes after the decoding of content codings. */
  countOfBytesReceived?: number;
  countOfBytesExpectedToReceive?: number;
  /**
   * `fractionCompleted` is null if a total is unknown. The client's estimate replaces an unknown total, until
   * the count exceeds the estimate.
   */
  fractionCompleted?: number | null;
}

/** The object is the error with which a task or an attempt failed (`URLSessionTask.error`). */
export interface TaskError {
  domain: 'NSURLErrorDomain' | 'FerryErrorDomain';
  /**
   * `code` is Apple's code in `NSURLErrorDomain`. In `FerryErrorDomain`, 1 is `destinationNotPermitted`, 2
   * `quotaExceeded`, 3 `bodyTooLarge`, 4 `attemptLimitReached`, 5 `contentMismatch`, 6
   * `destinationFailed` and 7 `httpStatus`.
   */
  code: number;
  /** `name` is the name of the code. */
  name: string;
  /** `message` is a text for people. Programs should use `code`. */
  message: string;
  failingURL: string | null;
  /** If true, the task's resume data can be read, and another task can continue. */
  resumeDataAvailable: boolean;
  underlying: UnderlyingError | null;
  /** `rule` is the name of the rule that refused the destination. Other errors have none. */
  rule?: string;
  /** `networkUnavailableReason` is the class of the networks that the task may not use. Other errors have none. */
  networkUnavailableReason?: 'cellular' | 'expensive' | 'constrained';
  /**
   * `status` is the status of a complete response. The error `httpStatus` has one. So has `lastError` if the
   * origin's status is the reason for another attempt; its name is then `badServerResponse`.
   */
  status?: number;
}

/** The object describes the body of a task's response. GET of the task's body returns the bytes. */
export interface Body {
  /** `size` is the number of bytes. */
  size: number;
  sha256: string;
  /** `expiresAt` is the time when the body expires. It is null if the body is the file at the task's destination. */
  expiresAt: OptionalTime;
  /** `text` has the bytes if `include=body` is set and they are UTF-8. */
  text?: string;
  /** `base64` has the bytes if `include=body` is set and they are not UTF-8. */
  base64?: string;
}

export interface Task {
  id: TaskID;
  sessionId: SessionID;
  /** `URLSessionTask.taskIdentifier` numbers the tasks of a session, from 1. */
  taskIdentifier: number;
  kind: TaskKind;
  state: TaskState;
  phase?: TaskPhase;
  description?: string | null;
  priority?: number;
  /** Ferry sends nothing before this time. */
  earliestBeginDate?: OptionalTime;
  /**
   * The member is true if no client was listening when the task was created in a background session. No event
   * stream of all sessions, of the session or of one of its tasks was then open. Ferry treats the task as if
   * `isDiscretionary` of the session were true. Otherwise, the member is absent.
   */
  isDiscretionary?: boolean;
  maximumBytesPerSecond?: BytesPerSecond;
  countOfBytesClientExpectsToSend?: ByteGuess;
  countOfBytesClientExpectsToReceive?: ByteGuess;
  /** If true, Ferry delivers the body as it arrives. Downloads have false. */
  prefersIncrementalDelivery?: boolean;
  originalRequest: Request;
  /** `URLSessionTask.currentRequest` is the request after redirects. */
  currentRequest: Request;
  /**
   * `response` is null before the origin's response. A download with retries has it only after its
   * end.
   */
  response?: Response | null;
  progress: Progress;
  error?: TaskError | null;
  /** A task has the member when it has ended. */
  outcome?: TaskOutcome;
  /** The member is absent if the task has no group. */
  group?: GroupName;
  /** The member is absent if the task has no labels. */
  labels?: Labels;
  /** Advice about the request. It is not part of the task. */
  hint?: string;
  /** `body` is null before the end of the task, after a failure, and after the body was deleted or became a file. */
  body?: Body | null;
  /**
   * `retryCount` is the number of failed attempts that another attempt followed. Outside background
   * sessions it counts the requests that another service repeated. An attempt that the end of a process interrupted continues and does not count.
   */
  retryCount?: number;
  lastError?: LastError;
  nextAttemptAt?: NextAttemptAt;
  /** `downloadTaskId` is the download task that this data task became. */
  downloadTaskId?: string;
  completion?: Completion | null;
  /** `failOnStatus` is absent if it is false. */
  failOnStatus?: boolean;
  /** `expected` is absent if any body is accepted. */
  expected?: ExpectedBody;
  /** `destination` is absent if the task has none. */
  destination?: Destination;
  /** `retry` is absent if the session's rules apply. */
  retry?: RetryConfiguration;
  /** `retryOf` is the task that this one repeats. Other tasks have none. */
  retryOf?: TaskID;
  /** `delegate` has the members that the task's own delegate has. The session's delegate has the others. */
  delegate?: TaskDelegate | null;
  createdAt: Time;
  /** `startedAt` is the time when the transfer began. */
  startedAt?: OptionalTime;
  completedAt?: OptionalTime;
}

export interface CancelledTask {
  id: TaskID;
  sessionId: SessionID;
  /** `URLSessionTask.taskIdentifier` numbers the tasks of a session, from 1. */
  taskIdentifier: number;
  kind: TaskKind;
  state: TaskState;
  phase?: TaskPhase;
  description?: string | null;
  priority?: number;
  /** Ferry sends nothing before this time. */
  earliestBeginDate?: OptionalTime;
  /**
   * The member is true if no client was listening when the task was created in a background session. No event
   * stream of all sessions, of the session or of one of its tasks was then open. Ferry treats the task as if
   * `isDiscretionary` of the session were true. Otherwise, the member is absent.
   */
  isDiscretionary?: boolean;
  maximumBytesPerSecond?: BytesPerSecond;
  countOfBytesClientExpectsToSend?: ByteGuess;
  countOfBytesClientExpectsToReceive?: ByteGuess;
  /** If true, Ferry delivers the body as it arrives. Downloads have false. */
  prefersIncrementalDelivery?: boolean;
  originalRequest: Request;
  /** `URLSessionTask.currentRequest` is the request after redirects. */
  currentRequest: Request;
  /**
   * `response` is null before the origin's response. A download with retries has it only after its
   * end.
   */
  response?: Response | null;
  progress: Progress;
  error?: TaskError | null;
  /** A task has the member when it has ended. */
  outcome?: TaskOutcome;
  /** The member is absent if the task has no group. */
  group?: GroupName;
  /** The member is absent if the task has no labels. */
  labels?: Labels;
  /** Advice about the request. It is not part of the task. */
  hint?: string;
  /** `body` is null before the end of the task, after a failure, and after the body was deleted or became a file. */
  body?: Body | null;
  /**
   * `retryCount` is the number of failed attempts that another attempt followed. Outside background
   * sessions it counts the requests that another service repeated. An attempt that the end of a process interrupted continues and does not count.
   */
  retryCount?: number;
  lastError?: LastError;
  nextAttemptAt?: NextAttemptAt;
  /** `downloadTaskId` is the download task that this data task became. */
  downloadTaskId?: string;
  completion?: Completion | null;
  /** `failOnStatus` is absent if it is false. */
  failOnStatus?: boolean;
  /** `expected` is absent if any body is accepted. */
  expected?: ExpectedBody;
  /** `destination` is absent if the task has none. */
  destination?: Destination;
  /** `retry` is absent if the session's rules apply. */
  retry?: RetryConfiguration;
  /** `retryOf` is the task that this one repeats. Other tasks have none. */
  retryOf?: TaskID;
  /** `delegate` has the members that the task's own delegate has. The session's delegate has the others. */
  delegate?: TaskDelegate | null;
  createdAt: Time;
  /** `startedAt` is the time when the transfer began. */
  startedAt?: OptionalTime;
  completedAt?: OptionalTime;
  /**
   * Another task of the same kind can continue with `resumeData`. It is null if the task cannot be resumed,
   * or if it had ended before.
   */
  resumeData?: string | null;
}

export type OptionalTime = string | null;

export interface TaskPage {
  items: Task[];
  /** `nextCursor` is the `cursor` of the next page. It is null on the last page. */
  nextCursor: string | null;
}

export interface FileCreation {
  /** `fromTask` is a task that has ended and has a body. */
  fromTask: TaskID;
}

export interface StoredFile {
  id: FileID;
  /** `size` is the number of bytes. */
  size: number;
  sha256: string;
  /**
   * `contentType` is the `Content-Type` that the file was stored with. Without one, Ferry returns the file as
   * `application/octet-stream`.
   */
  contentType: string | null;
  /** `fromTask` is the task whose body the file was. */
  fromTask: string | null;
  createdAt: Time;
}

export interface FilePage {
  items: StoredFile[];
  /** `nextCursor` is the `cursor` of the next page. It is null on the last page. */
  nextCursor: string | null;
}

/** The type of a decision is the type of its event. */
export type DecisionType = 'session.didReceiveChallenge' | 'task.didReceiveChallenge' |
  'task.willPerformHTTPRedirection' | 'task.needNewBodyStream' | 'task.willBeginDelayedRequest' |
  'dataTask.didReceiveResponse' | 'dataTask.willCacheResponse';

/**
 * A `pending` decision waits for an answer. An `answered` one has an answer. An `expired` one got no answer in
 * time, and `default` was applied. A `withdrawn` one lost its purpose, because the task ended or was cancelled.
 */
export type DecisionState = 'pending' | 'answered' | 'expired' | 'withdrawn';

/**
 * The default applies if a decision expires. For challenges, it is `performDefaultHandling`. For the other types,
 * in the order of `DecisionType`, it is `follow`, `fail`, `continue`, `allow` and `allowed`.
 */
export type DecisionDefault = 'performDefaultHandling' | 'follow' | 'fail' | 'continue' | 'allow' | 'allowed';

export interface Decision {
  id: DecisionID;
  type: DecisionType;
  state: DecisionState;
  sessionId: SessionID;
  taskId: TaskID;
  createdAt: Time;
  expiresAt: Time;
  default: DecisionDefault;
  /**
   * `data` is the `data` of the event without the members of the decision. It is empty for
   * `task.needNewBodyStream`.
   */
  data: ChallengedData | RedirectedData | DelayedData | RespondedData | WillCacheData | Record<string, unknown>;
  /**
   * `answer` is the delegate's answer without passwords and private keys. If it has a request whose body exceeds
   * 64 KiB, it has the `size` instead of the body. It is null without an answer, and for
   * `task.needNewBodyStream`.
   */
  answer: DecisionAnswer | null;
}

export interface DecisionPage {
  items: Decision[];
  /** `nextCursor` is the `cursor` of the next page. It is null on the last page. */
  nextCursor: string | null;
}

/**
 * The object is the answer to a challenge, a redirect, a response, a delayed request, or a response that may be
 * stored.
 */
export type DecisionAnswer = ChallengeAnswer | RedirectAnswer | ResponseAnswer | DelayedRequestAnswer | CachingAnswer;

/**
 * The value corresponds to `URLProtectionSpace.authenticationMethod`. `NSURLAuthenticationMethodDefault` is the
 * method of the protocol itself, which is user and password for a SOCKS proxy. In a stored credential, it stands
 * for every method with a password.
 */
export type AuthenticationMethod = 'NSURLAuthenticationMethodDefault' | 'NSURLAuthenticationMethodHTTPBasic' |
  'NSURLAuthenticationMethodHTTPDigest' | 'NSURLAuthenticationMethodHTMLForm' |
  'NSURLAuthenticationMethodNTLM' | 'NSURLAuthenticationMethodNegotiate' |
  'NSURLAuthenticationMethodClientCertificate' | 'NSURLAuthenticationMethodServerTrust';

/** The object is the protection space that a client sets a credential for (`URLProtectionSpace`). */
export interface ProtectionSpaceSetting {
  /** `host` is the host of the server or of the proxy. It has at most 253 bytes. */
  host: string;
  /** The default is the port of the protocol. */
  port?: number;
  protocol?: 'http' | 'https' | 'socks5';
  /** Null means every realm. A realm has at most 1 KiB. */
  realm?: string | null;
  /**
   * `NSURLAuthenticationMethodServerTrust` is not allowed, because trust is decided for each chain. The default
   * is `NSURLAuthenticationMethodDefault`.
   */
  authenticationMethod?: AuthenticationMethod;
  isProxy?: boolean;
}

/**
 * The object describes the servers or proxies for which a credential is valid (`URLProtectionSpace`). In a
 * challenge, it also has the properties that the server sent.
 */
export interface ProtectionSpace {
  /** `host` is the host of the server or of the proxy. */
  host: string;
  /** The default is the port of the protocol. */
  port?: number;
  protocol?: 'http' | 'https' | 'socks5';
  /** Null means that the method has no realm. In a stored credential, null means every realm. */
  realm?: string | null;
  authenticationMethod?: AuthenticationMethod;
  isProxy?: boolean;
  /** `serverTrust` is present in a ServerTrust challenge. */
  serverTrust?: ServerTrust;
  /**
   * `distinguishedNames` is present in a ClientCertificate challenge. It names the certificate authorities whose
   * certificates the server accepts (RFC 2253). An empty list means any.
   */
  distinguishedNames?: string[];
}

export interface ServerTrust {
  /** The list is the certificate chain that the server sent, with its own certificate first. */
  certificates: ServerCertificate[];
  /** `evaluation` is the default evaluation of the chain. It applies without an answer. */
  evaluation: TrustEvaluation;
}

export interface ServerCertificate {
  /** `subject` is in the form of RFC 2253. */
  subject: string;
  issuer: string;
  notBefore: Time;
  notAfter: Time;
  /** `sha256` is the SHA-256 of the certificate, in hexadecimal. */
  sha256: string;
  /** `publicKeySHA256` is the base64 of the SHA-256 of the certificate's public key. Pins have the same form. */
  publicKeySHA256: string;
  pem: string;
}

export interface TrustEvaluation {
  isTrusted: boolean;
  /** `code` is the name of the error with which the task would end. */
  code: string | null;
  message: string;
}

/**
 * The object is a user with a password, or a client certificate with its key (`URLCredential`). A user has at most
 * 1 KiB and a password at most 16 KiB. Certificates have at most 64 KiB each. Larger values get 422.
 */
export interface CredentialCreation {
  /** `user` is null with a certificate. */
  user?: string | null;
  password?: string;
  /**
   * The text is PEM. The certificates of the certificate authorities may follow the client's own. The chain has
   * at most 16 certificates; a longer one gets 422.
   */
  clientCertificate?: string;
  /** The text is PEM, without a passphrase. */
  privateKey?: string;
  /**
   * The value corresponds to `URLCredential.Persistence`. It determines how long Ferry keeps the credential:
   *
   * - `none`: only for the task. It is the default in an answer, and not allowed when a credential is set.
   * - `forSession`: until the session is invalid or the service stops. It is the default when a credential is
   *   set.
   * - `permanent`: in the database, encrypted. An ephemeral session keeps these in memory.
   *
   * A background session stores `forSession` credentials in the database until it is invalid, so they survive
   * the service.
   */
  persistence?: 'none' | 'forSession' | 'permanent';
}

/** The object is a credential without its secret. */
export interface Credential {
  /** `user` is null for a certificate. */
  user: string | null;
  /** The text is PEM. */
  clientCertificate?: string;
  persistence: 'none' | 'forSession' | 'permanent';
}

export interface CredentialSetting {
  protectionSpace: ProtectionSpaceSetting;
  credential: CredentialCreation;
}

export interface CredentialDeletion {
  protectionSpace?: ProtectionSpaceSetting;
}

export interface CredentialEntry {
  protectionSpace: ProtectionSpace;
  credential: Credential;
}

export interface CredentialPage {
  items: CredentialEntry[];
  /** `nextCursor` is always null, because one page has all credentials. */
  nextCursor: string | null;
}

export interface ChallengeAnswer {
  /**
   * The values correspond to `URLSession.AuthChallengeDisposition`:
   *
   * - `useCredential`: use `credential`.
   * - `performDefaultHandling`: use a stored credential that was not refused yet. Without one, the response is
   *   the result.
   * - `cancelAuthenticationChallenge`: cancel the task.
   * - `rejectProtectionSpace`: continue with the next scheme that the server offered. Without one, it does the
   *   same as `performDefaultHandling`.
   */
  disposition: 'useCredential' | 'performDefaultHandling' | 'cancelAuthenticationChallenge' | 'rejectProtectionSpace';
  /**
   * `credential` is only allowed with `useCredential`. Null continues without a credential. `trust` answers a
   * ServerTrust challenge: Ferry trusts exactly this chain for this host in this session.
   */
  credential?: CredentialCreation | Credential | TrustAnswer | null;
}

export interface TrustAnswer {
  trust: boolean;
}

export interface RedirectAnswer {
  /**
   * `request` is the request that Ferry sends: the proposed one or another. With null, the redirect's own
   * response and body are the result.
   */
  request: RequestAnswer | null;
}

export interface ResponseAnswer {
  /**
   * The property corresponds to `URLSession.ResponseDisposition`. With `allow`, the task receives the body. With
   * `cancel`, Ferry cancels the task. With `becomeDownload`, a new download task continues the transfer, and
   * `dataTask.didBecomeDownloadTask` names it.
   */
  disposition: 'allow' | 'cancel' | 'becomeDownload';
}

export interface CachingAnswer {
  storagePolicy: 'allowed' | 'allowedInMemoryOnly' | 'notAllowed';
  /** `response` replaces the response that Ferry stores. It is not allowed with `notAllowed`. */
  response?: StoredResponseAnswer | null;
}

/** The object is the response that the cache stores. URL, status and body do not change. */
export interface StoredResponseAnswer {
  /**
   * These header fields replace all header fields of the stored response. Later tasks that read from the cache
   * receive them. They also determine how long the response is fresh, and whether Ferry may store it at all.
   *
   * Some fields cannot change. The answer may omit them, or repeat the values that Ferry showed; other values
   * get 400:
   *
   * - The cache never stores `Connection`, `Keep-Alive`, `Proxy-Connection`, `Proxy-Authenticate`,
   *   `Proxy-Authentication-Info`, `Proxy-Authorization`, `TE`, `Trailer`, `Transfer-Encoding`, `Upgrade`,
   *   `Set-Cookie` and `Set-Cookie2`.
   * - `Age`, `Content-Encoding`, `Content-Length`, `Content-Range`, `Date`, `ETag`, `Last-Modified` and `Vary`
   *   keep their values.
   *
   * If the origin later confirms the response with 304, the fields of the 304 replace those with the same names.
   * A field has at most 64 KiB, and all fields together have at most 256 KiB.
   */
  headers: Record<string, string>;
}

export interface DelayedRequestAnswer {
  disposition: 'continueLoading' | 'useNewRequest' | 'cancel';
  /** `request` is the request that Ferry sends. It is required with `useNewRequest`, and not allowed otherwise. */
  request?: RequestAnswer | null;
}

/**
 * The object is the request that replaces the proposed one. Ferry copies no other members from the proposed
 * request. A client may send the proposed request back unchanged.
 */
export interface RequestAnswer {
  url: string;
  method?: string;
  headers?: RequestHeaders;
  body?: RequestBodyAnswer | null;
  timeoutInterval?: Seconds;
  /** The property corresponds to `URLRequest.cachePolicy`. The default is the session's `requestCachePolicy`. */
  cachePolicy?: CachePolicy;
  /**
   * The property corresponds to `URLRequest.httpShouldHandleCookies`. If true, the request carries cookies and
   * the session stores those of the response.
   */
  httpShouldHandleCookies?: boolean;
  /**
   * `URLRequest.mainDocumentURL` is the document that the request is a part of. The default is the request's own
   * URL.
   */
  mainDocumentURL?: string | null;
  /**
   * The property corresponds to `URLRequest.allowsCellularAccess`. The session's configuration can also forbid
   * it.
   */
  allowsCellularAccess?: boolean;
  allowsExpensiveNetworkAccess?: boolean;
  allowsConstrainedNetworkAccess?: boolean;
  /**
   * The property corresponds to `URLRequest.networkServiceType`. `default` means the session's
   * `networkServiceType`.
   */
  networkServiceType?: NetworkServiceType;
  /** `URLRequest.requiresDNSSECValidation` must be false. Ferry refuses true with 400. */
  requiresDNSSECValidation?: boolean;
}

export interface Metrics {
  /** `URLSessionTaskMetrics.taskInterval` lasts from the task's creation to its end. */
  taskInterval: DateInterval;
  redirectCount: number;
  /**
   * The list has one entry for each request that Ferry sent, including redirects, and for each response from the
   * cache.
   */
  transactionMetrics: TransactionMetrics[];
}

export interface DateInterval {
  start: Time;
  end: Time;
  /** `duration` is in seconds. */
  duration: number;
}

export interface TransactionRequest {
  url: string;
  method: string;
}

/**
 * The object has the metrics of one request and its response (`URLSessionTaskTransactionMetrics`). Times and
 * addresses are absent if their step did not happen.
 */
export interface TransactionMetrics {
  request?: TransactionRequest;
  response?: TransactionResponse | null;
  fetchStartDate?: Time;
  domainLookupStartDate?: Time;
  domainLookupEndDate?: Time;
  connectStartDate?: Time;
  secureConnectionStartDate?: Time;
  secureConnectionEndDate?: Time;
  connectEndDate?: Time;
  requestStartDate?: Time;
  requestEndDate?: Time;
  responseStartDate?: Time;
  responseEndDate?: Time;
  networkProtocolName?: string | null;
  resourceFetchType?: 'networkLoad' | 'localCache';
  isReusedConnection?: boolean;
  isProxyConnection?: boolean;
  localAddress?: string;
  localPort?: number;
  remoteAddress?: string;
  remotePort?: number;
  /**
   * If true, the request used an interface that the operator classifies as cellular (`--interface-class`).
   * `isExpensive` and `isConstrained` have the corresponding meaning.
   */
  isCellular?: boolean;
  isExpensive?: boolean;
  isConstrained?: boolean;
  /** The value is always false. */
  isMultipath?: boolean;
  negotiatedTLSProtocolVersion?: string;
  /** The value is the suite's name in the IANA registry. */
  negotiatedTLSCipherSuite?: string;
  /** The value is always `unknown`, because the system does not report how it resolves names. */
  domainResolutionProtocol?: 'unknown';
  countOfRequestHeaderBytesSent?: number;
  countOfRequestBodyBytesSent?: number;
  /** The value counts the bytes of the body itself. It excludes the framing of a chunked body. */
  countOfRequestBodyBytesBeforeEncoding?: number;
  countOfResponseHeaderBytesReceived?: number;
  countOfResponseBodyBytesReceived?: number;
  countOfResponseBodyBytesAfterDecoding?: number;
}

export type EventType = 'task.didCreate' | 'task.didChangeState' | 'session.didReceiveChallenge' |
  'task.didReceiveChallenge' | 'task.willPerformHTTPRedirection' | 'task.needNewBodyStream' |
  'task.didSendBodyData' | 'task.didReceiveInformationalResponse' | 'task.isWaitingForConnectivity' |
  'task.willBeginDelayedRequest' | 'dataTask.didReceiveResponse' | 'dataTask.didReceiveData' |
  'dataTask.didBecomeDownloadTask' | 'dataTask.willCacheResponse' | 'downloadTask.didResumeAtOffset' |
  'downloadTask.didWriteData' | 'downloadTask.didFinishDownloading' | 'task.didFinishCollectingMetrics' |
  'task.didComplete' | 'session.handleEvents' | 'group.didComplete' | 'session.didFinishEvents' |
  'session.didBecomeInvalid' | 'events.didReset' | 'decision.answerWasRejected' |
  'webhook.endpointDidDisable' | 'webhook.test';

export interface TaskCreatedData {
  kind: TaskKind;
  taskIdentifier: number;
  url: string;
  method: string;
  description: string | null;
  group?: GroupName;
  labels?: Labels;
}

export interface TaskStateChangedData {
  state: TaskState;
  phase: TaskPhase;
  lastError?: LastError;
  nextAttemptAt?: NextAttemptAt;
}

/** `lastError` is the error of the last attempt. It is present only in the phase `waitingToRetry`. */
export type LastError = TaskError;

/** The next attempt begins at this time or later. The member is present together with `lastError`. */
export type NextAttemptAt = string;

/** The `data` of a decision's event has these members. They are absent if the call is not a decision. */
export interface DecisionNotice {
  decisionId?: DecisionID;
  /** `expiresAt` is the time when the decision expires and `default` applies. */
  expiresAt?: Time;
  default?: DecisionDefault;
}

/**
 * A server or a proxy asks who the client is, or the trust of a server is in doubt (`URLAuthenticationChallenge`).
 * `taskId` is the task whose request or connection is challenged.
 */
export interface ChallengedData {
  decisionId?: DecisionID;
  /** `expiresAt` is the time when the decision expires and `default` applies. */
  expiresAt?: Time;
  default?: DecisionDefault;
  protectionSpace: ProtectionSpace;
  proposedCredential: ProposedCredential | null;
  /** `previousFailureCount` is the number of the task's credentials that this server or proxy has refused. */
  previousFailureCount: number;
  /** `failureResponse` is the response with 401 or 407. It is null if there was none. */
  failureResponse: Response | null;
}

/** The object has the arguments of `task.willPerformHTTPRedirection`. */
export interface RedirectedData {
  decisionId?: DecisionID;
  /** `expiresAt` is the time when the decision expires and `default` applies. */
  expiresAt?: Time;
  default?: DecisionDefault;
  /** `response` is the redirect response. */
  response: Response;
  /** `request` is the proposed request to the redirect's location. */
  request: Request;
}

/**
 * The object has the arguments of `task.needNewBodyStream`. The client must send the request's body, or send it
 * again. The call is always a decision.
 */
export interface BodyNeededData {
  decisionId: DecisionID;
  /** `expiresAt` is the time when the decision expires and `default` applies. */
  expiresAt: Time;
  default: DecisionDefault;
}

/** The object has the arguments of `dataTask.willCacheResponse`. The cache is about to store a response. */
export interface WillCacheData {
  decisionId?: DecisionID;
  /** `expiresAt` is the time when the decision expires and `default` applies. */
  expiresAt?: Time;
  default?: DecisionDefault;
  response: Response;
  /** `countOfBytes` is the number of bytes of the response's body. */
  countOfBytes: number;
  /** `storagePolicy` is the policy that applies without an answer. */
  storagePolicy: 'allowed';
}

/** The object has the arguments of `task.willBeginDelayedRequest`. The task's `earliestBeginDate` has come. */
export interface DelayedData {
  decisionId?: DecisionID;
  /** `expiresAt` is the time when the decision expires and `default` applies. */
  expiresAt?: Time;
  default?: DecisionDefault;
  /** `request` is the request that Ferry is about to send. */
  request: Request;
}

export interface InformedData {
  status: number;
  headers: Headers;
}

/**
 * The object has the arguments of `dataTask.didReceiveResponse`. A `multipart/x-mixed-replace` response has one
 * event for each part.
 */
export interface RespondedData {
  decisionId?: DecisionID;
  /** `expiresAt` is the time when the decision expires and `default` applies. */
  expiresAt?: Time;
  default?: DecisionDefault;
  response: Response;
}

/**
 * The object has the arguments of `task.didSendBodyData`. They count the bytes of the request's body since the
 * previous event, so far, and in total. An unknown total is -1.
 */
export interface SentData {
  bytesSent: number;
  totalBytesSent: number;
  totalBytesExpectedToSend: number;
}

/**
 * The object has the arguments of `dataTask.didReceiveData`. They count the bytes of the response's body since the
 * previous event, so far, and in total. An unknown total is -1.
 */
export interface ReceivedData {
  bytesReceived: number;
  countOfBytesReceived: number;
  countOfBytesExpectedToReceive: number;
  /** With `data=inline`, `data` has the bytes. */
  data?: string;
}

/**
 * The object has the arguments of `dataTask.didBecomeDownloadTask`. The transfer continues as another task. This
 * task has ended, without a `task.didComplete`.
 */
export interface BecameDownloadData {
  downloadTaskId: TaskID;
  downloadTask: Task;
}

/**
 * The object has the arguments of `downloadTask.didResumeAtOffset`. The download continues at this offset; 0 means
 * that it started from the beginning.
 */
export interface ResumedData {
  /** `fileOffset` is the number of bytes that were already stored. */
  fileOffset: number;
  /** `expectedTotalBytes` is the number of bytes of the complete body, or -1 if it is unknown. */
  expectedTotalBytes: number;
}

/**
 * The object has the arguments of `downloadTask.didWriteData`. They count the bytes of the body since the previous
 * event, so far, and in total. An unknown total is -1.
 */
export interface WrittenData {
  bytesWritten: number;
  totalBytesWritten: number;
  totalBytesExpectedToWrite: number;
}

export interface DownloadedData {
  body: Body;
  suggestedFilename: string | null;
}

export interface MeasuredData {
  metrics: Metrics;
}

export interface CompletedData {
  error: TaskError | null;
  /** `status` is the status of the origin's response. It is null without a response. */
  status: number | null;
  body: Body | null;
  /** `task` is the task at its end. Only webhook messages have it. */
  task?: Task;
}

export interface HandleEventsData {
  identifier: BackgroundIdentifier;
}

/** The object has no members of its own. */
export interface FinishedEventsData {
}

export interface InvalidatedData {
  /** The value is always null. */
  error: string | null;
}

export interface ResetData {
  /** `oldestAvailable` is the id of the event with which the replay starts. */
  oldestAvailable: number;
}

/**
 * The answer of a webhook was invalid or came too late, so Ferry did not apply it. If the decision was pending, its
 * default was applied.
 */
export interface AnswerRejectedData {
  decisionId: DecisionID;
  reason: string;
}

/** A client disabled an endpoint, or Ferry did because the endpoint failed. */
export interface EndpointDisabledData {
  endpoint: EndpointID;
  url: string;
  reason: string;
}

export interface WebhookSubject {
  /** `sessionId` is null for `webhook.endpointDidDisable`. */
  sessionId: SessionID | null;
  taskId: string | null;
}

export interface Usage {
  /** The numbers of tasks that have not ended, by state, and of those that have ended, by outcome. */
  tasks: {suspended: number; running: number; canceling: number; succeeded: number; failed: number; cancelled: number};
  /** The space of the file system that has the data directory. It is null if the service cannot read it. */
  disk: DiskSpace | null;
}

export interface DiskSpace {
  /** The space that Ferry may use. */
  availableBytes: number;
  totalBytes: number;
}

export interface ServiceSettings {
  settings: ServiceSetting[];
  limits: ServiceLimit[];
}

export interface ServiceSetting {
  /** The name of the setting in the settings file. */
  name: string;
  /** The value with its type in the settings file. It is null if there is none. */
  value: Record<string, unknown>;
  /** The kind of place that the value comes from. */
  source: 'commandLine' | 'environment' | 'file' | 'workingDirectory' | 'default';
  /** The option, the variable or the file that has the value. */
  from: string | null;
}

export interface ServiceLimit {
  name: string;
  value: number;
  unit: 'bytes' | 'seconds' | 'count';
  meaning: string;
  /** The effect of exceeding the limit. */
  beyond: string;
}

export interface Version {
  name: 'ferry';
  version: string;
}

export type ProblemName = 'invalid-request' | 'malformed-json' | 'malformed-http' | 'unauthorized' |
  'host-not-allowed' | 'origin-not-allowed' | 'destination-not-permitted' | 'not-found' | 'body-not-found' |
  'method-not-allowed' | 'not-acceptable' | 'conflict' | 'body-not-ready' | 'decision-settled' |
  'upload-interrupted' | 'precondition-failed' | 'idempotency-in-progress' | 'identifier-in-use' |
  'payload-too-large' | 'request-timeout' | 'target-too-long' | 'head-too-large' | 'unsupported-media-type'
  | 'range-not-satisfiable' | 'idempotency-mismatch' | 'limit-exceeded' | 'unprocessable' | 'quota-exceeded'
  | 'internal-error' | 'stored-data-unreadable' | 'draining' | 'store-unavailable' | 'insufficient-storage';

/** The object is a problem in the form of RFC 9457. */
export interface Problem {
  /** `type` is the path of a page that explains the problem. It does not change between versions. */
  type: string;
  title: string;
  status: number;
  /** `detail` explains the problem of this request. */
  detail?: string;
  /** `line` is the number of the batch's line, from 1. Blank lines count. */
  line?: number;
  /** `errors` lists the fields at fault. It has at most 100 entries, and at most 10 for a line of a batch. */
  errors?: FieldError[];
  /** `omittedErrors` is the number of fields at fault that `errors` leaves out. It is absent if there are none. */
  omittedErrors?: number;
}

export interface FieldError {
  /** `pointer` is a JSON pointer (RFC 6901) into the body, the query parameters or the header fields. */
  pointer: string;
  /** `in` is present for a query parameter and a header field. It is absent for members of the body and of the path. */
  in?: 'query' | 'header';
  detail: string;
}

/** The `data` of each type of event. */
export interface EventData {
  'task.didCreate': TaskCreatedData;
  'task.didChangeState': TaskStateChangedData;
  'session.didReceiveChallenge': ChallengedData;
  'task.didReceiveChallenge': ChallengedData;
  'task.willPerformHTTPRedirection': RedirectedData;
  'task.needNewBodyStream': BodyNeededData;
  'task.didSendBodyData': SentData;
  'task.didReceiveInformationalResponse': InformedData;
  'task.isWaitingForConnectivity': FinishedEventsData;
  'task.willBeginDelayedRequest': DelayedData;
  'dataTask.didReceiveResponse': RespondedData;
  'dataTask.didReceiveData': ReceivedData;
  'dataTask.didBecomeDownloadTask': BecameDownloadData;
  'dataTask.willCacheResponse': WillCacheData;
  'downloadTask.didResumeAtOffset': ResumedData;
  'downloadTask.didWriteData': WrittenData;
  'downloadTask.didFinishDownloading': DownloadedData;
  'task.didFinishCollectingMetrics': MeasuredData;
  'task.didComplete': CompletedData;
  'session.handleEvents': HandleEventsData;
  'group.didComplete': Group;
  'session.didFinishEvents': FinishedEventsData;
  'session.didBecomeInvalid': InvalidatedData;
  'events.didReset': ResetData;
  'decision.answerWasRejected': AnswerRejectedData;
  'webhook.endpointDidDisable': EndpointDisabledData;
  'webhook.test': FinishedEventsData;
}

/** An event of a stream. `type` selects the type of `data`. */
export type Event<T extends EventType = EventType> = {
  [K in T]: {id: number | null; type: K; time: Time; sessionId: string | null; taskId: string | null; data: EventData[K]}
}[T];

/** A webhook message. `type` selects the type of `data`. */
export type WebhookMessage<T extends EventType = EventType> = {
  [K in T]: {type: K; timestamp: Time; data: EventData[K] & WebhookSubject}
}[T];
