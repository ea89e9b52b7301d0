internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import TransferModel

/// A request on its way through the API: what it asks, and what the route found in its path.
struct RequestContext: Sendable {
  let request: ServerRequest
  /// Values of the pattern's `{names}`.
  let parameters: [String: String]
  let query: [QueryItem]
  let requestID: String
  /// For whom the call is; nil where nobody was asked.
  let tenant: Tenant?
  /// Another process has handed it on.
  let isFromPeer: Bool

  struct QueryItem: Sendable, Equatable {
    let name: String
    let value: String
  }

  init(
    request: ServerRequest, parameters: [String: String], requestID: String, tenant: Tenant?,
    isFromPeer: Bool = false
  ) {
    self.tenant = tenant
    self.isFromPeer = isFromPeer
    self.request = request
    self.parameters = parameters
    self.requestID = requestID
    query = Self.parse(request.query)
  }

  private static func parse(_ query: String) -> [QueryItem] {
    query.split(separator: "&").map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      func decode(_ text: Substring) -> String {
        PercentEncoding.decode(String(text.map { $0 == "+" ? " " : $0 }))
      }
      return QueryItem(name: decode(parts[0]), value: parts.count > 1 ? decode(parts[1]) : "")
    }
  }

  /// The same, whose body was read.
  func with(_ body: RequestBody) -> Self {
    let copy = ServerRequest(
      head: request.head, path: request.path, query: request.query, body: body, localPort: request.localPort)
    return RequestContext(
      request: copy, parameters: parameters, requestID: requestID, tenant: tenant, isFromPeer: isFromPeer)
  }

  var isRead: Bool { request.head.method == .get || request.head.method == .head }

  func field(_ name: HTTPField.Name) -> String? { request.head.headerFields[name] }

  // MARK: Path

  func sessionID() throws(Problem) -> SessionID {
    guard let id = parameters["session"].flatMap({ SessionID($0) }) else {
      throw Problem(.notFound, "no session has this id")
    }
    return id
  }

  func taskID() throws(Problem) -> TaskID {
    guard let id = parameters["task"].flatMap({ TaskID($0) }) else {
      throw Problem(.notFound, "no task has this id")
    }
    return id
  }

  func decisionID() throws(Problem) -> DecisionID {
    guard let id = parameters["decision"].flatMap({ DecisionID($0) }) else {
      throw Problem(.notFound, "no decision has this id")
    }
    return id
  }

  func fileID() throws(Problem) -> FileID {
    guard let id = parameters["file"].flatMap({ FileID($0) }) else {
      throw Problem(.notFound, "no file has this id")
    }
    return id
  }

  // MARK: Query

  /// Refuses parameters that the route does not know, or that say two things.
  func allowQuery(_ names: String...) throws(Problem) {
    let violations = Violations()
    for item in query where !names.contains(item.name) {
      violations.add(parameter: item.name, "unknown query parameter")
    }
    for name in names where query.count(where: { $0.name == name }) > 1 {
      violations.add(parameter: name, "is there more than once")
    }
    guard violations.isEmpty else { throw Problem(violations) }
  }

  func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

  func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws(Problem) -> Choice?
  where Choice.RawValue == String {
    guard let text = value(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw Self.invalid(name, "must be one of \(known)")
    }
    return choice
  }

  func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw Self.invalid(name, "must be an integer between \(range.lowerBound) and \(range.upperBound)")
    }
    return number
  }

  func flag(_ name: String) throws(Problem) -> Bool? {
    switch value(name) {
    case nil: return nil
    case "true", "1": return true
    case "false", "0": return false
    default: throw Self.invalid(name, "must be true or false")
    }
  }

  static func invalid(_ name: String, _ detail: String) -> Problem {
    Problem(.invalidRequest, violations: [FieldViolation(parameter: name, detail: detail)])
  }

  static func invalid(_ field: HTTPField.Name, _ detail: String) -> Problem {
    Problem(.invalidRequest, violations: [FieldViolation(field: field.rawName, detail: detail)])
  }

  // MARK: Preferences (RFC 7240)

  /// Seconds of `Prefer: wait=N`; nil where the client does not want to wait.
  var preferredWait: Double? {
    for preference in (field(.prefer) ?? "").split(whereSeparator: { $0 == "," || $0 == ";" }) {
      let parts = preference.split(separator: "=", maxSplits: 1).map { $0.trimmingBlanks }
      guard parts.count == 2, parts[0].lowercasedASCII == "wait" else { continue }
      // RFC 7240: a value may be quoted.
      let isQuoted = parts[1].count > 1 && parts[1].hasPrefix("\"") && parts[1].hasSuffix("\"")
      let value = isQuoted ? String(parts[1].dropFirst().dropLast()) : parts[1]
      guard value.utf8.allSatisfy({ $0 &- 48 < 10 || $0 == 0x2E }), let seconds = Double(value) else {
        continue
      }
      return min(seconds, Double(Limits.waitSeconds.value))
    }
    return nil
  }

  // MARK: Body

  enum BodyType { case json, ndjson, mergePatch }

  /// The type of the body that was sent.
  func bodyType(_ allowed: BodyType...) throws(Problem) -> BodyType {
    if let coding = field(.contentEncoding), coding.lowercasedASCII != "identity" {
      throw Problem(.unsupportedMediaType, "send the body without Content-Encoding")
    }
    let type = field(.contentType)?.parts(between: ";").first.map { $0.trimmingBlanks.lowercasedASCII }
    if type == "application/json", allowed.contains(.json) { return .json }
    if type == "application/merge-patch+json", allowed.contains(.mergePatch) { return .mergePatch }
    if type == "application/x-ndjson" || type == "application/jsonl", allowed.contains(.ndjson) {
      return .ndjson
    }
    let names = allowed.map { type in
      switch type {
      case .json: "application/json"
      case .ndjson: "application/x-ndjson"
      case .mergePatch: "application/merge-patch+json"
      }
    }
    throw Problem(.unsupportedMediaType, "send " + names.joined(separator: " or "))
  }

  /// Whether the request has a JSON or NDJSON body of more than `small-body` bytes, or of unknown length. Parsing it on a shared thread
  /// would delay other requests.
  var hasLargeJSON: Bool {
    guard (request.body.length ?? .max) > Limits.smallBodyBytes.value else { return false }
    return (try? bodyType(.json, .mergePatch, .ndjson)) != nil
  }

  /// The bytes of a JSON body.
  func jsonBytes() async throws -> [UInt8] {
    _ = try bodyType(.json)
    return try await request.body.collect(upTo: Limits.jsonBytes.value)
  }

  /// A body that may be absent: an empty object then.
  func optionalJSON() async throws -> JSONValue {
    if field(.contentType) == nil {
      let bytes = try await request.body.collect(upTo: Limits.jsonBytes.value)
      guard bytes.isEmpty else { throw Problem(.unsupportedMediaType, "send application/json") }
      return .object([])
    }
    let bytes = try await jsonBytes()
    return bytes.isEmpty ? .object([]) : try JSONParser.parse(bytes)
  }

  /// Refuses a body that says anything, where there is nothing to say.
  func expectNoMembers() async throws {
    let violations = Violations()
    ObjectReader(try await optionalJSON(), at: "", violations).finish()
    guard violations.isEmpty else { throw Problem(violations) }
  }
}
