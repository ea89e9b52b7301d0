internal import HTTPServer
internal import HTTPTypes
internal import TransferModel

/// What a client is willing to read (RFC 9110 §12.5.1).
enum Acceptance {
  /// Refuses to send what the client does not accept. Only reads: what a write has done is told in any case.
  static func check(_ request: ServerRequest, _ response: ServerResponse) throws(Problem) {
    guard request.head.method == .get || request.head.method == .head, response.head.status.code == 200,
      let accept = request.head.headerFields[.accept], let type = response.head.headerFields[.contentType]
    else { return }
    guard accepts(accept, type) else { throw Problem(.notAcceptable, "the resource is \(type)") }
  }

  static func accepts(_ accept: String, _ type: String) -> Bool {
    let type = essence(type)
    let family = type.prefix { $0 != "/" } + "/*"
    // Which problems a client can read says nothing of the resource: generated clients name nothing else.
    let ranges = accept.split(separator: ",").filter { essence($0) != "application/problem+json" }
    return ranges.isEmpty
      || ranges.contains { range in
        let wanted = essence(range)
        return (wanted == "*/*" || wanted == family || wanted == type) && !isRefused(range)
      }
  }

  /// What a member of a list of preferences names, without its parameters.
  static func essence(_ type: some StringProtocol) -> String {
    (type.split(separator: ";").first ?? "").trimmingBlanks.lowercased()
  }

  /// Whether its quality value is 0 (RFC 9110 §12.4.2).
  static func isRefused(_ preference: Substring) -> Bool {
    preference.split(separator: ";").dropFirst().contains { parameter in
      let text = parameter.trimmingBlanks.lowercased()
      return text.hasPrefix("q=") && Double(text.dropFirst(2)) == 0
    }
  }
}
