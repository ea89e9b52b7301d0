internal import HTTPFields
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
    guard !hidesFraming else {
      return (
        .cannotParseResponse,
        "a blank before a colon or a folded line hides the answer's Content-Length or Transfer-Encoding"
      )
    }
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

  /// Takes a line of its field section. libcurl frames a message without a field whose name it does not recognize, or whose value
  /// stands on the next line, while others on the way may read it (RFC 9112 §5.1, §5.2 and §11.2).
  mutating func append(line: UnsafeRawBufferPointer) {
    if line[0] == 0x20 || line[0] == 0x09 {
      if let last = headers.fields.last, Self.isFraming(last.name), !line.allSatisfy(Self.isInvisible) {
        hidesFraming = true
      }
    } else {
      let name = line.prefix { $0 != UInt8(ascii: ":") }
      if name.contains(where: Self.isInvisible),
        Self.isFraming(String(decoding: name.filter { !Self.isInvisible($0) }, as: UTF8.self))
      {
        hidesFraming = true
      }
    }
    headers.append(line: line)
  }

  private static func isInvisible(_ byte: UInt8) -> Bool { !(0x21...0x7E).contains(byte) }

  private static func isFraming(_ name: String) -> Bool {
    HTTPHeaders.equal(name, "Content-Length") || HTTPHeaders.equal(name, "Transfer-Encoding")
  }

  /// Its body comes in chunks, and may lack the line end behind the last of them.
  var isChunked: Bool { codings.contains { HTTPHeaders.equal($0, "chunked") } }

  /// The transfer codings. Fields that say the same, as a proxy and an origin may, are one: no message is chunked twice (RFC 9112 §6.1).
  private var codings: [String] {
    let fields = headers.all("Transfer-Encoding")
    guard let first = fields.first, fields.allSatisfy({ HTTPHeaders.equal($0, first) }) else {
      return headers.elements(of: "Transfer-Encoding")
    }
    return HTTPHeaders([.init(name: "Transfer-Encoding", value: first)]).elements(of: "Transfer-Encoding")
  }
}
