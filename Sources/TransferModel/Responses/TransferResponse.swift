package import HTTPFields
package import JSON

/// The head of an origin's response (HTTPURLResponse).
package struct TransferResponse: Sendable, Equatable {
  package var url: String
  package var status: Int
  package var headers: HTTPHeaders
  /// The length that the origin announced; -1 if it announced none, or if the body is encoded.
  package var expectedContentLength: Int64
  /// `HTTP/1.1`, `HTTP/2`.
  package var httpVersion: String
  package var fromCache = false

  package init(
    url: String, status: Int, headers: HTTPHeaders, expectedContentLength: Int64, httpVersion: String
  ) {
    self.url = url
    self.status = status
    self.headers = headers
    self.expectedContentLength = expectedContentLength
    self.httpVersion = httpVersion
  }

  /// The media type and charset of a `Content-Type` field.
  package struct ContentType: Sendable {
    /// The media type without its parameters, in lower case (URLResponse.mimeType).
    package var mimeType: String?
    /// The charset parameter, in lower case (URLResponse.textEncodingName).
    package var textEncodingName: String?
  }

  /// The parsed `Content-Type` field; empty if the response has none. Each access parses the field again.
  package var contentType: ContentType {
    guard let field = headers.contentType else { return ContentType() }
    let bytes = Array(field.utf8)
    let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
    let type = String(decoding: bytes[..<end].trimmingBlanks, as: UTF8.self)
    return ContentType(
      mimeType: type.isEmpty ? nil : type.lowercasedASCII,
      textEncodingName: HTTPParameters.value("charset", in: field)?.lowercasedASCII)
  }

  /// A file name for the body (URLResponse.suggestedFilename): that of Content-Disposition, else the last path component of the URL, else
  /// the host. It never contains a path. If it has no extension, that of the media type is appended.
  package var suggestedFilename: String { suggestedFilename(of: contentType.mimeType) }

  private func suggestedFilename(of mimeType: String?) -> String {
    let name = filename
    guard !FilenameExtension.isIn(name), let type = mimeType,
      let suffix = FilenameExtension.of(mimeType: type)
    else { return name }
    return name.utf8.last == UInt8(ascii: ".") ? name + suffix : name + "." + suffix
  }

  private var filename: String {
    if let disposition = headers.single("Content-Disposition") {
      for value in [HTTPParameters.extendedValue, HTTPParameters.value] {
        if let name = value("filename", disposition).map(Self.withoutPath), !name.isEmpty { return name }
      }
    }
    let (authority, last) = Self.ends(of: url)
    if let last {
      let name = Self.isPlain(last) ? String(last) : Self.withoutPath(PercentEncoding.decode(String(last)))
      if !name.isEmpty, name != ".", name != ".." { return name }
    }
    return authority.isEmpty ? "Unknown" : Self.host(ofAuthority: authority)
  }

  /// Returns a URL's authority, and the last non-empty component of its path. It works on bytes, because every finished task needs it.
  private static func ends(of url: String) -> (authority: Substring, last: Substring?) {
    let slash = UInt8(ascii: "/")
    var rest = url.utf8[...]
    if let colon = rest.firstIndex(of: UInt8(ascii: ":")), rest[colon...].dropFirst().starts(with: "//".utf8)
    {
      rest = rest[colon...].dropFirst(3)
    }
    rest = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }.drop { $0 == slash }
    let authority = rest.prefix { $0 != slash }
    var path = rest[authority.endIndex...]
    while path.last == slash { path = path.dropLast() }
    guard let start = path.lastIndex(of: slash) else { return (Substring(authority), nil) }
    return (Substring(authority), Substring(path[start...].dropFirst()))
  }

  /// Returns whether the name contains nothing to decode or remove.
  private static func isPlain(_ name: Substring) -> Bool {
    name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "\\") }
  }

  private static func host(ofAuthority authority: Substring) -> String {
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return String(authority[...end]) }
    return String(authority.prefix { $0 != ":" })
  }

  private static func withoutPath(_ name: String) -> String {
    // A slash followed by a combining mark is another character, but the same byte in a path.
    let bytes = Array(name.utf8)
    let isSlash = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }
    guard let last = bytes.lastIndex(where: { !isSlash($0) }) else { return "" }
    let start = bytes[...last].lastIndex(where: isSlash).map { $0 + 1 } ?? 0
    let clean = String(
      decoding: bytes[start...last].filter { $0 >= 0x20 && $0 != 0x7F }, as: UTF8.self)
    return clean == "." || clean == ".." ? "" : clean
  }
}

extension TransferResponse: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    let type = contentType
    writer.object { writer in
      writer.field("url", url)
      writer.field("status", status)
      writer.field("headers", Optional(headers))
      writer.field("mimeType", type.mimeType)
      writer.field("textEncodingName", type.textEncodingName)
      writer.field("suggestedFilename", suggestedFilename(of: type.mimeType))
      writer.field("expectedContentLength", expectedContentLength)
      writer.field("httpVersion", httpVersion)
      writer.field("fromCache", fromCache)
    }
  }

  package init?(json: JSONValue?) {
    guard let json, let url = json["url"]?.string, let status = json["status"]?.integer else { return nil }
    self.init(
      url: url, status: Int(status), headers: HTTPHeaders(json: json["headers"]),
      expectedContentLength: json["expectedContentLength"]?.integer ?? -1,
      httpVersion: json["httpVersion"]?.string ?? "")
    fromCache = json["fromCache"]?.bool ?? false
  }
}
