package import JSON

/// A type of problem, which has a page under `/problems`.
package struct ProblemKind: Sendable, Equatable {
  package let slug: String
  package let status: Int
  package let title: String
  /// The advice for the client.
  package let explanation: String

  private init(_ slug: String, _ status: Int, _ title: String, _ explanation: String) {
    self.slug = slug
    self.status = status
    self.title = title
    self.explanation = explanation
  }

  package static let invalidRequest = Self(
    "invalid-request", 400, "The request is not valid",
    "Each member of errors names a wrong field by its JSON pointer, and says how to correct it.")
  package static let malformedJSON = Self(
    "malformed-json", 400, "The body is not JSON",
    "The body must be one JSON text (RFC 8259), UTF-8, without duplicate names.")
  package static let malformedHTTP = Self(
    "malformed-http", 400, "The request is not valid HTTP",
    "The framing of the request is ambiguous or broken (RFC 9112).")
  package static let unauthorized = Self(
    "unauthorized", 401, "A valid token is needed", "Send Authorization: Bearer and a token of the service.")
  package static let hostNotAllowed = Self(
    "host-not-allowed", 403, "This Host is not allowed",
    "Without a token, the service accepts only the hosts localhost, 127.0.0.1 and [::1].")
  package static let originNotAllowed = Self(
    "origin-not-allowed", 403, "This Origin is not allowed",
    "Pages of other origins may not call the service.")
  package static let destinationNotPermitted = Self(
    "destination-not-permitted", 403, "The destination is not permitted",
    "The operator opens directories for destinations with --destination-directory. With tokens, each belongs to one tenant."
  )
  package static let notFound = Self(
    "not-found", 404, "There is no such resource",
    "The path or its id is unknown, or the resource was deleted.")
  package static let bodyNotFound = Self(
    "body-not-found", 404, "The task has no body",
    "The detail says why; for example, the task failed, or its body has expired.")
  package static let methodNotAllowed = Self(
    "method-not-allowed", 405, "The resource does not support this method",
    "The Allow field names the supported methods."
  )
  package static let notAcceptable = Self(
    "not-acceptable", 406, "The resource does not have an accepted type",
    "The detail names the type that the resource has.")
  package static let requestTimeout = Self(
    "request-timeout", 408, "The request took too long",
    "Its head and body must arrive in time; send the request again.")
  package static let targetTooLong = Self(
    "target-too-long", 414, "The request's target is too long", "The detail names the limit.")
  package static let headTooLarge = Self(
    "head-too-large", 431, "The request's head is too large",
    "The detail names the limit, in bytes or in header fields.")
  package static let conflict = Self(
    "conflict", 409, "The resource's state does not allow the request", "The detail names the state.")
  package static let bodyNotReady = Self(
    "body-not-ready", 409, "The body is not ready",
    "The task has not ended. A data task's body can be read as soon as it runs.")
  package static let decisionSettled = Self(
    "decision-settled", 409, "The decision is already settled",
    "Another answer came first, the decision expired, or the task has ended. Read the decision to see its outcome."
  )
  package static let uploadInterrupted = Self(
    "upload-interrupted", 409, "The upload was interrupted",
    "The task ended first, or needs the body again. Read the task, and send the body again if the task asks for it."
  )
  package static let identifierInUse = Self(
    "identifier-in-use", 409, "Another background session has the identifier",
    "To get that session, send the members it was created with. If it is being invalidated, wait until it is invalid."
  )
  package static let preconditionFailed = Self(
    "precondition-failed", 412, "The resource has changed",
    "The condition names another version; read the resource again.")
  package static let idempotencyInProgress = Self(
    "idempotency-in-progress", 409, "The first request with this key is still running", "Try again later.")
  package static let payloadTooLarge = Self(
    "payload-too-large", 413, "The body is too large", "The detail names the limit.")
  package static let unsupportedMediaType = Self(
    "unsupported-media-type", 415, "The body's type is not supported", "The detail names the supported types."
  )
  package static let rangeNotSatisfiable = Self(
    "range-not-satisfiable", 416, "The range is outside the body", "Content-Range has the size of the body."
  )
  package static let idempotencyMismatch = Self(
    "idempotency-mismatch", 422, "The key was used for another request",
    "An Idempotency-Key belongs to one method, path and body; use a new key for a new request.")
  package static let limitExceeded = Self(
    "limit-exceeded", 422, "A limit on the request is exceeded",
    "Each member of errors names a field, its size and the limit.")
  package static let unprocessable = Self(
    "unprocessable", 422, "The request has no effect that Ferry can give it",
    "Each member of errors names a field, and says how to correct the request.")
  package static let quotaExceeded = Self(
    "quota-exceeded", 429, "A limit of the service is reached", "The detail names the limit; try again later."
  )
  package static let internalError = Self(
    "internal-error", 500, "The service failed",
    "The log of the service has the cause; search for the Request-Id.")
  package static let storedDataUnreadable = Self(
    "stored-data-unreadable", 500, "Stored data cannot be read",
    "The detail names the data, which Ferry leaves unchanged. A newer version of Ferry, or another key, may have written it."
  )
  package static let draining = Self(
    "draining", 503, "The service is stopping", "Try again; another service will reply.")
  package static let storeUnavailable = Self(
    "store-unavailable", 503, "The database is unavailable",
    "The request may have been carried out; repeat it with its Idempotency-Key.")
  package static let storeFull = Self(
    "insufficient-storage", 507, "The disk or the memory for ephemeral sessions is full",
    "Nothing was changed; delete tasks, files or ephemeral sessions, or free disk space, and try again."
  )

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

/// An error as sent to the client (RFC 9457).
package struct Problem: Error, Sendable {
  package var kind: ProblemKind
  package var detail: String?
  package var violations: [FieldViolation] = []
  /// The number of violations that `violations` leaves out.
  package var omittedViolations = 0
  /// The line of an NDJSON batch, counted from 1.
  package var line: Int?
  /// Header fields of the reply: Allow, Retry-After.
  package var fields: [(name: String, value: String)] = []

  package init(_ kind: ProblemKind, _ detail: String? = nil, violations: [FieldViolation] = []) {
    self.kind = kind
    self.detail = detail
    self.violations = violations
  }

  /// Makes a problem of the collected violations.
  package init(_ violations: Violations) {
    self.init(violations.all, omitted: violations.omitted)
  }

  /// Makes the problem for a request's violations: `limit-exceeded` if each of them is an exceeded limit, otherwise
  /// `invalid-request`.
  package init(_ violations: [FieldViolation], omitted: Int) {
    let isExcess = !violations.isEmpty && violations.allSatisfy(\.isExcess)
    self.init(isExcess ? .limitExceeded : .invalidRequest, violations: violations)
    omittedViolations = omitted
  }

  /// Returns the problem with at most `count` violations.
  func limitingViolations(at count: Int) -> Problem {
    guard violations.count > count else { return self }
    var copy = self
    copy.omittedViolations += violations.count - count
    copy.violations.removeLast(violations.count - count)
    return copy
  }

  /// The next attempt should use a new connection, which may lead to another process. Later the daemon closes connections after
  /// every reply.
  static func draining(retryAfter seconds: Int) -> Problem {
    Problem(.draining).with("Retry-After", "\(seconds)").with("Connection", "close")
  }

  func with(_ name: String, _ value: String) -> Problem {
    var copy = self
    copy.fields.append((name, value))
    return copy
  }
}

extension Problem: CustomStringConvertible {
  /// The text for the log.
  package var description: String {
    ([detail ?? kind.title] + violations.map(\.description)).joined(separator: "; ")
  }
}

extension Problem: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("type", "/problems/" + kind.slug)
      writer.field("title", kind.title)
      writer.field("status", kind.status)
      if let detail { writer.field("detail", BoundedText.text(detail)) }
      if let line { writer.field("line", line) }
      guard !violations.isEmpty else { return }
      writer.arrayField("errors", violations) { writer, violation in
        writer.object { writer in
          writer.field("pointer", violation.pointer)
          if violation.place != .body { writer.field("in", violation.place.rawValue) }
          writer.field("detail", violation.detail)
        }
      }
      if omittedViolations > 0 { writer.field("omittedErrors", omittedViolations) }
    }
  }
}
