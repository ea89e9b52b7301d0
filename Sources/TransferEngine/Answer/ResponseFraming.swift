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
    let codings = values(of: "Transfer-Encoding").filter { !HTTPHeaders.equal($0, "identity") }
    guard codings.isEmpty || codings.count == 1 && HTTPHeaders.equal(codings[0], "chunked") else {
      return (.cannotParseResponse, "the answer has a transfer coding that nobody asked for")
    }
    // Chunks say themselves where they end (RFC 9112 §6.3).
    guard codings.isEmpty else { return nil }
    let lengths = values(of: "Content-Length")
    guard lengths.allSatisfy({ Self.length($0) != nil }),
      lengths.dropFirst().allSatisfy({ Self.length($0) == Self.length(lengths[0]) })
    else {
      return (.cannotParseResponse, "the answer's Content-Length is malformed")
    }
    return nil
  }

  /// The members of a list field, wherever it was divided (RFC 9110 §5.6.1).
  private func values(of name: String) -> [String] {
    var values: [String] = []
    for field in headers.fields where HTTPHeaders.equal(field.name, name) {
      for value in field.value.utf8.split(separator: UInt8(ascii: ",")) {
        values.append(Substring(value).trimmingBlanks)
      }
    }
    return values
  }

  private static func length(_ text: String) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
