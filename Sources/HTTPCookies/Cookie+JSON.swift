package import JSON
internal import TransferModel

extension Cookie: JSONEncodable {
  /// Writes the properties of HTTPCookie. A leading dot of the domain means that subdomains receive the cookie too.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("name", name)
      writer.field("value", value)
      writer.field("domain", isHostOnly ? domain : "." + domain)
      writer.field("path", path)
      writer.field("expiresDate", expiresDate)
      writer.field("isSessionOnly", isSessionOnly)
      writer.field("isSecure", isSecure)
      writer.field("isHTTPOnly", isHTTPOnly)
      writer.field("sameSitePolicy", sameSite?.rawValue)
      writer.field("createdDate", created)
    }
  }
}
