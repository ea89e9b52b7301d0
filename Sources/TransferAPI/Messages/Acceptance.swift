internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes

/// What a client is willing to read (RFC 9110 §12.5.1).
enum Acceptance {
  /// Refuses to send what the client does not accept. Only reads: what a write has done is told in any case.
  static func check(_ request: ServerRequest, _ response: ServerResponse) throws(Problem) {
    guard request.head.method == .get || request.head.method == .head, response.head.status.code == 200,
      let accept = request.head.headerFields[.accept], let type = response.head.headerFields[.contentType]
    else { return }
    guard accepts(accept, type) else { throw Problem(.notAcceptable, "the resource is \(type)") }
  }

  /// Throws if the client prefers JSON to an event stream: it would wait for the end of an endless stream.
  /// Every other value of Accept gets the stream.
  static func checkStream(_ context: RequestContext) throws(Problem) {
    guard let accept = context.field(.accept),
      quality(of: "application/json", in: accept) > quality(of: "text/event-stream", in: accept)
    else { return }
    throw Problem(.notAcceptable, "events are a stream: accept text/event-stream")
  }

  static func accepts(_ accept: String, _ type: String) -> Bool { quality(of: type, in: accept) > 0 }

  /// How much a client wants a type, from 0 (not at all) to 1: what the most specific range that covers it says.
  static func quality(of type: String, in accept: String) -> Double {
    let type = essence(type)
    let family = String(type.prefix { $0 != "/" }) + "/*"
    // Which problems a client can read says nothing of the resource: generated clients name nothing else.
    let ranges = accept.split(separator: ",").filter { essence($0) != "application/problem+json" }
    guard !ranges.isEmpty else { return 1 }
    for covering in [type, family, "*/*"] {
      let qualities = ranges.filter { essence($0) == covering }.map { weight($0) }
      if let decisive = qualities.max() { return decisive }
    }
    return 0
  }

  /// What a member of a list of preferences names, without its parameters.
  static func essence(_ type: some StringProtocol) -> String {
    (String(type).split(separator: ";").first ?? "").trimmingBlanks.lowercasedASCII
  }

  /// Whether its quality value is 0 (RFC 9110 §12.4.2).
  static func isRefused(_ preference: Substring) -> Bool { weight(preference) == 0 }

  /// A preference's weight; 1 where it has none that can be read.
  private static func weight(_ preference: Substring) -> Double {
    for parameter in preference.split(separator: ";").dropFirst() {
      let text = parameter.trimmingBlanks.lowercasedASCII
      guard text.hasPrefix("q="), let weight = Double(text.dropFirst(2)) else { continue }
      return max(0, min(weight, 1))
    }
    return 1
  }
}
