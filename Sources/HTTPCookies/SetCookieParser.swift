internal import HTTPFields
internal import Limits
package import TransferModel

/// The content of one `Set-Cookie` field, before the check whether the sender may set it.
package struct ReceivedCookie: Sendable, Equatable {
  package var name: String
  package var value: String
  /// The expiry from `Max-Age` or else from `Expires`, at most 400 days ahead.
  package var expiresDate: Timestamp?
  /// The domain in lower case without its leading dot; `nil` and the empty text mean the same.
  package var domain: String?
  /// The path; `nil` if the field has none. A path without a leading slash is already replaced by the default path.
  package var path: String?
  package var isSecure = false
  package var isHTTPOnly = false
  /// The SameSite attribute; `nil` if it is absent or unknown.
  package var sameSite: Cookie.SameSite?
}

/// The parser of RFC 6265bis §5.6.
package enum SetCookieParser {
  /// Parses a field; `nil` if the whole field is ignored.
  /// - Parameter defaultPath: the default path of the request.
  package static func parse(_ field: String, defaultPath: String, now: Timestamp) -> ReceivedCookie? {
    guard !CookieText.hasControls(field) else { return nil }
    let bytes = field.utf8Span.span
    var end = bytes.firstIndex(of: UInt8(ascii: ";"), in: bytes.indices)
    let pair = divided(bytes, 0..<end)
    let (name, value) = pair.value.map { (pair.name, $0) } ?? (0..<0, pair.name)
    guard name.count + value.count <= Limits.cookieBytes.value else { return nil }
    var cookie = ReceivedCookie(name: CookieText.text(bytes, name), value: CookieText.text(bytes, value))
    var values = Values()
    while end < bytes.count {
      let start = end + 1
      end = bytes.firstIndex(of: UInt8(ascii: ";"), in: start..<bytes.count)
      // A shorter attribute has no known name.
      guard end - start >= shortestName else { continue }
      let (name, value) = divided(bytes, start..<end)
      guard let attribute = Attribute(bytes.extracting(name)),
        (value?.count ?? 0) <= Limits.cookieAttributeBytes.value
      else { continue }
      values.set(attribute, value ?? end..<end, in: bytes, now: now)
    }
    values.apply(to: &cookie, bytes, defaultPath: defaultPath)
    return cookie
  }

  /// The attributes of a `Set-Cookie` field that Ferry reads (§5.6); the raw value is the name in lower case.
  private enum Attribute: String, CaseIterable {
    case path, domain, secure, expires
    case maximumAge = "max-age"
    case isHTTPOnly = "httponly"
    case sameSite = "samesite"

    /// The bytes of each name as one number. No name has more than eight.
    private static let words = allCases.map { (attribute: $0, word: word($0.rawValue.utf8Span.span)) }

    /// Finds an attribute; `nil` if no attribute has this name.
    init?(_ name: borrowing Span<UInt8>) {
      guard name.count <= 8 else { return nil }
      let word = Self.word(name)
      guard let known = Self.words.first(where: { $0.word == word }) else { return nil }
      self = known.attribute
    }

    private static func word(_ name: borrowing Span<UInt8>) -> UInt64 {
      var word: UInt64 = 0
      for place in name.indices { word = word << 8 | UInt64(CookieText.lowercased(name[place])) }
      return word
    }
  }

  private static let shortestName = 4

  /// Splits a part at the first `=`, without surrounding blanks; the value is `nil` if there is no `=`.
  private static func divided(_ bytes: borrowing Span<UInt8>, _ part: Range<Int>) -> (
    name: Range<Int>, value: Range<Int>?
  ) {
    let index = bytes.firstIndex(of: UInt8(ascii: "="), in: part)
    guard index < part.upperBound else { return (bytes.trimmingBlanks(part), nil) }
    return (
      bytes.trimmingBlanks(part.lowerBound..<index), bytes.trimmingBlanks((index + 1)..<part.upperBound)
    )
  }

  /// The values of the attributes (§5.6.1 to §5.6.7). The last attribute of a name counts; an unreadable date or age is ignored.
  private struct Values {
    private var isSecure = false
    private var isHTTPOnly = false
    // Interpreted at the end, because a field may repeat an attribute thousands of times.
    private var domain: Range<Int>?
    private var path: Range<Int>?
    private var sameSite: Range<Int>?
    private var expires: Timestamp?
    private var maximumAge: Timestamp?

    mutating func set(
      _ attribute: Attribute, _ value: Range<Int>, in bytes: borrowing Span<UInt8>, now: Timestamp
    ) {
      switch attribute {
      case .domain: domain = value
      case .path: path = value
      case .secure: isSecure = true
      case .isHTTPOnly: isHTTPOnly = true
      case .sameSite: sameSite = value
      case .expires:
        guard let date = CookieDate.parse(bytes.extracting(value)) else { return }
        expires = min(date, now.adding(seconds: Double(CookieLimit.age)))
      case .maximumAge:
        guard let seconds = Self.seconds(bytes.extracting(value)) else { return }
        maximumAge = seconds > 0 ? now.adding(seconds: Double(seconds)) : Cookie.distantPast
      }
    }

    func apply(to cookie: inout ReceivedCookie, _ bytes: borrowing Span<UInt8>, defaultPath: String) {
      cookie.isSecure = isSecure
      cookie.isHTTPOnly = isHTTPOnly
      if let domain {
        let hasDot = !domain.isEmpty && bytes[domain.lowerBound] == UInt8(ascii: ".")
        cookie.domain =
          CookieText.text(bytes, hasDot ? domain.dropFirst() : domain).lowercasedASCII
      }
      if let path {
        let isAbsolute = !path.isEmpty && bytes[path.lowerBound] == UInt8(ascii: "/")
        cookie.path = isAbsolute ? CookieText.text(bytes, path) : defaultPath
      }
      if let sameSite {
        cookie.sameSite = Cookie.SameSite(rawValue: CookieText.text(bytes, sameSite).lowercasedASCII)
      }
      cookie.expiresDate = maximumAge ?? expires
    }

    /// Reads digits after an optional minus. Larger numbers than the age limit become the limit.
    private static func seconds(_ value: borrowing Span<UInt8>) -> Int? {
      let isNegative = !value.isEmpty && value[0] == UInt8(ascii: "-")
      let start = isNegative ? 1 : 0
      guard start < value.count else { return nil }
      var number = 0
      for place in start..<value.count {
        let digit = value[place] &- UInt8(ascii: "0")
        guard digit < 10 else { return nil }
        number = min(number * 10 + Int(digit), CookieLimit.age)
      }
      return isNegative ? -number : number
    }
  }
}
