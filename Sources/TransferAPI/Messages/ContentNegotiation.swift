internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes

/// Content negotiation by the field Accept (RFC 9110 §12.5.1).
enum ContentNegotiation {
  /// Throws if the client does not accept the reply's type. Only reads are checked: a write's result is always reported.
  static func check(_ request: ServerRequest, _ response: ServerResponse) throws(Problem) {
    guard request.head.method == .get || request.head.method == .head, response.head.status.code == 200,
      let accept = request.head.headerFields[.accept], let type = response.head.headerFields[.contentType]
    else { return }
    guard accepts(accept, type) else {
      throw Problem(
        .notAcceptable, "the resource has the type \(type), which Accept does not include: '\(accept)'")
    }
  }

  /// Whether the client prefers a page of events to an endless stream. Every other value of Accept gets the stream.
  static func prefersPage(_ context: RequestContext) -> Bool {
    guard let accept = context.field(.accept) else { return false }
    return quality(of: "application/json", in: accept) > quality(of: "text/event-stream", in: accept)
  }

  /// Whether a client names HTML, as browsers do. Other clients accept any type at most.
  static func prefersHTML(_ accept: String?) -> Bool {
    guard let accept else { return false }
    return quality(of: "text/html", in: accept) > quality(of: "application/json", in: accept)
  }

  /// Returns the type in JSON for a client that asks for a problem in JSON, or `nil` for a client that takes HTML.
  static func problemType(_ accept: String?) -> String? {
    let types = ["application/problem+json", "application/json"]
    guard let accept, !prefersHTML(accept) else { return nil }
    let named = accept.split(separator: ",").map { essence($0) }
    return types.first { named.contains($0) }
  }

  static func accepts(_ accept: String, _ type: String) -> Bool { quality(of: type, in: accept) > 0 }

  /// Returns the weight of a type, from 0 (refused) to 1, by the most specific range that covers the type.
  static func quality(of type: String, in accept: String) -> Double {
    let type = essence(type)
    let family = String(type.prefix { $0 != "/" }) + "/*"
    // Generated clients often name only `application/problem+json`, which restricts errors and not the resource.
    let ranges = accept.split(separator: ",").filter { essence($0) != "application/problem+json" }
    guard !ranges.isEmpty else { return 1 }
    for covering in [type, family, "*/*"] {
      let qualities = ranges.filter { essence($0) == covering }.map { weight($0) }
      if let decisive = qualities.max() { return decisive }
    }
    return 0
  }

  /// Returns the name of a list's member, without parameters.
  static func essence(_ type: some StringProtocol) -> String {
    (String(type).split(separator: ";").first ?? "").trimmingBlanks.lowercasedASCII
  }

  /// Whether the quality value is 0 (RFC 9110 §12.4.2).
  static func isRefused(_ preference: Substring) -> Bool { weight(preference) == 0 }

  /// Returns the weight of a preference, or 1 if it is missing or malformed.
  private static func weight(_ preference: Substring) -> Double {
    for parameter in preference.split(separator: ";").dropFirst() {
      let text = parameter.trimmingBlanks.lowercasedASCII
      guard text.hasPrefix("q="), let weight = Double(text.dropFirst(2)) else { continue }
      return max(0, min(weight, 1))
    }
    return 1
  }
}
