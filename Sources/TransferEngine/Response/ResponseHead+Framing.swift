internal import HTTPFields
internal import TransferModel

extension ResponseHead {
  /// Returns the fault that leaves the end of a response open, or its meaning; `nil` if there is none. Without this check, libcurl would
  /// read such a response up to the end of its connection and report success.
  /// - Parameter endsHere: Whether the response ends with its head, whatever the fields say (RFC 9110 §9.3.2).
  func framingFault(endsHere: Bool = false) -> (code: URLErrorCode, message: String)? {
    guard (100...999).contains(status) else {
      return (.cannotParseResponse, "the response's status line is malformed")
    }
    guard status != 101 else {
      return (.badServerResponse, "the server switched to a protocol that Ferry did not request")
    }
    guard !endsHere else { return nil }
    guard !hidesFraming else {
      return (
        .cannotParseResponse,
        "a blank before a colon or a folded line hides the response's Content-Length or Transfer-Encoding"
      )
    }
    let codings = codings.filter { !HTTPHeaders.equal($0, "identity") }
    guard codings.isEmpty || codings.count == 1 && HTTPHeaders.equal(codings[0], "chunked") else {
      return (.cannotParseResponse, "the response has a transfer coding that Ferry did not request")
    }
    // The chunks determine the end of the body (RFC 9112 §6.3).
    guard codings.isEmpty else { return nil }
    guard !headers.contains("Content-Length") || headers.contentLength != nil else {
      return (.cannotParseResponse, "the response's Content-Length is malformed")
    }
    return nil
  }

  /// Adds a line of the field section. libcurl ignores a framing field whose name it does not recognise or whose value is on the next
  /// line.
  /// Intermediaries may read it, however (RFC 9112 §5.1, §5.2 and §11.2).
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

  /// Whether the body is chunked. It may lack the line end after the last chunk.
  var isChunked: Bool { codings.contains { HTTPHeaders.equal($0, "chunked") } }

  /// The transfer codings. Equal fields, as from a proxy and an origin, count as one: no message is chunked twice (RFC 9112 §6.1).
  private var codings: [String] {
    let fields = headers.all("Transfer-Encoding")
    guard let first = fields.first, fields.allSatisfy({ HTTPHeaders.equal($0, first) }) else {
      return headers.elements(of: "Transfer-Encoding")
    }
    return HTTPHeaders([.init(name: "Transfer-Encoding", value: first)]).elements(of: "Transfer-Encoding")
  }
}
