public import FoundationEssentials
internal import JSON

/// A cookie. `HTTPCookie` in Apple's Foundation.
public struct FerryHTTPCookie: Sendable, Hashable {
  /// The requests of other sites that carry the cookie (RFC 6265bis §5.7.3).
  public enum SameSitePolicy: String, Sendable, CaseIterable { case lax, strict, none }

  /// The name.
  public var name: String
  /// The value.
  public var value: String
  /// The host. With a dot at its beginning, the cookie also belongs to the subdomains.
  public var domain: String
  /// The beginning of the paths of the requests that carry the cookie.
  public var path: String
  /// The time after which the cookie is deleted; `nil` for a cookie that lasts as long as the session.
  public var expiresDate: Date?
  /// Whether only https requests carry the cookie.
  public var isSecure: Bool
  /// Whether programs in web pages may not read the cookie.
  public var isHTTPOnly: Bool
  /// The requests of other sites that carry the cookie; `nil` if the origin has named none.
  public var sameSitePolicy: SameSitePolicy?
  /// Whether the cookie lasts as long as the session.
  public var isSessionOnly: Bool { expiresDate == nil }

  /// Creates a cookie.
  public init(
    name: String, value: String, domain: String, path: String = "/", expiresDate: Date? = nil,
    isSecure: Bool = false, isHTTPOnly: Bool = false, sameSitePolicy: SameSitePolicy? = nil
  ) {
    self.name = name
    self.value = value
    self.domain = domain
    self.path = path
    self.expiresDate = expiresDate
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.sameSitePolicy = sameSitePolicy
  }

  init?(_ json: JSONValue) {
    guard let name = json["name"]?.string, let value = json["value"]?.string,
      let domain = json["domain"]?.string, let path = json["path"]?.string
    else { return nil }
    self.init(
      name: name, value: value, domain: domain, path: path, expiresDate: json["expiresDate"]?.date,
      isSecure: json["isSecure"]?.bool ?? false, isHTTPOnly: json["isHTTPOnly"]?.bool ?? false,
      sameSitePolicy: json["sameSitePolicy"]?.string.flatMap(SameSitePolicy.init))
  }

  /// Writes the cookie as an item of a list.
  func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("name", name)
      writer.field("value", value)
      writer.field("domain", domain)
      writer.field("path", path)
      if let expiresDate { writer.field("expiresDate", date: expiresDate) }
      if isSecure { writer.field("isSecure", true) }
      if isHTTPOnly { writer.field("isHTTPOnly", true) }
      if let sameSitePolicy { writer.field("sameSitePolicy", sameSitePolicy.rawValue) }
    }
  }

  /// Whether a request for the URL carries the cookie (RFC 6265 §5.4, step 1).
  func matches(_ url: URL) -> Bool {
    guard let host = url.host()?.lowercased() else { return false }
    let isOfHost =
      domain.hasPrefix(".") ? ("." + host).hasSuffix(domain.lowercased()) : host == domain.lowercased()
    let target = url.path(percentEncoded: true)
    let requested = target.isEmpty ? "/" : target
    let isOfPath =
      requested == path || requested.hasPrefix(path.hasSuffix("/") ? path : path + "/")
    return isOfHost && isOfPath && (!isSecure || url.scheme?.lowercased() == "https")
  }
}
