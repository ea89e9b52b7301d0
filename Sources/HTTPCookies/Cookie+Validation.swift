package import JSON
internal import Limits
package import TransferModel

extension Cookie {
  /// Reads a cookie that a client stores, by the rules for servers. Output of `encode` is valid.
  /// - Parameter place: returns the host and path of an http or https URL, as in a request; `nil` for another text.
  package init(
    validating reader: inout ObjectReader, now: Timestamp, place: (String) -> (host: String, path: String)?
  ) {
    self.init(name: "", value: "", domain: "", isHostOnly: true, created: now, lastAccess: now)
    reader.allowNull("url", "domain", "path", "expiresDate", "maximumAge", "sameSitePolicy")
    readPair(&reader)
    let origin = Self.origin(&reader, place)
    readDomain(&reader, origin: origin)
    readPath(&reader, origin: origin)
    readExpiry(&reader, now: now)
    isSecure = reader.bool("isSecure") ?? false
    isHTTPOnly = reader.bool("isHTTPOnly") ?? false
    sameSite = reader.choice("sameSitePolicy")
    if sameSite == .unrestricted, !isSecure {
      reader.reject("sameSitePolicy", "must not be none unless isSecure is true")
    }
    if let fault = CookiePrefix.fault(self, hasPath: true) { reader.reject("name", fault) }
    // Members that only the service sets are ignored.
    _ = (reader.bool("isSessionOnly"), reader.string("createdDate"))
    reader.finish()
  }

  private mutating func readPair(_ reader: inout ObjectReader) {
    let (givenName, givenValue) = (
      Self.text("name", forbidden: ";=", &reader), Self.text("value", forbidden: ";", &reader)
    )
    guard let givenName, let givenValue else { return }
    (name, value) = (givenName, givenValue)
    let size = name.utf8.count + value.utf8.count
    if size > Limits.cookieBytes.value {
      reader.exceed(
        "value", "name and value together must have at most \(Limits.cookieBytes.value) bytes, not \(size)")
    }
    if name.isEmpty, value.isEmpty {
      reader.reject("name", "must not be empty if the value is empty, too")
    }
  }

  /// Reads a required string that a `Set-Cookie` field can carry unchanged.
  private static func text(_ member: String, forbidden: String, _ reader: inout ObjectReader) -> String? {
    guard !reader.isMissing(member) else {
      reader.reject(member, "is required")
      return nil
    }
    guard let text = reader.string(member) else { return nil }
    guard let fault = fault(of: text, forbidden: forbidden) else { return text }
    reader.reject(member, fault)
    return nil
  }

  private static func fault(of text: String, forbidden: String) -> String? {
    let bytes = text.utf8
    if CookieText.hasControls(text) { return "must not contain control characters" }
    if bytes.contains(where: forbidden.utf8.contains) {
      return "must not contain " + forbidden.map { "'\($0)'" }.joined(separator: " or ")
    }
    let hasBlanks = [bytes.first, bytes.last].contains { $0.map(CookieText.isBlank) ?? false }
    return hasBlanks ? "must not begin or end with a blank" : nil
  }

  /// Reads host and path from `url`.
  private static func origin(
    _ reader: inout ObjectReader, _ place: (String) -> (host: String, path: String)?
  ) -> (host: CookieHost, path: String)? {
    guard let text = reader.string("url") else { return nil }
    guard let found = place(text), let host = CookieHost(found.host) else {
      reader.reject("url", "must be an http or https URL with a host")
      return nil
    }
    return (host, found.path)
  }

  private mutating func readDomain(_ reader: inout ObjectReader, origin: (host: CookieHost, path: String)?) {
    guard reader.value("domain") != nil else {
      if let origin { domain = origin.host.name }
      if reader.value("url") == nil { reader.reject("domain", "is required if url is missing") }
      return
    }
    guard let text = reader.string("domain") else { return }
    let hasDot = text.utf8.first == UInt8(ascii: ".")
    guard let host = CookieHost(hasDot ? String(text.dropFirst()) : text), host.isReachable else {
      return reader.reject(
        "domain", "must be an ASCII host name or an address, optionally preceded by a dot, not '\(text)'")
    }
    isHostOnly = !hasDot || host.isAddress
    domain = host.name
    if !isHostOnly, PublicSuffixList.contains(domain) {
      reader.reject("domain", "is a public suffix, under which others register names; use a domain below it")
    }
  }

  private mutating func readPath(_ reader: inout ObjectReader, origin: (host: CookieHost, path: String)?) {
    path = origin.map { CookiePath.defaultPath(of: $0.path) } ?? "/"
    guard let text = reader.string("path") else { return }
    if text.utf8.first != UInt8(ascii: "/") {
      reader.reject("path", "must begin with '/', not be '\(text)'")
    } else if let fault = Self.fault(of: text, forbidden: "") {
      reader.reject("path", fault)
    } else if text.utf8.count > Limits.cookieAttributeBytes.value {
      reader.exceed(
        "path", "must have at most \(Limits.cookieAttributeBytes.value) bytes, not \(text.utf8.count)")
    } else {
      path = text
    }
  }

  /// Reads the expiry, at most 400 days ahead (RFC 6265bis §5.5).
  private mutating func readExpiry(_ reader: inout ObjectReader, now: Timestamp) {
    let limit = now.adding(seconds: Double(CookieLimit.age))
    if let text = reader.string("expiresDate") {
      let date = Timestamp(text)
      if date == nil {
        reader.reject(
          "expiresDate", "must be an RFC 3339 date-time, like 2026-01-31T12:00:00Z, not '\(text)'")
      }
      expiresDate = date.map { min($0, limit) }
    }
    if let seconds = reader.integer("maximumAge", in: 0...1_000_000_000_000) {
      expiresDate = min(now.adding(seconds: Double(seconds)), limit)
    }
  }
}
