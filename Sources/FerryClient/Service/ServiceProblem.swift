package import JSON

/// The failure of a request to a service.
package enum ServiceError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The service cannot be reached, or the connection broke.
  case unreachable(String)
  case timedOut(String)
  /// The service refused the request.
  case problem(ServiceProblem)
  /// The reply is not what the contract declares.
  case invalidReply(String)
  /// The body of the request could not be read.
  case unreadableBody(String)
  case cancelled

  package var description: String {
    switch self {
    case .unreachable(let text), .timedOut(let text), .invalidReply(let text), .unreadableBody(let text): text
    case .problem(let problem): problem.description
    case .cancelled: "the request was cancelled"
    }
  }
}

/// A refusal (RFC 9457).
package struct ServiceProblem: Error, Sendable, Equatable, CustomStringConvertible {
  package struct FieldError: Sendable, Equatable {
    /// The JSON pointer or the parameter at fault.
    package let place: String
    package let detail: String
  }

  package let status: Int
  package let type: String
  package let title: String
  package let detail: String?
  package let errors: [FieldError]
  /// Seconds that the service asks the client to wait.
  package let retryAfter: Int?

  package init(_ head: ServiceHead, _ body: [UInt8]) {
    let json = try? JSONParser.parse(body, isLimited: false)
    self.init(status: head.status, json, retryAfter: head["Retry-After"].flatMap { Int($0) })
  }

  /// - Parameter json: the problem, as a reply or as a line of a batch's reply.
  package init(status: Int, _ json: JSONValue?, retryAfter: Int? = nil) {
    self.status = status
    type = json?["type"]?.string ?? "about:blank"
    title = json?["title"]?.string ?? "status \(status)"
    detail = json?["detail"]?.string
    errors = (json?["errors"]?.elements ?? []).map {
      FieldError(
        place: $0["pointer"]?.string ?? $0["parameter"]?.string ?? "", detail: $0["detail"]?.string ?? "")
    }
    self.retryAfter = retryAfter
  }

  package var description: String {
    let faults = errors.map { $0.place.isEmpty ? $0.detail : "\($0.place) \($0.detail)" }
    let text = faults.isEmpty ? detail : faults.joined(separator: "; ")
    return text.map { "\(title): \($0) (\(status))" } ?? "\(title) (\(status))"
  }
}
