internal import FoundationEssentials
internal import JSON

extension FerryRequest {
  /// The body of a request, in the form that the service expects.
  enum BodyReference: Sendable, Equatable {
    case none
    case bytes(Data)
    /// The identifier of a stored file.
    case file(String)
    case stream
    /// The body that the service has already.
    case proposed(ProposedBody)
  }

  /// The header fields that the connection determines. A program may set them for Apple's URLSession, which ignores the values.
  private static let reserved: Set = [
    "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding",
    "upgrade",
  ]
  /// The longest interval in seconds that a service accepts. Apple's URLSession knows longer ones, and none.
  static let longestInterval = 31_536_000.0

  /// Returns an interval that a service accepts.
  static func acceptable(_ interval: Double) -> Double {
    interval > 0 && interval < longestInterval ? max(interval, 0.001) : longestInterval
  }

  /// Writes the request as the member `request` of an answer, with its own body.
  func encode(into writer: inout JSONWriter) {
    let proposed = proposedBody.map { BodyReference.proposed($0) } ?? .none
    encode(into: &writer, body: httpBody.map { .bytes($0) } ?? proposed)
  }

  /// Writes the request as the member `request` of a task.
  func encode(into writer: inout JSONWriter, body: BodyReference) {
    writer.object { writer in
      writer.field("url", url?.absoluteString ?? "")
      if let httpMethod { writer.field("method", httpMethod) }
      if let allHTTPHeaderFields {
        let sent = allHTTPHeaderFields.filter { !Self.reserved.contains($0.key.lowercased()) }
        writer.field("headers", strings: sent)
      }
      switch body {
      case .none: break
      case .bytes(let data): writer.objectField("body") { $0.field("base64", data.base64EncodedString()) }
      case .file(let id): writer.objectField("body") { $0.field("file", id) }
      case .stream: writer.objectField("body") { $0.field("stream", true) }
      case .proposed(let proposed):
        writer.objectField("body") { writer in
          if let size = proposed.size { writer.field("size", size) }
          if let file = proposed.file { writer.field("file", file) }
          if proposed.isStream { writer.field("stream", true) }
        }
      }
      if let requestTimeoutInterval {
        writer.field("timeoutInterval", Self.acceptable(requestTimeoutInterval))
      }
      if let requestCachePolicy { writer.field("cachePolicy", requestCachePolicy.rawValue) }
      if !httpShouldHandleCookies { writer.field("httpShouldHandleCookies", false) }
      if let mainDocumentURL { writer.field("mainDocumentURL", mainDocumentURL.absoluteString) }
      if !allowsCellularAccess { writer.field("allowsCellularAccess", false) }
      if !allowsExpensiveNetworkAccess { writer.field("allowsExpensiveNetworkAccess", false) }
      if !allowsConstrainedNetworkAccess { writer.field("allowsConstrainedNetworkAccess", false) }
      if networkServiceType != .default { writer.field("networkServiceType", networkServiceType.rawValue) }
    }
  }

  /// Reads a request of the service. The bytes of its body are not part of it.
  init?(_ json: JSONValue?) {
    guard let json, let url = json["url"]?.string.flatMap({ URL(string: $0) }) else { return nil }
    self.init(url: url)
    httpMethod = json["method"]?.string
    allHTTPHeaderFields = json["headers"]?.stringMembers
    if let body = json["body"], body.isObject {
      proposedBody = ProposedBody(
        size: body["size"]?.integer, file: body["file"]?.string, isStream: body["stream"]?.bool ?? false)
    }
    requestTimeoutInterval = json["timeoutInterval"]?.double
    requestCachePolicy = json["cachePolicy"]?.string.flatMap(CachePolicy.init)
    httpShouldHandleCookies = json["httpShouldHandleCookies"]?.bool ?? true
    mainDocumentURL = json["mainDocumentURL"]?.string.flatMap { URL(string: $0) }
    allowsCellularAccess = json["allowsCellularAccess"]?.bool ?? true
    allowsExpensiveNetworkAccess = json["allowsExpensiveNetworkAccess"]?.bool ?? true
    allowsConstrainedNetworkAccess = json["allowsConstrainedNetworkAccess"]?.bool ?? true
    networkServiceType = json["networkServiceType"]?.string.flatMap(NetworkServiceType.init) ?? .default
  }
}

extension JSONWriter {
  /// Writes a member that is a time of the service.
  mutating func field(_ name: StaticString, date: Date) {
    field(name, date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
  }

  /// Writes a member that is an object of strings, in the order of their names.
  mutating func field(_ name: StaticString, strings: [String: String]) {
    objectField(name) { writer in
      for (name, value) in strings.sorted(by: { $0.key < $1.key }) {
        writer.key(name)
        writer.value(value)
      }
    }
  }
}

extension JSONValue {
  /// The members of an object of strings.
  var stringMembers: [String: String] {
    let pairs = (members ?? []).compactMap { member in member.value.string.map { (member.name, $0) } }
    return Dictionary(pairs) { first, _ in first }
  }

  /// A time of the service.
  var date: Date? {
    string.flatMap { try? Date($0, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
  }
}
