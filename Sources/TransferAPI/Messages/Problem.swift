package import JSON

/// A kind of problem, with the page that explains it.
package struct ProblemKind: Sendable, Equatable {
  package let slug: String
  package let status: Int
  package let title: String
  /// What a client can do about it.
  package let explanation: String

  private init(_ slug: String, _ status: Int, _ title: String, _ explanation: String) {
    self.slug = slug
    self.status = status
    self.title = title
    self.explanation = explanation
  }

  package static let invalidRequest = Self(
    "invalid-request", 400, "The request is not valid",
    "The members of errors name each field at fault by a JSON pointer and say what is wrong with it.")
  package static let malformedJSON = Self(
    "malformed-json", 400, "The body is not JSON",
    "The body must be one JSON text (RFC 8259), UTF-8, without duplicate names.")
  package static let malformedHTTP = Self(
    "malformed-http", 400, "The message is not valid HTTP",
    "The framing of the request is ambiguous or broken (RFC 9112).")
  package static let unauthorized = Self(
    "unauthorized", 401, "A valid token is needed", "Send Authorization: Bearer and a token of the service.")
  package static let hostNotAllowed = Self(
    "host-not-allowed", 403, "This Host is not served",
    "Without a token the service answers to localhost, 127.0.0.1 and [::1] only.")
  package static let originNotAllowed = Self(
    "origin-not-allowed", 403, "This Origin is not allowed",
    "Pages of other origins may not call the service.")
  package static let notFound = Self(
    "not-found", 404, "There is no such resource", "The path or the id in it is unknown, or was deleted.")
  package static let bodyNotFound = Self(
    "body-not-found", 404, "The task has no body",
    "The detail says why; for example, the task failed, or its body has expired.")
  package static let methodNotAllowed = Self(
    "method-not-allowed", 405, "The resource does not have this method", "The Allow field names those it has."
  )
  package static let notAcceptable = Self(
    "not-acceptable", 406, "The reply cannot have the wanted type",
    "The detail names the type that the resource has.")
  package static let requestTimeout = Self(
    "request-timeout", 408, "The request took too long", "Its parts must come in time; send it again.")
  package static let targetTooLong = Self(
    "target-too-long", 414, "The request's target is too long", "The detail names the limit.")
  package static let headTooLarge = Self(
    "head-too-large", 431, "The request's head is too large",
    "The detail names the limit, of its bytes or of its fields.")
  package static let conflict = Self(
    "conflict", 409, "The resource's state does not allow it", "The detail says which state is in the way.")
  package static let bodyNotReady = Self(
    "body-not-ready", 409, "The body is not ready",
    "The task has not ended. A data task's body can be read as soon as it runs.")
  package static let decisionSettled = Self(
    "decision-settled", 409, "The decision was made already",
    "Another answer came first, the time for one ran out, or the task has ended. The decision tells what was done."
  )
  package static let uploadInterrupted = Self(
    "upload-interrupted", 409, "The body was not taken whole",
    "The task ended first, or needs the body anew: look at the task, and send the body again where it asks for it."
  )
  package static let identifierInUse = Self(
    "identifier-in-use", 409, "Another background session has the identifier",
    "To get that session back, send what it was created with; one that is being invalidated must be invalid first."
  )
  package static let preconditionFailed = Self(
    "precondition-failed", 412, "The resource has changed", "If-Match names another version; read it again.")
  package static let idempotencyInProgress = Self(
    "idempotency-in-progress", 409, "The first request under this key is still running", "Try again later.")
  package static let payloadTooLarge = Self(
    "payload-too-large", 413, "The body is too large", "The detail names the limit.")
  package static let unsupportedMediaType = Self(
    "unsupported-media-type", 415, "The body's type is not supported", "The detail names those that are.")
  package static let rangeNotSatisfiable = Self(
    "range-not-satisfiable", 416, "The range lies outside of the body", "Content-Range tells the body's size."
  )
  package static let idempotencyMismatch = Self(
    "idempotency-mismatch", 422, "The key was used for another request",
    "An Idempotency-Key belongs to one request: method, path and body.")
  package static let limitExceeded = Self(
    "limit-exceeded", 422, "Something is larger than it may be",
    "The members of errors name each field, its size and the limit.")
  package static let quotaExceeded = Self(
    "quota-exceeded", 429, "A limit of the service is reached", "The detail names the limit; try again later."
  )
  package static let internalError = Self(
    "internal-error", 500, "The service failed", "The Request-Id finds the cause in the service's log.")
  package static let storedDataUnreadable = Self(
    "stored-data-unreadable", 500, "What is stored cannot be read",
    "The detail names what and where. It is left as it is; a newer version of the service, or another key, may have written it."
  )
  package static let draining = Self(
    "draining", 503, "The service is about to stop", "Try again; another process will answer.")
  package static let storeUnavailable = Self(
    "store-unavailable", 503, "The store cannot be used at the moment", "Nothing was changed; try again.")
  package static let storeFull = Self(
    "insufficient-storage", 507, "The disk or the memory for ephemeral sessions is full",
    "Nothing was changed; free some room and try again."
  )

  package static let all: [ProblemKind] = [
    invalidRequest, malformedJSON, malformedHTTP, unauthorized, hostNotAllowed, originNotAllowed, notFound,
    bodyNotFound, methodNotAllowed, notAcceptable, conflict, bodyNotReady, idempotencyInProgress,
    identifierInUse,
    payloadTooLarge, decisionSettled, uploadInterrupted, preconditionFailed, unsupportedMediaType,
    rangeNotSatisfiable, idempotencyMismatch, limitExceeded, quotaExceeded, internalError,
    storedDataUnreadable, draining,
    requestTimeout, targetTooLong, headTooLarge,
    storeUnavailable, storeFull,
  ]
}

/// An error as a client gets it (RFC 9457).
package struct Problem: Error, Sendable {
  package var kind: ProblemKind
  package var detail: String?
  package var violations: [FieldViolation] = []
  /// Violations that are not among them.
  package var omittedViolations = 0
  /// The line of an NDJSON batch, from 1.
  package var line: Int?
  /// Fields of the reply: Allow, Retry-After.
  package var fields: [(name: String, value: String)] = []

  package init(_ kind: ProblemKind, _ detail: String? = nil, violations: [FieldViolation] = []) {
    self.kind = kind
    self.detail = detail
    self.violations = violations
  }

  /// Everything that is wrong with a request, as far as it was kept.
  package init(_ violations: Violations) {
    self.init(violations.all, omitted: violations.omitted)
  }

  /// The problem for a request's violations: `limit-exceeded` if every violation is an exceeded limit, otherwise
  /// `invalid-request`.
  package init(_ violations: [FieldViolation], omitted: Int) {
    let isExcess = !violations.isEmpty && violations.allSatisfy(\.isExcess)
    self.init(isExcess ? .limitExceeded : .invalidRequest, violations: violations)
    omittedViolations = omitted
  }

  /// The same, with so many violations at the most.
  func telling(at count: Int) -> Problem {
    guard violations.count > count else { return self }
    var copy = self
    copy.omittedViolations += violations.count - count
    copy.violations.removeLast(violations.count - count)
    return copy
  }

  /// The next try is to use another connection, which may lead to another process. The daemon says so in every reply, but begins later.
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
  /// As the log has it.
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
