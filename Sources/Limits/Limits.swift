/// A limit on something that a client, an origin, a webhook endpoint or another service may choose.
///
/// `ferry config --limits` and docs/settings.md list all limits.
package struct Limit: Sendable {
  package enum Unit: String, Sendable {
    case bytes, seconds, count
  }

  /// The name in kebab-case.
  package let name: String
  package let value: Int
  package let unit: Unit
  /// The limited quantity, as a phrase.
  package let meaning: String
  /// The consequence of exceeding the limit, as a phrase.
  package let consequence: String

  package init(_ name: String, _ value: Int, _ meaning: String, in unit: Unit = .count, beyond: String) {
    self.name = name
    self.value = value
    self.unit = unit
    self.meaning = meaning
    self.consequence = beyond
  }
}

/// The fixed limits. Limits that an operator may change are settings.
package enum Limits {
  private static let refused = "422 with the field"
  private static let tooLarge = "413"

  // MARK: Requests of clients

  package static let jsonBytes = Limit(
    "json-body", 8 << 20, "JSON in the body of a request", in: .bytes, beyond: tooLarge)
  package static let batchBytes = Limit(
    "batch", 64 << 20, "a batch of tasks (NDJSON)", in: .bytes, beyond: tooLarge)
  package static let batchLineBytes = Limit(
    "batch-line", 1 << 20, "one line of a batch", in: .bytes, beyond: tooLarge)
  package static let batchLines = Limit("batch-lines", 20_000, "lines of a batch", beyond: tooLarge)
  package static let jsonValues = Limit(
    "json-values", 500_000, "values in one JSON document", beyond: "400")
  package static let jsonDepth = Limit(
    "json-depth", 64, "arrays and objects inside each other in JSON", beyond: "400")
  package static let bodySilenceSeconds = Limit(
    "body-silence", 30, "longest pause between bytes of a request's body", in: .seconds,
    beyond:
      "408; for `PUT /v1/tasks/{id}/body`, the task's `timeoutIntervalForRequest` plus 15 seconds applies instead"
  )
  package static let bodyPeriodSeconds = Limit(
    "body-period", 60, "period in which a request's body must reach `body-in-period`", in: .seconds,
    beyond: "408; not for `PUT /v1/tasks/{id}/body`")
  package static let bodyBytesInPeriod = Limit(
    "body-in-period", 60 << 10, "minimum bytes of a request's body in each `body-period`",
    in: .bytes,
    beyond: "408; not for `PUT /v1/tasks/{id}/body`")
  package static let smallBodyBytes = Limit(
    "small-body", 64 << 10, "largest body that does not count towards `receiving` and `replying`",
    in: .bytes,
    beyond: "it is counted")
  package static let receivingBytes = Limit(
    "receiving", 128 << 20, "request bodies being collected, for all clients together", in: .bytes,
    beyond: "429 with Retry-After")
  package static let replyBytes = Limit(
    "replying", 128 << 20, "replies being sent from memory, for all clients together", in: .bytes,
    beyond: "429 with Retry-After")
  package static let requestHeadBytes = Limit(
    "request-head", 16 << 10, "request line and header fields of a request to Ferry", in: .bytes,
    beyond: "431")
  package static let requestFields = Limit(
    "request-fields", 100, "header fields of a request to Ferry", beyond: "431")
  package static let targetBytes = Limit(
    "request-target", 8 << 10, "target of a request to Ferry", in: .bytes, beyond: "414")
  package static let requestHeadSeconds = Limit(
    "request-head-time", 10, "time in which the head of a request to Ferry must arrive", in: .seconds,
    beyond: "408")
  package static let compressedResumeDataBytes = Limit(
    "compressed-resume-data", 4 << 10, "resume data that are compressed before they are encrypted",
    in: .bytes,
    beyond: "they are encrypted without compression")
  package static let idleSeconds = Limit(
    "idle-connection", 75, "how long an idle connection of a client is kept", in: .seconds,
    beyond: "it is closed")
  package static let unfinishedTasks = Limit(
    "unfinished-tasks", 200_000, "unfinished tasks of a session", beyond: "429 with Retry-After")
  package static let submittedTaskBytes = Limit(
    "submitted-tasks", 4 << 20,
    "URLs, header fields, descriptions and small bodies of a session's submitted tasks with more than 4 KiB; paused tasks have a separate limit, 16 times as high",
    in: .bytes,
    beyond:
      "further large tasks wait in the database until there is room; a `PATCH` that lengthens the texts gets 429"
  )
  package static let pageItems = Limit("page-items", 500, "items of a page", beyond: "400")
  package static let pageBytes = Limit(
    "page", 4 << 20, "a page of a list", in: .bytes, beyond: "the page ends early, with a cursor for the rest"
  )
  package static let waitSeconds = Limit(
    "prefer-wait", 300, "`Prefer: wait`", in: .seconds, beyond: "the reply has the task's current state"
  )

  package static let methodBytes = Limit("method", 64, "a request's method", in: .bytes, beyond: refused)
  package static let urlBytes = Limit("url", 64 << 10, "a URL", in: .bytes, beyond: refused)
  package static let descriptionBytes = Limit(
    "description", 64 << 10, "the description of a session or task", in: .bytes, beyond: refused)
  package static let groupBytes = Limit(
    "group", 128, "the name of a task's group", in: .bytes, beyond: refused)
  package static let labels = Limit("labels", 32, "labels of a task", beyond: refused)
  package static let labelKeyBytes = Limit(
    "label-key", 63, "the key of a label", in: .bytes, beyond: refused)
  package static let labelValueBytes = Limit(
    "label-value", 256, "the value of a label", in: .bytes, beyond: refused)
  package static let searchBytes = Limit(
    "search-text", 256, "a text that a list of tasks searches for: `url`, `urlPrefix` or `description`",
    in: .bytes, beyond: "400; 422 in the body of a request")
  package static let searchedTasks = Limit(
    "searched-tasks", 5000,
    "tasks whose URL and description one page searches; a task with more than 1 KiB of them counts several times",
    beyond: "the page ends early, with a cursor for the rest")
  package static let hostBytes = Limit(
    "host", 253, "a host's name (RFC 1035 §3.1)", in: .bytes,
    beyond: "422 with the field; 400 inside the URL of a proxy")
  package static let userBytes = Limit(
    "user", 1 << 10, "the user of a credential", in: .bytes,
    beyond: "422 with the field; 400 inside the URL of a proxy")
  package static let passwordBytes = Limit(
    "password", 16 << 10, "the password of a credential, which may be a token", in: .bytes,
    beyond: "422 with the field; 400 inside the URL of a proxy")
  package static let realmBytes = Limit(
    "realm", 1 << 10, "the realm of a protection space", in: .bytes, beyond: refused)

  package static let fields = Limit(
    "fields", 1000, "header fields of one message",
    beyond: "422 in a request of a client; the task ends with cannotParseResponse in a response")
  package static let fieldBytes = Limit(
    "field", 64 << 10, "one field of a request, name and value", in: .bytes, beyond: refused)
  package static let headBytes = Limit(
    "head", 256 << 10, "all header fields of one message", in: .bytes,
    beyond: "422 in a request of a client; the task ends with cannotParseResponse in a response")
  package static let streamBytes = Limit(
    "stream", 1 << 50, "the `Content-Length` that a client announces for a stream", in: .bytes,
    beyond: "400")
  package static let retryStatuses = Limit("retry-statuses", 100, "`statuses` of `retry`", beyond: refused)
  package static let secretNames = Limit(
    "secret-names", 64, "names in `secretHeaderFields`", beyond: refused)
  package static let secretNameBytes = Limit(
    "secret-name", 256, "one of these names", in: .bytes, beyond: refused)

  // MARK: Sessions

  package static let configurationBytes = Limit(
    "configuration", 1 << 20, "a session's configuration, without its certificates", in: .bytes,
    beyond: refused)
  package static let rootBytes = Limit(
    "root-certificates-size", 4 << 20, "`tlsAdditionalRootCertificates`", in: .bytes, beyond: refused)
  package static let roots = Limit(
    "root-certificates", 1000, "certificates in `tlsAdditionalRootCertificates`", beyond: refused)
  package static let rootsOfOneSubject = Limit(
    "root-certificates-of-one-subject", 16,
    "certificates in `tlsAdditionalRootCertificates` with the same subject",
    beyond: refused)
  package static let proxyExceptions = Limit(
    "proxy-exceptions", 10_000, "entries of `noProxy`", beyond: refused)
  package static let pinnedHosts = Limit(
    "pinned-hosts", 1000, "hosts in `tlsPinnedPublicKeys`", beyond: refused)
  package static let pinnedKeys = Limit("pinned-keys", 64, "keys of one pinned host", beyond: refused)

  package static let credentials = Limit(
    "credentials", 5000, "credentials of a session",
    beyond: "422; a credential that answers a challenge is used but not stored")
  package static let credentialBytes = Limit(
    "credentials-size", 4 << 20, "all credentials of a session; 256 bytes are added for each",
    in: .bytes, beyond: "422; a credential that answers a challenge is used but not stored")
  package static let chainCertificates = Limit(
    "chain", 16, "certificates in a `clientCertificate`", beyond: refused)
  package static let certificateBytes = Limit(
    "certificate", 64 << 10, "one of these certificates, and the key", in: .bytes, beyond: refused)

  // MARK: Cookies

  package static let cookiesInRequest = Limit(
    "cookies-in-request", 3000, "cookies in one `PUT`", beyond: "422; none is stored")
  package static let cookies = Limit(
    "cookies", 3000, "cookies of a session",
    beyond: "excess cookies are evicted, in the order of RFC 6265bis §5.7")
  package static let cookiesOfSite = Limit(
    "cookies-of-site", 180, "cookies of one site",
    beyond: "excess cookies are evicted, in the order of RFC 6265bis §5.7")
  package static let cookieBytes = Limit(
    "cookie", 4096, "a cookie's name and value together", in: .bytes, beyond: "422; a `Set-Cookie` is ignored"
  )
  package static let cookieAttributeBytes = Limit(
    "cookie-attribute", 1 << 10, "a cookie's path or domain", in: .bytes,
    beyond: "422; in a `Set-Cookie`, the attribute is ignored")

  // MARK: Responses

  package static let cacheDirectives = Limit(
    "cache-directives", 64, "directives of `Cache-Control`", beyond: "the response is not stored")
  package static let varyNames = Limit(
    "vary-names", 32, "names in `Vary`", beyond: "the response is not stored")
  package static let trailerBytes = Limit(
    "trailer", 64 << 10, "trailer fields", in: .bytes, beyond: "the task ends with cannotParseResponse")
  package static let informationalResponses = Limit(
    "informational-responses", 1000, "informational responses (1xx) before the final response",
    beyond: "the task ends with cannotParseResponse")
  package static let redirects = Limit(
    "redirects", 20, "redirects of one task", beyond: "the task ends with httpTooManyRedirects")
  package static let partHeadBytes = Limit(
    "part-head", 16 << 10, "header fields of one part of `multipart/x-mixed-replace`", in: .bytes,
    beyond: "the task ends with cannotParseResponse")
  package static let contentCodings = Limit(
    "content-codings", 5, "codings in one `Content-Encoding`",
    beyond: "the body is not decoded")
  package static let discardedBytes = Limit(
    "discarded-body", 64 << 10, "body of a redirect or challenge that Ferry reads to keep the connection",
    in: .bytes, beyond: "the connection is closed")
  package static let repeats = Limit(
    "repeats", 5, "repeats of one request after lost connections",
    beyond: "the task ends with the error of the last one")
  package static let staleNonces = Limit(
    "stale-nonces", 3, "nonces that one server may call stale in a row",
    beyond: "the credential counts as refused")
  package static let trustedChains = Limit(
    "trusted-chains", 1024, "certificate chains that a session's delegate has trusted",
    beyond: "all are discarded, and the delegate is asked again")
  package static let authenticatedPlaces = Limit(
    "authenticated-servers", 1024, "servers and proxies that a session sends credentials to preemptively",
    beyond: "all are discarded, and the servers ask again")
  package static let authenticatedRealms = Limit(
    "authenticated-realms", 64, "realms of one server that a session sends credentials to preemptively",
    beyond: "the oldest is discarded, and the server asks again")
  package static let authenticatedPaths = Limit(
    "authenticated-paths", 64, "directories of one realm that a session sends credentials to preemptively",
    beyond: "the oldest is discarded, and the server asks again")
  package static let challenges = Limit(
    "challenges", 64, "challenges of one response, and parameters of one challenge",
    beyond: "further ones are ignored")
  package static let uploadAppends = Limit(
    "upload-appends", 1000, "requests of one resumable upload",
    beyond: "the task ends with badServerResponse")
  package static let partDelimiterBytes = Limit(
    "part-delimiter", 256, "a delimiter line of a multipart response", in: .bytes,
    beyond: "it is part of the body")
  package static let uploadCorrections = Limit(
    "upload-corrections", 3, "offsets that a server of resumable uploads may correct in one transfer",
    beyond: "the task ends with badServerResponse")
  package static let uploadOrigins = Limit(
    "upload-origins", 1000, "origins whose version of resumable uploads a session remembers",
    beyond: "it learns them again")
  package static let cacheVariants = Limit(
    "cache-variants", 32, "responses that a cache keeps for one URL", beyond: "the oldest is removed")
  package static let replyTextBytes = Limit(
    "reply-text", 1024, "a content type or file name of an origin in a reply's head", in: .bytes,
    beyond: "it is left out")
  package static let partsUnderWay = Limit(
    "parts-under-way", 64,
    "parts of one `multipart/x-mixed-replace` response whose events are not stored yet",
    beyond: "Ferry pauses receiving until half of the events are stored")
  package static let ranges = Limit(
    "ranges", 1000, "range requests of one download", beyond: "the task ends with networkConnectionLost")

  // MARK: Destinations

  package static let destinationBytes = Limit(
    "destination", 4000, "path of a download's destination", in: .bytes, beyond: refused)
  package static let destinationNameBytes = Limit(
    "destination-name", 255, "one name in the path of a download's destination", in: .bytes,
    beyond: "400 with the field")
  package static let destinationNames = Limit(
    "destination-names", 1000, "names that a download with `ifExists` `rename` tries",
    beyond: "the task ends with destinationFailed")

  // MARK: Reachability

  package static let probes = Limit(
    "probes", 64, "running reachability probes", beyond: "further probes wait")
  package static let probesOfTenant = Limit(
    "probes-of-tenant", 8, "running reachability probes of one tenant, if tokens are configured",
    beyond: "further probes wait")
  package static let waitingProbes = Limit(
    "waiting-probes", 256, "waiting reachability probes of one tenant", beyond: "429 with Retry-After")
  package static let probeWaitSeconds = Limit(
    "probe-wait", 30, "how long a reachability probe waits", in: .seconds, beyond: "429 with Retry-After")

  package static let inlineBodyBytes = Limit(
    "inline-body", 64 << 10, "largest body of a task's request that is kept in the database", in: .bytes,
    beyond: "it is kept in an encrypted file")
  package static let discardedUploadBytes = Limit(
    "discarded-upload", 64 << 20, "rest of a request's body that comes after its reply is ready", in: .bytes,
    beyond: "413, and the connection is closed")
  package static let lingeringConnections = Limit(
    "lingering-connections", 256, "connections whose clients still send after the reply",
    beyond: "they are closed at once")
  package static let violations = Limit(
    "violations", 100, "wrong fields that one problem lists", beyond: "it says how many more there are")
  package static let lineViolations = Limit(
    "line-violations", 10, "wrong fields that are listed for one line of a batch",
    beyond: "it says how many more there are")
  package static let shownTextBytes = Limit(
    "shown-text", 1024, "a client's text in a problem", in: .bytes, beyond: "its beginning is shown")

  // MARK: Webhooks and events

  package static let webhookAttempts = Limit(
    "webhook-attempts", 64,
    "attempts to deliver webhook messages at once, not counting those that take more than a second",
    beyond: "further messages wait")

  package static let endpoints = Limit(
    "webhook-endpoints", 100, "webhook endpoints of a tenant", beyond: "409")
  package static let endpointFields = Limit(
    "webhook-endpoint-fields", 20, "header fields of a webhook endpoint", beyond: refused)
  package static let endpointConcurrency = Limit(
    "webhook-endpoint-concurrency", 64, "attempts at once to one webhook endpoint", beyond: refused)
  package static let slowAttempts = Limit(
    "webhook-slow-attempts", 1024, "attempts to deliver webhook messages that take more than a second",
    beyond: "only destinations whose last attempt succeeded get further messages")
  package static let destinationDeliveries = Limit(
    "webhook-waiting-in-memory", 128, "messages to one destination that wait in memory",
    beyond: "the others are read from the database")
  package static let waitingDeliveryBytes = Limit(
    "webhook-waiting-bytes", 64 << 20, "webhook messages that wait in memory", in: .bytes,
    beyond: "the others are read from the database")
  package static let destinations = Limit(
    "webhook-destinations", 10_000,
    "destinations whose webhook messages are in memory. One tenant has at most three quarters of them, and 16 even if no room is left",
    beyond: "further destinations wait, and tenants take turns")
  package static let waitingDestinations = Limit(
    "webhook-waiting-destinations", 100_000,
    "destinations in memory that wait for their next attempt or for room",
    beyond: "further destinations are read from the database when they are due")
  package static let keptAttempts = Limit(
    "webhook-kept-attempts", 20, "attempts that a delivery shows", beyond: "the oldest are dropped")
  package static let shownReplyBytes = Limit(
    "webhook-shown-reply", 1 << 10, "body of a webhook endpoint's reply that an attempt shows", in: .bytes,
    beyond: "its beginning is shown")
  package static let webhookReplyBytes = Limit(
    "webhook-reply", 1 << 20, "body of a webhook endpoint's reply", in: .bytes,
    beyond: "the attempt fails if the reply is an answer; otherwise the rest is not kept")
  package static let webhookHeadBytes = Limit(
    "webhook-head", 64 << 10, "header fields of a webhook endpoint's reply", in: .bytes,
    beyond: "the attempt fails")
  package static let webhookRetryAfterSeconds = Limit(
    "webhook-retry-after", 86_400, "`Retry-After` of a webhook endpoint", in: .seconds,
    beyond: "it counts as one day")
  package static let queuedEventBytes = Limit(
    "queued-events", 1 << 20, "events that wait for one reader of a stream", in: .bytes,
    beyond: "the reader continues from the journal")
  package static let waitingProgress = Limit(
    "waiting-progress", 10_000, "tasks whose progress waits for one reader of a stream",
    beyond: "progress of further tasks is left out")

  /// All limits, in the order of the list.
  package static let all: [Limit] = [
    jsonBytes, jsonValues, jsonDepth, batchBytes, batchLineBytes, batchLines, bodySilenceSeconds,
    bodyPeriodSeconds,
    bodyBytesInPeriod, smallBodyBytes, inlineBodyBytes, discardedUploadBytes, lingeringConnections,
    violations,
    lineViolations, shownTextBytes, receivingBytes, replyBytes, requestHeadBytes, requestFields,
    targetBytes, requestHeadSeconds, idleSeconds, compressedResumeDataBytes, unfinishedTasks,
    submittedTaskBytes, pageItems, pageBytes,
    waitSeconds,
    methodBytes, urlBytes, descriptionBytes, groupBytes, labels, labelKeyBytes, labelValueBytes,
    searchBytes, searchedTasks, hostBytes, userBytes, passwordBytes, realmBytes, fields,
    fieldBytes,
    headBytes, streamBytes, retryStatuses, secretNames, secretNameBytes, configurationBytes, rootBytes, roots,
    rootsOfOneSubject,
    proxyExceptions, pinnedHosts,
    pinnedKeys, credentials, credentialBytes, chainCertificates, certificateBytes, cookiesInRequest, cookies,
    cookiesOfSite,
    cookieBytes, cookieAttributeBytes, cacheDirectives, varyNames, trailerBytes, informationalResponses,
    redirects, partHeadBytes, contentCodings, discardedBytes, repeats, staleNonces, trustedChains,
    authenticatedPlaces, authenticatedRealms, authenticatedPaths, challenges, uploadAppends,
    partDelimiterBytes, partsUnderWay, uploadCorrections, uploadOrigins, cacheVariants, replyTextBytes,
    ranges, destinationBytes, destinationNameBytes, destinationNames, probes, probesOfTenant, waitingProbes,
    probeWaitSeconds, endpoints, endpointFields,
    endpointConcurrency,
    webhookAttempts, slowAttempts, destinations, waitingDestinations, destinationDeliveries,
    waitingDeliveryBytes, keptAttempts,
    shownReplyBytes, webhookReplyBytes,
    webhookHeadBytes, webhookRetryAfterSeconds, queuedEventBytes, waitingProgress,
  ]
}
