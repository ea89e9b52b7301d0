internal import TransferModel

/// The head of one HTTP message from an origin.
struct ResponseHead: Sendable, Equatable {
  var httpVersion: String
  var status: Int
  var headers: HTTPHeaders

  var isInformational: Bool { (100..<200).contains(status) && status != 101 }
  /// 300 and 304 are not followed; neither is a redirect without a destination.
  var isRedirect: Bool {
    [301, 302, 303, 305, 306, 307, 308].contains(status) && headers.contains("Location")
  }
}

/// Gathers header lines as libcurl hands them over: status line, fields, blank line; perhaps several heads one
/// after the other, and trailers behind a body.
struct ResponseHeadParser {
  private var head: ResponseHead?

  /// Takes one line with its line end; returns the head that it ends.
  mutating func add(_ line: UnsafeRawBufferPointer) -> ResponseHead? {
    let text = Self.withoutLineEnd(line)
    guard !text.isEmpty else {
      defer { head = nil }
      return head
    }
    if Self.isStatusLine(text) {
      head = Self.parseStatusLine(text)
    } else if head != nil {
      addField(text)
    }
    return nil
  }

  private mutating func addField(_ text: UnsafeRawBufferPointer) {
    if text[0] == 0x20 || text[0] == 0x09 {  // obs-fold (RFC 9112 §5.2): part of the line before
      guard var fields = head?.headers.fields, let last = fields.popLast() else { return }
      let more = String(decoding: text, as: UTF8.self).trimmingBlanks
      fields.append(HTTPHeaders.Field(name: last.name, value: last.value + " " + more))
      head?.headers = HTTPHeaders(fields)
      return
    }
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
    let name = String(decoding: UnsafeRawBufferPointer(rebasing: text[..<colon]), as: UTF8.self)
    let value = Self.trimmed(UnsafeRawBufferPointer(rebasing: text[(colon + 1)...]))
    head?.headers.append(Self.canonical(name), String(decoding: value, as: UTF8.self))
  }

  private static func isStatusLine(_ text: UnsafeRawBufferPointer) -> Bool {
    text.count >= 5 && text.starts(with: "HTTP/".utf8)
  }

  private static func parseStatusLine(_ text: UnsafeRawBufferPointer) -> ResponseHead {
    let parts = String(decoding: text, as: UTF8.self).split(separator: " ", maxSplits: 2)
    return ResponseHead(
      httpVersion: String(parts[0]), status: parts.count > 1 ? Int(parts[1]) ?? 0 : 0, headers: HTTPHeaders())
  }

  /// HTTP/2 sends names in lower case; clients that read a dictionary want one spelling.
  static func canonical(_ name: String) -> String {
    guard name.utf8.allSatisfy({ $0 < UInt8(ascii: "A") || $0 > UInt8(ascii: "Z") }) else { return name }
    switch name {
    case "etag": return "ETag"
    case "www-authenticate": return "WWW-Authenticate"
    default:
      return name.split(separator: "-", omittingEmptySubsequences: false)
        .map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: "-")
    }
  }

  private static func withoutLineEnd(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var end = line.count
    while end > 0, line[end - 1] == 0x0A || line[end - 1] == 0x0D { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[..<end])
  }

  private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var (start, end) = (0, text.count)
    while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
    while end > start, text[end - 1] == 0x20 || text[end - 1] == 0x09 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: text[start..<end])
  }
}
