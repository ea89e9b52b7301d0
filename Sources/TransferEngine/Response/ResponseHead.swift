internal import HTTPFields
internal import Limits

/// The head of one HTTP message from an origin.
package struct ResponseHead: Sendable, Equatable {
  var httpVersion: String
  var status: Int
  var headers: HTTPHeaders
  /// Whether a framing field is written in such a way that libcurl ignores it.
  var hidesFraming = false

  var isInformational: Bool { (100..<200).contains(status) && status != 101 }
  /// Whether Ferry follows the redirect. 300 and 304 are not followed, nor is a redirect without a destination.
  var isRedirect: Bool {
    [301, 302, 303, 305, 306, 307, 308].contains(status) && headers.location != nil
  }
}

/// A parser of the header lines that libcurl delivers: status line, fields, blank line. Several heads may follow each other, and trailer
/// fields a body.
package struct ResponseHeadParser {
  private var head: ResponseHead?
  /// The bytes and lines of the current head's fields.
  private var (size, lines) = (0, 0)
  private var trailerSize = 0
  private var informational = 0
  /// The exceeded limit. All further lines are then ignored.
  private(set) var excess: String?

  package init() {}

  /// Splits the bytes of one call into lines until a line is refused. Most calls have one line, but libcurl joins the lines that arrive
  /// during a pause (`pausewrite` in its sendf.c).
  package static func lines(
    in bytes: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    var start = 0
    while let end = MultipartParser.place(of: 0x0A, in: bytes, from: start) {
      guard take(UnsafeRawBufferPointer(rebasing: bytes[start...end])) else { return false }
      start = end + 1
    }
    return start == bytes.count || take(UnsafeRawBufferPointer(rebasing: bytes[start...]))
  }

  /// Parses one line with its line end. Returns the head if the line ends it.
  package mutating func add(_ line: UnsafeRawBufferPointer) -> ResponseHead? {
    guard excess == nil else { return nil }
    let text = Self.withoutLineEnd(line)
    guard !text.isEmpty else { return isInHead ? endHead() : nil }
    // Inside a head, a status line is an ordinary line. Otherwise it would reset the limits.
    if !isInHead, Self.isStatusLine(text) {
      head = Self.parseStatusLine(text)
      (size, lines) = (0, 0)
    } else if isInHead {
      size += text.count
      lines += 1
      head?.append(line: text)
      // A field may be folded into many lines.
      if size > Limits.headBytes.value || lines > Limits.fields.value {
        exceed("the head of the response is too large")
      }
    } else {
      trailerSize += text.count
      if trailerSize > Limits.trailerBytes.value {
        exceed("the trailer fields have more than \(Limits.trailerBytes.value) bytes")
      }
    }
    return nil
  }

  /// Whether a head is being read. `head != nil` would copy the head for each line.
  private var isInHead: Bool { if case .some = head { true } else { false } }

  private mutating func endHead() -> ResponseHead? {
    defer { head = nil }
    if head?.isInformational == true {
      informational += 1
      if informational > Limits.informationalResponses.value {
        exceed(
          "more than \(Limits.informationalResponses.value) informational responses came before the final response"
        )
        return nil
      }
    }
    return head
  }

  private mutating func exceed(_ what: String) {
    excess = what
    head = nil
  }

  private static func isStatusLine(_ text: UnsafeRawBufferPointer) -> Bool {
    text.count >= 5 && text[0] == UInt8(ascii: "H") && text[1] == UInt8(ascii: "T")
      && text[2] == UInt8(ascii: "T") && text[3] == UInt8(ascii: "P") && text[4] == UInt8(ascii: "/")
  }

  private static func parseStatusLine(_ text: UnsafeRawBufferPointer) -> ResponseHead {
    let parts = String(decoding: text, as: UTF8.self).parts(between: " ", maxSplits: 2)
    return ResponseHead(
      httpVersion: String(parts[0]), status: parts.count > 1 ? Int(parts[1]) ?? 0 : 0, headers: HTTPHeaders())
  }

  /// Returns the usual spelling of a name. HTTP/2 sends names in lower case, but clients that read a dictionary expect one spelling.
  static func canonical(_ name: UnsafeRawBufferPointer) -> String {
    for byte in name where byte &- UInt8(ascii: "A") < 26 { return HTTPHeaders.text(name, of: "") }
    // A name that is not UTF-8 keeps its case.
    if name.contains(where: { $0 >= 0x80 }), HTTPHeaders.utf8Text(name) == nil {
      return ISO88591.text(name.assumingMemoryBound(to: UInt8.self).span)
    }
    let text = String(unsafeUninitializedCapacity: name.count) { canonical in
      var before = UInt8(ascii: "-")
      for place in name.indices {
        let byte = name[place]
        let isFirst = before == UInt8(ascii: "-") && byte &- UInt8(ascii: "a") < 26
        canonical[place] = isFirst ? byte & 0xDF : byte
        before = byte
      }
      return name.count
    }
    switch name.count {
    case 4 where text == "Etag": return "ETag"
    case 16 where text == "Www-Authenticate": return "WWW-Authenticate"
    default: return text
    }
  }

  /// Returns the line without the CRs and LFs at its end.
  static func withoutLineEnd(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var end = line.count
    while end > 0, line[end - 1] == 0x0A || line[end - 1] == 0x0D { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[..<end])
  }
}

extension HTTPHeaders {
  /// Adds a line of a field section. A line without a name and a colon is ignored.
  /// - Parameter line: The line without its line end; not empty.
  mutating func append(line: UnsafeRawBufferPointer) {
    if line[0] == 0x20 || line[0] == 0x09 {  // obs-fold (RFC 9112 §5.2): part of the line before
      return continueLast(with: Self.text(Self.trimmed(line), of: fields.last?.name ?? ""))
    }
    guard let colon = MultipartParser.place(of: UInt8(ascii: ":"), in: line, from: 0), colon > 0 else {
      return
    }
    // Blanks before the colon do not belong to the name (RFC 9112 §5.1).
    let name = ResponseHeadParser.canonical(
      Self.trimmed(UnsafeRawBufferPointer(rebasing: line[..<colon])))
    let value = Self.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
    append(name, Self.text(value, of: name))
  }

  /// Decodes a value as UTF-8, otherwise as ISO 8859-1 (RFC 9110 §5.5). Undecodable bytes of a URI are percent-encoded, so that the next
  /// request has the same bytes, as with other clients.
  /// - Parameter name: The field's name; empty if the text is itself a name.
  fileprivate static func text(_ value: UnsafeRawBufferPointer, of name: String) -> String {
    guard !value.isEmpty else { return "" }
    if let text = utf8Text(value) { return text }
    let bytes = value.assumingMemoryBound(to: UInt8.self).span
    guard equal(name, "location") || equal(name, "content-location") else { return ISO88591.text(bytes) }
    var text: [UInt8] = []
    text.reserveCapacity(3 * value.count)
    for byte in value {
      guard byte >= 0x80 else {
        text.append(byte)
        continue
      }
      text.append(UInt8(ascii: "%"))
      for shift in stride(from: 4, through: 0, by: -4) {
        let digit = byte >> UInt8(shift) & 15
        text.append(digit < 10 ? 0x30 + digit : 0x37 + digit)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the text; `nil` if the bytes are not UTF-8. Checks the first bytes that are not ASCII before the rest: that
  /// usually finds invalid text without the costly error of `UTF8Span`.
  fileprivate static func utf8Text(_ value: UnsafeRawBufferPointer) -> String? {
    if let first = value.firstIndex(where: { $0 >= 0x80 }) {
      guard 0xC2...0xF4 ~= value[first], first + 1 < value.count, value[first + 1] & 0xC0 == 0x80 else {
        return nil
      }
    }
    guard let text = try? UTF8Span(validating: value.assumingMemoryBound(to: UInt8.self).span) else {
      return nil
    }
    return String(copying: text)
  }

  private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var (start, end) = (0, text.count)
    while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
    while end > start, text[end - 1] == 0x20 || text[end - 1] == 0x09 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: text[start..<end])
  }
}
