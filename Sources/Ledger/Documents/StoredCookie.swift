package import HTTPCookies
internal import JSON
package import TransferModel

// How cookies stand in their table: sealed whole, with whose they are.

extension CookieKey {
  /// The key of a cookie in its session (RFC 6265bis §5.7). None of its parts contains a control character.
  package var stored: String { "\(isHostOnly ? "" : ".")\(domain)\t\(path)\t\(name)" }
}

extension Cookie {
  package func document(of session: SessionID) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field(DocumentVersion.member, DocumentVersion.current)
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

  /// - Parameter session: whose row has the document.
  package init(stored: inout StoredObject, of session: SessionID) throws(StoredObject.Fault) {
    guard try stored.id("session") == session else {
      throw stored.fault("session", "is not that of the row")
    }
    let created = Timestamp(microseconds: try stored.integerIfAny("created") ?? 0)
    self.init(
      name: try stored.string("name"), value: try stored.string("value"),
      domain: try stored.string("domain"), isHostOnly: try stored.boolIfAny("isHostOnly") ?? true,
      path: try stored.string("path"), expiresDate: try stored.timeIfAny("expires"),
      isSecure: try stored.boolIfAny("isSecure") ?? false,
      isHTTPOnly: try stored.boolIfAny("isHTTPOnly") ?? false,
      sameSite: try stored.choiceIfAny("sameSite"), created: created, lastAccess: created)
  }
}
