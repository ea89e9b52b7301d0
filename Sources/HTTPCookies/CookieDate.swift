package import TransferModel

/// The dates of `Expires`, in every form that servers ever wrote them (RFC 6265bis §5.1.1).
package enum CookieDate {
  package static func parse(_ text: String) -> Timestamp? { parse(text.utf8) }

  static func parse(_ bytes: some Collection<UInt8>) -> Timestamp? {
    var fields = Fields()
    for token in bytes.split(whereSeparator: isDelimiter) { fields.take(Array(token)) }
    return fields.timestamp
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// What the tokens have given so far.
  private struct Fields {
    private var time: [Int]?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// Step 2: a token is the first of these that was not found yet and that it can be.
    mutating func take(_ token: [UInt8]) {
      if time == nil, let found = Self.time(token) {
        time = found
      } else if day == nil, let found = Self.number(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = Self.month(token) {
        month = found
      } else if year == nil, let found = Self.number(token, digits: 2...4) {
        year = found
      }
    }

    /// Steps 3 to 7.
    var timestamp: Timestamp? {
      guard let time, let day, let month, var year else { return nil }
      if (70...99).contains(year) { year += 1900 }
      if (0...69).contains(year) { year += 2000 }
      guard (1...31).contains(day), year >= 1601, time[0] <= 23, time[1] <= 59, time[2] <= 59 else {
        return nil
      }
      func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
      // RFC 3339's reader knows which days there are.
      return Timestamp(
        "\(year)-\(two(month))-\(two(day))T\(two(time[0])):\(two(time[1])):\(two(time[2]))Z")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// Digits, so many of them, and then none.
    private static func number(_ token: some Collection<UInt8>, digits: ClosedRange<Int>) -> Int? {
      let found = token.prefix(while: isDigit)
      guard digits.contains(found.count) else { return nil }
      return found.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func time(_ token: [UInt8]) -> [Int]? {
      let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit) else { return nil }
      let numbers = parts.compactMap { number($0, digits: 1...2) }
      return numbers.count == 3 ? numbers : nil
    }

    private static let months = [
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    private static func month(_ token: [UInt8]) -> Int? {
      guard token.count >= 3 else { return nil }
      return months.firstIndex(of: CookieText.lowercased(token.prefix(3))).map { $0 + 1 }
    }
  }
}
