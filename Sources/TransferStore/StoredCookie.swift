internal import HTTPCookies
internal import JSON
internal import TransferModel

// How cookies stand in their table: sealed whole, with whose they are.

extension CookieKey {
  /// What tells the cookies of a session apart (RFC 6265bis §5.7): neither of these has a control character in it.
  var stored: String { "\(isHostOnly ? "" : ".")\(domain)\t\(path)\t\(name)" }
}

extension Cookie {
  func document(of session: SessionID) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("session", session.description)
      writer.field("name", name)
      writer.field("value", value)
      writer.field("domain", domain)
      writer.field("isHostOnly", isHostOnly)
      writer.field("path", path)
      writer.field("expires", expiresDate?.microseconds ?? 0)
      writer.field("isSecure", isSecure)
      writer.field("isHTTPOnly", isHTTPOnly)
      writer.field("sameSite", sameSite?.rawValue)
      writer.field("created", created.microseconds)
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// nil where the document is no cookie, or another session's.
  init?(stored document: String, of session: SessionID) {
    guard let json = try? JSONParser.parse(Array(document.utf8)),
      json["session"]?.string == session.description, let name = json["name"]?.string,
      let value = json["value"]?.string, let domain = json["domain"]?.string,
      let path = json["path"]?.string
    else { return nil }
    let created = Timestamp(microseconds: json["created"]?.integer ?? 0)
    let expires = json["expires"]?.integer ?? 0
    self.init(
      name: name, value: value, domain: domain, isHostOnly: json["isHostOnly"]?.bool ?? true, path: path,
      expiresDate: expires > 0 ? Timestamp(microseconds: expires) : nil,
      isSecure: json["isSecure"]?.bool ?? false, isHTTPOnly: json["isHTTPOnly"]?.bool ?? false,
      sameSite: json["sameSite"]?.string.flatMap { SameSite(rawValue: $0) }, created: created,
      lastAccess: created)
  }
}
