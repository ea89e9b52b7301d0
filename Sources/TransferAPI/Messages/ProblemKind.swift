/// A type of problem, which has a page under `/problems`.
package struct ProblemKind: Sendable, Equatable {
  package let slug: String
  package let status: Int
  package let title: String
  /// The cause, in one or two sentences.
  package let meaning: String
  /// The advice for the client.
  package let remedy: String

  private init(_ slug: String, _ status: Int, _ title: String, meaning: String, remedy: String) {
    self.slug = slug
    self.status = status
    self.title = title
    self.meaning = meaning
    self.remedy = remedy
  }

  package static let invalidRequest = Self(
    "invalid-request", 400, "The request is not valid",
    meaning:
      "A member of the body, a query parameter or a header field has a wrong value, is unknown, or is missing.",
    remedy:
      "Each member of errors names a wrong field by its JSON pointer, and says how to correct it. Correct these fields, and send the request again."
  )
  package static let malformedJSON = Self(
    "malformed-json", 400, "The body is not JSON",
    meaning: "The body is not one JSON text (RFC 8259) in UTF-8, or has a name twice in one object.",
    remedy: "Correct the body at the place that the detail names.")
  package static let malformedHTTP = Self(
    "malformed-http", 400, "The request is not valid HTTP",
    meaning: "The framing of the request is ambiguous or broken (RFC 9112), or its body ended early.",
    remedy:
      "Check the HTTP client and the proxies before the service. The service closes the connection, so use a new one."
  )
  package static let unauthorized = Self(
    "unauthorized", 401, "A valid token is needed",
    meaning: "The service has tokens, and the request has none of them.",
    remedy: "Send Authorization: Bearer and a token of the service. The operator's token file has the tokens."
  )
  package static let hostNotAllowed = Self(
    "host-not-allowed", 403, "This Host is not allowed",
    meaning:
      "Without a token, the service accepts only the hosts localhost, 127.0.0.1 and [::1], with its own port. This keeps web pages from reaching it by a name of their own.",
    remedy: "Use one of these hosts, or configure a token.")
  package static let originNotAllowed = Self(
    "origin-not-allowed", 403, "This Origin is not allowed",
    meaning: "A web page of another origin sent the request.",
    remedy: "Call the service from its own pages, or configure a token and call it from your server.")
  package static let destinationNotPermitted = Self(
    "destination-not-permitted", 403, "The destination is not permitted",
    meaning: "The file of the destination is in no directory that is open for this tenant.",
    remedy:
      "Choose a file in an open directory. The operator opens directories with --destination-directory. With tokens, each belongs to one tenant."
  )
  package static let notFound = Self(
    "not-found", 404, "There is no such resource",
    meaning:
      "The path or its id is unknown, or the resource was deleted. A resource of another tenant is reported in the same way.",
    remedy: "Check the id with the list that the detail names. /openapi.yaml lists the paths.")
  package static let bodyNotFound = Self(
    "body-not-found", 404, "The task has no body",
    meaning: "The task has no body: it failed, its body has expired, or a client has deleted it.",
    remedy: "The detail says which. Retry the task to fetch the body again.")
  package static let methodNotAllowed = Self(
    "method-not-allowed", 405, "The resource does not support this method",
    meaning: "The path exists, but does not have this method.",
    remedy: "Use a method that the Allow field names.")
  package static let notAcceptable = Self(
    "not-acceptable", 406, "The resource does not have an accepted type",
    meaning: "Accept excludes the only type that the resource has.",
    remedy: "Accept the type that the detail names.")
  package static let requestTimeout = Self(
    "request-timeout", 408, "The request took too long",
    meaning: "The head or the body of the request did not arrive in time.",
    remedy: "Send the request again, and send its body without pauses.")
  package static let targetTooLong = Self(
    "target-too-long", 414, "The request's target is too long",
    meaning: "The path and the query of the request are too long together.",
    remedy: "Shorten the URL to the limit that the detail names.")
  package static let headTooLarge = Self(
    "head-too-large", 431, "The request's head is too large",
    meaning: "The request line and the header fields are too large, or there are too many fields.",
    remedy: "Send fewer or shorter fields. The detail names the limit.")
  package static let conflict = Self(
    "conflict", 409, "The resource's state does not allow the request",
    meaning: "The resource is in a state that does not allow the request.",
    remedy: "The detail names the state and a remedy.")
  package static let bodyNotReady = Self(
    "body-not-ready", 409, "The body is not ready",
    meaning: "The task has not ended, so its body is not complete.",
    remedy:
      "Wait for the end with Prefer: wait, or for the event task.didComplete. A data task's body can be read as soon as it runs."
  )
  package static let decisionSettled = Self(
    "decision-settled", 409, "The decision is already settled",
    meaning: "Another answer came first, the decision expired, or the task has ended.",
    remedy: "Read the decision to see its outcome.")
  package static let uploadInterrupted = Self(
    "upload-interrupted", 409, "The upload was interrupted",
    meaning: "The task ended before it had taken the whole body, or it needs the body again.",
    remedy: "Read the task, and send the body again if the task asks for it.")
  package static let identifierInUse = Self(
    "identifier-in-use", 409, "Another background session has the identifier",
    meaning: "Another background session of the tenant has the identifier.",
    remedy:
      "To get that session, send the members it was created with. If it is being invalidated, wait until it is invalid."
  )
  package static let preconditionFailed = Self(
    "precondition-failed", 412, "The resource has changed",
    meaning: "If-Match or If-None-Match names another version of the resource than the current one.",
    remedy: "Read the resource again, and repeat the change with its new ETag.")
  package static let idempotencyInProgress = Self(
    "idempotency-in-progress", 409, "The first request with this key is still running",
    meaning: "The first request with this Idempotency-Key is still running.",
    remedy: "Repeat the request after Retry-After. The reply is then that of the first request.")
  package static let payloadTooLarge = Self(
    "payload-too-large", 413, "The body is too large",
    meaning: "The body exceeds the limit for this operation.",
    remedy: "Send a smaller body. The detail names the limit.")
  package static let unsupportedMediaType = Self(
    "unsupported-media-type", 415, "The body's type is not supported",
    meaning: "The operation does not read bodies of this Content-Type.",
    remedy: "Use one of the types that the detail names.")
  package static let rangeNotSatisfiable = Self(
    "range-not-satisfiable", 416, "The range is outside the body",
    meaning: "The range begins after the end of the body.",
    remedy: "Content-Range has the size of the body. Ask for a range within it.")
  package static let idempotencyMismatch = Self(
    "idempotency-mismatch", 422, "The key was used for another request",
    meaning: "The Idempotency-Key was used for another method, path or body.",
    remedy: "Use a new key for a new request.")
  package static let limitExceeded = Self(
    "limit-exceeded", 422, "A limit on the request is exceeded",
    meaning: "A field of the request is larger than its limit.",
    remedy: "Each member of errors names a field, its size and the limit. Shorten these fields.")
  package static let unprocessable = Self(
    "unprocessable", 422, "The request has no effect that Ferry can give it",
    meaning: "The request is well formed, but Ferry cannot give it the wanted effect.",
    remedy: "Each member of errors names a field, and says how to correct the request.")
  package static let quotaExceeded = Self(
    "quota-exceeded", 429, "A limit of the service is reached",
    meaning: "A limit of the service or of the session is reached for now.",
    remedy: "The detail names the limit. Repeat the request after Retry-After.")
  package static let internalError = Self(
    "internal-error", 500, "The service failed",
    meaning: "The service failed for a reason that it does not know.",
    remedy:
      "The log of the service has the cause: search for the Request-Id of the reply. The request may have been carried out."
  )
  package static let storedDataUnreadable = Self(
    "stored-data-unreadable", 500, "Stored data cannot be read",
    meaning:
      "The detail names data that this service cannot read, and leaves unchanged. A newer version of Ferry, or another key, may have written it.",
    remedy:
      "Start the version of Ferry that wrote it, or give the service its earlier key.")
  package static let draining = Self(
    "draining", 503, "The service is stopping",
    meaning: "The service is stopping and accepts no new requests.",
    remedy:
      "Repeat the request after Retry-After on a new connection. Another service, or the next one, will reply."
  )
  package static let storeUnavailable = Self(
    "store-unavailable", 503, "The database is unavailable",
    meaning:
      "The database accepts no writes now, or the session is moving between services. The request may have been carried out.",
    remedy: "Repeat the request after Retry-After, with its Idempotency-Key.")
  package static let storeFull = Self(
    "insufficient-storage", 507, "The disk or the memory for ephemeral sessions is full",
    meaning: "The disk is full, or the memory for ephemeral sessions is. Nothing was changed.",
    remedy: "Delete tasks, files or ephemeral sessions, or free disk space, and try again.")

  package static let all: [ProblemKind] = [
    invalidRequest, malformedJSON, malformedHTTP, unauthorized, hostNotAllowed, originNotAllowed,
    destinationNotPermitted, notFound,
    bodyNotFound, methodNotAllowed, notAcceptable, conflict, bodyNotReady, idempotencyInProgress,
    identifierInUse,
    payloadTooLarge, decisionSettled, uploadInterrupted, preconditionFailed, unsupportedMediaType,
    rangeNotSatisfiable, idempotencyMismatch, limitExceeded, unprocessable, quotaExceeded, internalError,
    storedDataUnreadable, draining,
    requestTimeout, targetTooLong, headTooLarge,
    storeUnavailable, storeFull,
  ]
}
