internal import TransferModel

extension ResponseHead {
  /// What leaves open where the answer ends, or what it is an answer to; nil where nothing does. libcurl reads such an answer
  /// up to the end of its connection, and calls it whole.
  /// - Parameter endsHere: the answer ends with its head, whatever that says of a body (RFC 9110 §9.3.2).
  func framingFault(endsHere: Bool = false) -> (code: URLErrorCode, message: String)? {
    guard (100...999).contains(status) else {
      return (.cannotParseResponse, "the answer's status line is malformed")
    }
    guard status != 101 else {
      return (.badServerResponse, "the server switched to a protocol that nobody asked for")
    }
    guard !endsHere else { return nil }
    let codings = codings.filter { !HTTPHeaders.equal($0, "identity") }
    guard codings.isEmpty || codings.count == 1 && HTTPHeaders.equal(codings[0], "chunked") else {
      return (.cannotParseResponse, "the answer has a transfer coding that nobody asked for")
    }
    // Chunks say themselves where they end (RFC 9112 §6.3).
    guard codings.isEmpty else { return nil }
    guard !headers.contains("Content-Length") || headers.contentLength != nil else {
      return (.cannotParseResponse, "the answer's Content-Length is malformed")
    }
    return nil
  }

  /// The transfer codings. Fields that say the same, as a proxy and an origin may, are one: no message is chunked twice (RFC 9112 §6.1).
  private var codings: [String] {
    let fields = headers.all("Transfer-Encoding")
    guard let first = fields.first, fields.allSatisfy({ HTTPHeaders.equal($0, first) }) else {
      return headers.elements(of: "Transfer-Encoding")
    }
    return HTTPHeaders([.init(name: "Transfer-Encoding", value: first)]).elements(of: "Transfer-Encoding")
  }
}
