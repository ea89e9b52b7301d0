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
    return accept.split(separator: ",").contains { range in
      let wanted = essence(range)
      return (wanted == "*/*" || wanted == family || wanted == type) && !isRefused(range)
    }
  }

  private static func essence(_ type: some StringProtocol) -> String {
    (type.split(separator: ";").first ?? "").trimmingBlanks.lowercased()
  }

  private static func isRefused(_ range: Substring) -> Bool {
    range.split(separator: ";").dropFirst().contains { parameter in
      let text = parameter.trimmingBlanks.lowercased()
      return text.hasPrefix("q=") && Double(text.dropFirst(2)) == 0
    }
  }
}
