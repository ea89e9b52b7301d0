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
  }

  /// Writes the request as the member `request` of an answer, with its own body.
  func encode(into writer: inout JSONWriter) {
    encode(into: &writer, body: httpBody.map { .bytes($0) } ?? .none)
  }

  /// Writes the request as the member `request` of a task.
  func encode(into writer: inout JSONWriter, body: BodyReference) {
    writer.object { writer in
      writer.field("url", url?.absoluteString ?? "")
      if let httpMethod { writer.field("method", httpMethod) }
      if let allHTTPHeaderFields { writer.field("headers", strings: allHTTPHeaderFields) }
      switch body {
      case .none: break
      case .bytes(let data): writer.objectField("body") { $0.field("base64", data.base64EncodedString()) }
      case .file(let id): writer.objectField("body") { $0.field("file", id) }
      case .stream: writer.objectField("body") { $0.field("stream", true) }
      }
      if let requestTimeoutInterval { writer.field("timeoutInterval", requestTimeoutInterval) }
      if let requestCachePolicy { writer.field("cachePolicy", requestCachePolicy.rawValue) }
      if !httpShouldHandleCookies { writer.field("httpShouldHandleCookies", false) }
      if let mainDocumentURL { writer.field("mainDocumentURL", mainDocumentURL.absoluteString) }
      if !allowsCellularAccess { writer.field("allowsCellularAccess", false) }
      if !allowsExpensiveNetworkAccess { writer.field("allowsExpensiveNetworkAccess", false) }
      if !allowsConstrainedNetworkAccess { writer.field("allowsConstrainedNetworkAccess", false) }
      if networkServiceType != .default { writer.field("networkServiceType", networkServiceType.rawValue) }
    }
  }

  /// Reads a request of the service. Its body is not part of it.
  init?(_ json: JSONValue?) {
    guard let json, let url = json["url"]?.string.flatMap({ URL(string: $0) }) else { return nil }
    self.init(url: url)
    httpMethod = json["method"]?.string
    allHTTPHeaderFields = json["headers"]?.stringMembers
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
