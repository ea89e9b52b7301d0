package import JSON
internal import Limits
package import TransferModel

extension Cookie {
  /// Reads what a client puts into a jar, by the rules that hold for servers. What `encode` wrote is accepted.
  /// - Parameter place: the host and path of an http or https URL, as requests would have them; nil where it is none.
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
      reader.reject("sameSitePolicy", "none is for secure cookies: isSecure must be true")
    }
    if let fault = CookiePrefix.fault(self, hasPath: true) { reader.reject("name", fault) }
    // What only the service says is read over.
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
      reader.reject("name", "must not be empty where the value is empty, too")
    }
  }

  /// A required string that comes back from a `Set-Cookie` field as it is.
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
    if CookieText.hasControls(text) { return "must not have control characters" }
    if bytes.contains(where: forbidden.utf8.contains) {
      return "must not have " + forbidden.map { "'\($0)'" }.joined(separator: " or ")
    }
    let hasBlanks = [bytes.first, bytes.last].contains { $0.map(CookieText.isBlank) ?? false }
    return hasBlanks ? "must not begin or end with a blank" : nil
  }

  /// Host and path of `url`.
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
      if reader.value("url") == nil { reader.reject("domain", "is required where there is no url") }
      return
    }
    guard let text = reader.string("domain") else { return }
    let hasDot = text.utf8.first == UInt8(ascii: ".")
    guard let host = CookieHost(hasDot ? String(text.dropFirst()) : text), host.isReachable else {
      return reader.reject("domain", "must be a host's name in ASCII or an address, perhaps after a dot")
    }
    isHostOnly = !hasDot || host.isAddress
    domain = host.name
    if !isHostOnly, PublicSuffixList.contains(domain) {
      reader.reject("domain", "is a public suffix, under which others register their names")
    }
  }

  private mutating func readPath(_ reader: inout ObjectReader, origin: (host: CookieHost, path: String)?) {
    path = origin.map { CookiePath.defaultPath(of: $0.path) } ?? "/"
    guard let text = reader.string("path") else { return }
    if text.utf8.first != UInt8(ascii: "/") {
      reader.reject("path", "must begin with '/'")
    } else if let fault = Self.fault(of: text, forbidden: "") {
      reader.reject("path", fault)
    } else if text.utf8.count > Limits.cookieAttributeBytes.value {
      reader.exceed(
        "path", "must have at most \(Limits.cookieAttributeBytes.value) bytes, not \(text.utf8.count)")
    } else {
      path = text
    }
  }

  /// RFC 6265bis §5.5: at most 400 days ahead.
  private mutating func readExpiry(_ reader: inout ObjectReader, now: Timestamp) {
    let limit = now.adding(seconds: Double(CookieLimit.age))
    if let text = reader.string("expiresDate") {
      let date = Timestamp(text)
      if date == nil { reader.reject("expiresDate", "must be a date and time as RFC 3339 has them") }
      expiresDate = date.map { min($0, limit) }
    }
    if let seconds = reader.integer("maximumAge", in: 0...1_000_000_000_000) {
      expiresDate = min(now.adding(seconds: Double(seconds)), limit)
    }
  }
}
