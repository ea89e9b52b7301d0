package import JSON

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
