package import JSON

/// The head of an origin's answer (HTTPURLResponse).
package struct TransferResponse: Sendable, Equatable {
  package var url: String
  package var status: Int
  package var headers: HTTPHeaders
  /// The length the origin announced; -1 where it did not, or where the body arrives encoded.
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

  /// The media type without its parameters, in lower case (URLResponse.mimeType).
  package var mimeType: String? {
    guard let type = headers["Content-Type"]?.split(separator: ";", omittingEmptySubsequences: false).first
    else { return nil }
    let trimmed = type.trimmingBlanks
    return trimmed.isEmpty ? nil : trimmed.lowercased()
  }

  /// The charset parameter of Content-Type, in lower case (URLResponse.textEncodingName).
  package var textEncodingName: String? {
    headers["Content-Type"].flatMap { HTTPParameters.value("charset", in: $0) }?.lowercased()
  }

  /// A name to save the body under (URLResponse.suggestedFilename): Content-Disposition's, else the URL's
  /// last path component, else the host's name; never with a path in it.
  package var suggestedFilename: String {
    let disposition = headers["Content-Disposition"]
    let named =
      disposition.flatMap { HTTPParameters.extendedValue("filename", in: $0) }
      ?? disposition.flatMap { HTTPParameters.value("filename", in: $0) }
    if let name = named.map(Self.withoutPath), !name.isEmpty { return name }
    let afterScheme = url.split(separator: "://", maxSplits: 1).last ?? ""
    let path = afterScheme.prefix { $0 != "?" && $0 != "#" }
    let components = path.split(separator: "/", omittingEmptySubsequences: true)
    if components.count > 1, let last = components.last {
      let name = Self.withoutPath(PercentEncoding.decode(String(last)))
      if !name.isEmpty { return name }
    }
    return components.first.map { Self.host(ofAuthority: $0) } ?? "Unknown"
  }

  private static func host(ofAuthority authority: Substring) -> String {
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return String(authority[...end]) }
    return String(authority.prefix { $0 != ":" })
  }

  private static func withoutPath(_ name: String) -> String {
    // By scalar: a slash with a combining mark behind it is another character, but the same byte in a path.
    let scalars = Array(name.unicodeScalars)
    let last = scalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? []
    let clean = String(String.UnicodeScalarView(last.filter { $0.value >= 0x20 && $0.value != 0x7F }))
    return clean == "." || clean == ".." ? "" : clean
  }
}

extension TransferResponse: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("url", url)
      writer.field("status", status)
      writer.field("headers", Optional(headers))
      writer.field("mimeType", mimeType)
      writer.field("textEncodingName", textEncodingName)
      writer.field("suggestedFilename", suggestedFilename)
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
