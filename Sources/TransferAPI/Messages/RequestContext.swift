internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Limits
internal import TransferModel

/// A request in the API, with the parameters from its path and query.
struct RequestContext: Sendable {
  let request: ServerRequest
  /// The values of the pattern's `{names}`.
  let parameters: [String: String]
  let query: [QueryItem]
  let requestID: String
  /// The caller's tenant, or `nil` for a public route.
  let tenant: Tenant?
  /// Whether another service forwarded the request.
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

  /// Returns the context with a body that was already read.
  func with(_ body: RequestBody) -> Self {
    let copy = ServerRequest(
      head: request.head, path: request.path, query: request.query, body: body, localPort: request.localPort)
    return RequestContext(
      request: copy, parameters: parameters, requestID: requestID, tenant: tenant, isFromPeer: isFromPeer)
  }

  /// Returns the context of a request about one resource that is part of this request for many. It has no body, and none of the header
  /// fields of this request.
  func with(
    _ method: HTTPRequest.Method, path: String, parameters: [String: String], fields: HTTPFields = [:]
  ) -> Self {
    let head = HTTPRequest(
      method: method, scheme: request.head.scheme, authority: request.head.authority, path: path,
      headerFields: fields)
    return RequestContext(
      request: ServerRequest(
        head: head, path: path, query: "", body: RequestBody([]), localPort: request.localPort),
      parameters: parameters, requestID: requestID, tenant: tenant)
  }

  var isRead: Bool { request.head.method == .get || request.head.method == .head }

  func field(_ name: HTTPField.Name) -> String? { request.head.headerFields[name] }

  // MARK: Path

  func sessionID() throws(Problem) -> SessionID {
    try pathID("session", "session", list: "/v1/sessions", of: "sessions")
  }

  func taskID() throws(Problem) -> TaskID { try pathID("task", "task", list: "/v1/tasks", of: "tasks") }

  func decisionID() throws(Problem) -> DecisionID {
    try pathID("decision", "decision", list: "/v1/sessions/{session}/decisions", of: "decisions")
  }

  func endpointID() throws(Problem) -> EndpointID {
    try pathID("endpoint", "webhook endpoint", list: "/v1/webhooks/endpoints", of: "endpoints")
  }

  func deliveryID() throws(Problem) -> DeliveryID {
    try pathID("delivery", "delivery", list: "/v1/webhooks/deliveries", of: "deliveries")
  }

  func fileID() throws(Problem) -> FileID { try pathID("file", "file", list: "/v1/files", of: "files") }

  /// Returns the id in a parameter of the path. Another text is not the id of any resource.
  private func pathID<Kind>(
    _ name: String, _ noun: String, list: String, of nouns: String
  ) throws(Problem) -> ID<Kind> {
    let text = parameters[name] ?? ""
    guard let id = ID<Kind>(text) else {
      throw Problem(.notFound, "no \(noun) has the id '\(text)'; GET \(list) lists the \(nouns)")
    }
    return id
  }

  // MARK: Query

  /// Throws if a query parameter is unknown or repeated.
  func allowQuery(_ names: String...) throws(Problem) { try allowQuery(names) }

  /// - Parameter repeatable: the parameters that may be given several times.
  func allowQuery(_ names: [String], repeatable: Set<String> = []) throws(Problem) {
    let violations = Violations()
    for item in query where item.name == Self.formatName && Self.formats[item.value] == nil {
      violations.add(parameter: item.name, "must be true or false, or have no value, not '\(item.value)'")
    }
    for item in query where !names.contains(item.name) && item.name != Self.formatName {
      let known = names.isEmpty ? "this resource has none" : "use \(names.joined(separator: ", "))"
      violations.add(parameter: item.name, "unknown query parameter; \(known)")
    }
    for name in names where !repeatable.contains(name) && query.count(where: { $0.name == name }) > 1 {
      violations.add(parameter: name, "is given more than once; give it once")
    }
    guard violations.isEmpty else { throw Problem(violations) }
  }

  /// The parameter of all requests that asks for formatted JSON, and its values.
  private static let formatName = "pretty"
  private static let formats = ["": true, "true": true, "false": false]

  /// Whether the client wants JSON that is formatted for people.
  var wantsFormat: Bool { value(Self.formatName).flatMap { Self.formats[$0] } ?? false }

  func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

  func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws(Problem) -> Choice?
  where Choice.RawValue == String {
    guard let text = value(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw Self.invalid(name, "must be one of \(known), not '\(text)'")
    }
    return choice
  }

  func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw Self.invalid(
        name, "must be an integer between \(range.lowerBound) and \(range.upperBound), not '\(text)'")
    }
    return number
  }

  func flag(_ name: String) throws(Problem) -> Bool? {
    switch value(name) {
    case nil: return nil
    case "true", "1": return true
    case "false", "0": return false
    case let text?: throw Self.invalid(name, "must be true or false, not '\(text)'")
    }
  }

  /// Returns the id in a query parameter.
  func id<Kind>(_ name: String, of type: ID<Kind>.Type = ID<Kind>.self) throws(Problem) -> ID<Kind>? {
    guard let text = value(name) else { return nil }
    guard let id = ID<Kind>(text) else {
      throw Self.invalid(name, "must be an id that begins with \(Kind.prefix), not '\(text)'")
    }
    return id
  }

  /// Returns the time in a query parameter.
  func time(_ name: String) throws(Problem) -> Timestamp? {
    guard let text = value(name) else { return nil }
    guard let time = Timestamp(text) else {
      throw Self.invalid(name, "must be an RFC 3339 date-time, like 2026-01-31T12:00:00Z, not '\(text)'")
    }
    return time
  }

  static func invalid(_ name: String, _ detail: String) -> Problem {
    Problem(.invalidRequest, violations: [FieldViolation(parameter: name, detail: detail)])
  }

  static func invalid(_ field: HTTPField.Name, _ detail: String) -> Problem {
    Problem(.invalidRequest, violations: [FieldViolation(field: field.rawName, detail: detail)])
  }

  // MARK: Preferences (RFC 7240)

  /// The seconds of `Prefer: wait=N`, or `nil` if the client does not want to wait.
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

  /// Returns the type of the body, or throws if it is not allowed.
  func bodyType(_ allowed: BodyType...) throws(Problem) -> BodyType {
    if let coding = field(.contentEncoding), coding.lowercasedASCII != "identity" {
      throw Problem(
        .unsupportedMediaType, "Content-Encoding '\(coding)' is not supported; send the body without it")
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
    let given = type.map { "Content-Type is '\($0)'" } ?? "Content-Type is missing"
    throw Problem(.unsupportedMediaType, "send \(names.joined(separator: " or ")); \(given)")
  }

  /// Whether the request has a JSON or NDJSON body of more than `small-body` bytes, or of unknown length. Parsing such a body on
  /// a shared thread would delay other requests.
  var hasLargeJSON: Bool {
    guard (request.body.length ?? .max) > Limits.smallBodyBytes.value else { return false }
    return (try? bodyType(.json, .mergePatch, .ndjson)) != nil
  }

  /// Reads the bytes of a JSON body.
  func jsonBytes() async throws -> [UInt8] {
    _ = try bodyType(.json)
    return try await request.body.collect(upTo: Limits.jsonBytes.value)
  }

  /// Reads a JSON body. A missing body counts as `{}`.
  func optionalJSON() async throws -> JSONValue {
    if field(.contentType) == nil {
      let bytes = try await request.body.collect(upTo: Limits.jsonBytes.value)
      guard bytes.isEmpty else {
        throw Problem(.unsupportedMediaType, "send application/json; Content-Type is missing")
      }
      return .object([])
    }
    let bytes = try await jsonBytes()
    return bytes.isEmpty ? .object([]) : try JSONParser.parse(bytes)
  }

  /// Throws if the body has members, for requests that define none.
  func requireEmptyBody() async throws {
    let violations = Violations()
    ObjectReader(try await optionalJSON(), at: "", violations).finish()
    guard violations.isEmpty else { throw Problem(violations) }
  }
}
