internal import Limits
package import TransferModel

/// What one `Set-Cookie` field says, before anybody judged whether its sender may say so.
package struct ReceivedCookie: Sendable, Equatable {
  package var name: String
  package var value: String
  /// Of `Expires` or, where it was given, of `Max-Age`; at most 400 days ahead.
  package var expiresDate: Timestamp?
  /// In lower case and without its leading dot; nil and empty say the same.
  package var domain: String?
  /// nil: not given. What began with no slash is the default path already.
  package var path: String?
  package var isSecure = false
  package var isHTTPOnly = false
  /// nil: not given, or an unknown word.
  package var sameSite: Cookie.SameSite?
}

/// RFC 6265bis §5.6, step by step.
package enum SetCookieParser {
  /// nil where the whole field is ignored.
  /// - Parameter defaultPath: of the request that was answered.
  package static func parse(_ field: String, defaultPath: String, now: Timestamp) -> ReceivedCookie? {
    let bytes = Array(field.utf8)
    guard !CookieText.hasControls(bytes) else { return nil }
    var end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
    let pair = divided(bytes[..<end])
    let (name, value) = pair.value.map { (pair.name, $0) } ?? ([], pair.name)
    guard name.count + value.count <= Limits.cookieBytes.value else { return nil }
    var cookie = ReceivedCookie(name: text(name), value: text(value))
    var dates = Dates()
    while end < bytes.count {
      let start = end + 1
      end = bytes[start...].firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
      // No attribute has so short a name.
      guard end - start >= shortestName else { continue }
      let (name, value) = divided(bytes[start..<end])
      guard let attribute = Attribute(name), (value?.count ?? 0) <= Limits.cookieAttributeBytes.value else {
        continue
      }
      apply(attribute, value ?? [], into: &cookie, &dates, defaultPath: defaultPath, now: now)
    }
    cookie.expiresDate = dates.maximumAge ?? dates.expires
    return cookie
  }

  /// The attributes of a `Set-Cookie` field that Ferry reads (§5.6); the raw value is the name in lower case.
  private enum Attribute: String, CaseIterable {
    case path, domain, secure, expires
    case maximumAge = "max-age"
    case isHTTPOnly = "httponly"
    case sameSite = "samesite"

    private static let names = allCases.map { (attribute: $0, name: Array($0.rawValue.utf8)) }

    /// nil: no attribute has this name.
    init?(_ name: ArraySlice<UInt8>) {
      for (attribute, known) in Self.names where known.count == name.count {
        guard zip(known, name).allSatisfy({ $0 == CookieText.lowercased($1) }) else { continue }
        self = attribute
        return
      }
      return nil
    }
  }

  private static let shortestName = 4

  /// Before and after the first `=`, without the blanks around; the value is nil where there is none.
  private static func divided(_ part: ArraySlice<UInt8>) -> (
    name: ArraySlice<UInt8>, value: ArraySlice<UInt8>?
  ) {
    guard let index = part.firstIndex(of: UInt8(ascii: "=")) else { return (CookieText.trimmed(part), nil) }
    return (CookieText.trimmed(part[..<index]), CookieText.trimmed(part[(index + 1)...]))
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  /// §5.6.1 to §5.6.7: the last attribute of a name holds. An unreadable date or age changes nothing.
  private static func apply(
    _ attribute: Attribute, _ value: ArraySlice<UInt8>, into cookie: inout ReceivedCookie,
    _ dates: inout Dates,
    defaultPath: String, now: Timestamp
  ) {
    switch attribute {
    case .domain:
      cookie.domain = CookieText.lowercased(value.first == UInt8(ascii: ".") ? value.dropFirst() : value)
    case .path: cookie.path = value.first == UInt8(ascii: "/") ? text(value) : defaultPath
    case .secure: cookie.isSecure = true
    case .isHTTPOnly: cookie.isHTTPOnly = true
    case .sameSite: cookie.sameSite = Cookie.SameSite(rawValue: CookieText.lowercased(value))
    case .expires:
      guard let date = CookieDate.parse(value) else { return }
      dates.expires = min(date, now.adding(seconds: Double(CookieLimit.age)))
    case .maximumAge:
      guard let seconds = Dates.seconds(value) else { return }
      dates.maximumAge = seconds > 0 ? now.adding(seconds: Double(seconds)) : Cookie.distantPast
    }
  }

  private struct Dates {
    var expires: Timestamp?
    var maximumAge: Timestamp?

    /// Digits, perhaps after a minus; far more than there is of time ends at the limit.
    static func seconds(_ value: ArraySlice<UInt8>) -> Int? {
      let isNegative = value.first == UInt8(ascii: "-")
      let digits = isNegative ? value.dropFirst() : value
      guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
      let number = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), CookieLimit.age) }
      return isNegative ? -number : number
    }
  }
}
