/// The columns that hold whole documents of requests and responses. Each is sealed as one: nobody reads in the file what a client
/// or an origin has sent.
enum DocumentKind: String, CaseIterable, Sendable {
  case session = "session.document"
  case configuration = "configuration.document"
  case specification = "task.specification"
  case requestBody = "task.request_body"
  case outcome = "task.outcome"
  case metrics = "task.metrics"
  case stream = "journal.stream"
  case payload = "delivery.payload"
  case arguments = "decision.arguments"
  case answer = "decision.answer"
  case reply = "idempotency.body"

  var table: String { String(rawValue.prefix { $0 != "." }) }
  var column: String { String(rawValue.drop { $0 != "." }.dropFirst()) }
  /// The columns that name the row.
  var key: [String] {
    switch self {
    case .configuration: ["tenant", "name"]
    case .stream: ["first"]
    case .reply: ["tenant", "key"]
    default: ["id"]
    }
  }

  /// Whether it is an object of the store's own, which says of which version it is. The others are bytes of somebody else, or what
  /// clients are shown.
  var hasVersion: Bool {
    switch self {
    case .session, .configuration, .specification, .outcome: true
    case .requestBody, .metrics, .stream, .payload, .arguments, .answer, .reply: false
    }
  }
}

/// Of which version a document is: its member `v`. Every kind of document has the same; one of another version is read as that
/// version was written, for ever.
///
/// 1: no member `v`; secrets in it are sealed one by one. 2: sealed as a whole, with its secrets as they are; what it got later is
/// written only where it says something.
enum DocumentVersion {
  static let current = 2
  static let member: StaticString = "v"
}
