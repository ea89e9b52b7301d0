package import TransferModel

/// The dates of `Expires`, in every form that servers ever wrote them (RFC 6265bis §5.1.1).
package enum CookieDate {
  package static func parse(_ text: String) -> Timestamp? { parse(Array(text.utf8)[...]) }

  static func parse(_ bytes: ArraySlice<UInt8>) -> Timestamp? {
    var fields = Fields()
    var start = bytes.startIndex
    while start < bytes.endIndex, !fields.isFull {
      let end = bytes[start...].firstIndex(where: isDelimiter) ?? bytes.endIndex
      if end > start { fields.take(bytes[start..<end]) }
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

  /// What the tokens have given so far.
  private struct Fields {
    private var time: (hour: Int64, minute: Int64, second: Int64)?
    private var day: Int64?
    private var month: Int64?
    private var year: Int64?

    /// No further token changes anything.
    var isFull: Bool { time != nil && day != nil && month != nil && year != nil }

    /// Step 2: a token is the first of these that was not found yet and that it can be.
    mutating func take(_ token: ArraySlice<UInt8>) {
      guard let first = token.first else { return }
      // All but a month begins with a digit.
      guard Self.isDigit(first) else {
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

    /// Steps 3 to 7.
    var timestamp: Timestamp? {
      guard let time, let day, let month, var year else { return nil }
      if (70...99).contains(year) { year += 1900 }
      if (0...69).contains(year) { year += 2000 }
      guard year >= 1601, time.second <= 59 else { return nil }
      return Timestamp(
        year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    /// Digits at the start of a token, so many of them; what follows them counts for nothing.
    private static func number(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int64? {
      var (value, count): (Int64, Int) = (0, 0)
      for byte in token {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10 else { break }
        count += 1
        guard count <= digits.upperBound else { return nil }
        value = value * 10 + Int64(digit)
      }
      return count >= digits.lowerBound ? value : nil
    }

    /// Three numbers of one or two digits with colons between them; the last may be followed by anything.
    private static func time(_ token: ArraySlice<UInt8>) -> (hour: Int64, minute: Int64, second: Int64)? {
      let colon = UInt8(ascii: ":")
      guard let first = token.prefix(3).firstIndex(of: colon),
        let second = token[(first + 1)...].prefix(3).firstIndex(of: colon),
        token[..<first].allSatisfy(isDigit), token[(first + 1)..<second].allSatisfy(isDigit),
        let hour = number(token[..<first], digits: 1...2),
        let minute = number(token[(first + 1)..<second], digits: 1...2),
        let second = number(token[(second + 1)...], digits: 1...2)
      else { return nil }
      return (hour, minute, second)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static let months = [
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { word($0.utf8) }

    private static func month(_ token: ArraySlice<UInt8>) -> Int64? {
      guard token.count >= 3 else { return nil }
      let word = word(token.prefix(3))
      return months.firstIndex(of: word).map { Int64($0) + 1 }
    }

    /// Bytes in lower case as one number.
    private static func word(_ bytes: some Sequence<UInt8>) -> UInt32 {
      bytes.reduce(0) { $0 << 8 | UInt32(CookieText.lowercased($1)) }
    }
  }
}
