package import TransferModel

/// A parser for the dates of `Expires`, in all forms that servers use (RFC 6265bis §5.1.1).
package enum CookieDate {
  package static func parse(_ text: String) -> Timestamp? { parse(text.utf8Span.span) }

  static func parse(_ bytes: borrowing Span<UInt8>) -> Timestamp? {
    var fields = Fields()
    var start = 0
    while start < bytes.count, !fields.isFull {
      var end = start
      while end < bytes.count, !isDelimiter(bytes[end]) { end += 1 }
      if end > start { fields.interpret(bytes.extracting(start..<end)) }
      start = end + 1
    }
    return fields.timestamp
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// The values of the tokens so far.
  private struct Fields {
    private var time: (hour: Int64, minute: Int64, second: Int64)?
    private var day: Int64?
    private var month: Int64?
    private var year: Int64?

    /// Whether all values are found, so that further tokens are ignored.
    var isFull: Bool { time != nil && day != nil && month != nil && year != nil }

    /// Interprets a token as the first missing value that it can be (step 2).
    mutating func interpret(_ token: borrowing Span<UInt8>) {
      // All values except the month begin with a digit.
      guard Self.isDigit(token[0]) else {
        if month == nil { month = Self.month(token) }
        return
      }
      if time == nil, let found = Self.time(token) {
        time = found
      } else if day == nil, let found = Self.number(token, digits: 1...2) {
        day = found
      } else if year == nil, let found = Self.number(token, digits: 2...4) {
        year = found
      }
    }

    /// The resulting time (steps 3 to 7); `nil` for an incomplete or invalid date.
    var timestamp: Timestamp? {
      guard let time, let day, let month, var year else { return nil }
      if (70...99).contains(year) { year += 1900 }
      if (0...69).contains(year) { year += 2000 }
      guard year >= 1601, time.second <= 59 else { return nil }
      return Timestamp(
        year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    /// Reads the digits at the start of a token. Their number must be in `digits`; later characters are ignored.
    private static func number(_ token: borrowing Span<UInt8>, digits: ClosedRange<Int>) -> Int64? {
      var (value, count): (Int64, Int) = (0, 0)
      for place in token.indices {
        let digit = token[place] &- UInt8(ascii: "0")
        guard digit < 10 else { break }
        count += 1
        guard count <= digits.upperBound else { return nil }
        value = value * 10 + Int64(digit)
      }
      return count >= digits.lowerBound ? value : nil
    }

    /// Reads hour, minute and second, each of one or two digits, with colons between them. Later characters are ignored.
    private static func time(
      _ token: borrowing Span<UInt8>
    ) -> (hour: Int64, minute: Int64, second: Int64)? {
      guard let first = colon(in: token, from: 0), let second = colon(in: token, from: first + 1),
        let hour = number(token.extracting(..<first), digits: 1...2),
        let minute = number(token.extracting((first + 1)..<second), digits: 1...2),
        let second = number(token.extracting((second + 1)...), digits: 1...2)
      else { return nil }
      return (hour, minute, second)
    }

    /// Returns the index of a colon after at most two digits.
    private static func colon(in token: borrowing Span<UInt8>, from start: Int) -> Int? {
      for place in start..<min(start + 3, token.count) where !isDigit(token[place]) {
        return token[place] == UInt8(ascii: ":") ? place : nil
      }
      return nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static let months = [
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { word($0.utf8Span.span) }

    private static func month(_ token: borrowing Span<UInt8>) -> Int64? {
      guard token.count >= 3 else { return nil }
      let word = word(token)
      return months.firstIndex(of: word).map { Int64($0) + 1 }
    }

    /// Returns the first three bytes in lower case as one number.
    private static func word(_ bytes: borrowing Span<UInt8>) -> UInt32 {
      var word: UInt32 = 0
      for place in 0..<3 { word = word << 8 | UInt32(CookieText.lowercased(bytes[place])) }
      return word
    }
  }
}
