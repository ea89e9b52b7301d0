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
    var values = Values()
    while end < bytes.count {
      let start = end + 1
      end = bytes[start...].firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
      // No attribute has so short a name.
      guard end - start >= shortestName else { continue }
      let (name, value) = divided(bytes[start..<end])
      guard let attribute = Attribute(name), (value?.count ?? 0) <= Limits.cookieAttributeBytes.value else {
        continue
      }
      values.take(attribute, value ?? [], now: now)
    }
    values.apply(to: &cookie, defaultPath: defaultPath)
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

  /// The values of the attributes (§5.6.1 to §5.6.7). The last attribute of a name holds; an unreadable date or age is ignored.
  private struct Values {
    private var isSecure = false
    private var isHTTPOnly = false
    // Interpreted at the end, because a field may repeat an attribute thousands of times.
    private var domain: ArraySlice<UInt8>?
    private var path: ArraySlice<UInt8>?
    private var sameSite: ArraySlice<UInt8>?
    private var expires: Timestamp?
    private var maximumAge: Timestamp?

    mutating func take(_ attribute: Attribute, _ value: ArraySlice<UInt8>, now: Timestamp) {
      switch attribute {
      case .domain: domain = value
      case .path: path = value
      case .secure: isSecure = true
      case .isHTTPOnly: isHTTPOnly = true
      case .sameSite: sameSite = value
      case .expires:
        guard let date = CookieDate.parse(value) else { return }
        expires = min(date, now.adding(seconds: Double(CookieLimit.age)))
      case .maximumAge:
        guard let seconds = Self.seconds(value) else { return }
        maximumAge = seconds > 0 ? now.adding(seconds: Double(seconds)) : Cookie.distantPast
      }
    }

    func apply(to cookie: inout ReceivedCookie, defaultPath: String) {
      cookie.isSecure = isSecure
      cookie.isHTTPOnly = isHTTPOnly
      cookie.domain = domain.map {
        CookieText.lowercased($0.first == UInt8(ascii: ".") ? $0.dropFirst() : $0)
      }
      cookie.path = path.map { $0.first == UInt8(ascii: "/") ? SetCookieParser.text($0) : defaultPath }
      cookie.sameSite = sameSite.flatMap { Cookie.SameSite(rawValue: CookieText.lowercased($0)) }
      cookie.expiresDate = maximumAge ?? expires
    }

    /// Digits, perhaps after a minus; far more than there is of time ends at the limit.
    private static func seconds(_ value: ArraySlice<UInt8>) -> Int? {
      let isNegative = value.first == UInt8(ascii: "-")
      let digits = isNegative ? value.dropFirst() : value
      guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
      let number = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), CookieLimit.age) }
      return isNegative ? -number : number
    }
  }
}
