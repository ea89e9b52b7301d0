internal import HTTPFields
package import TransferModel

/// Dates of header fields (RFC 9110 §5.6.7). Names compare without case (RFC 9111 §4.2).
package enum HTTPDate {
  private static let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// Returns the instant; `nil` if the text has none of the three formats, or another time zone than GMT.
  /// - Parameter now: The current time, which decides the century of a year of two digits.
  package static func parse(_ text: String, now: Timestamp) -> Timestamp? {
    if let common = instant(ofFixdate: text) { return common }
    let trimmed = text.trimmingBlanks
    guard trimmed.utf8.count <= longest else { return nil }
    var words = trimmed.lowercasedASCII
      .split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    // asctime() pads the day to two places. In the other formats a second blank is an error.
    if words.count == 6, words[2].isEmpty, words[3].utf8.count == 1 {
      words[2...3] = ["0" + words[3]]
    }
    switch words.count {
    case 6 where words[5] == "gmt" && isDay(words[0], short: true, comma: true):
      return instant(year: words[3], month: words[2], day: words[1], time: words[4])
    case 4 where words[3] == "gmt" && isDay(words[0], short: false, comma: true):
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
      guard date.count == 3, let year = year(twoDigits: date[2], now: now) else { return nil }
      return instant(year: year, month: date[1], day: date[0], time: words[2])
    case 5 where isDay(words[0], short: true, comma: false):
      return instant(year: words[4], month: words[1], day: words[2], time: words[3])
    default: return nil
    }
  }

  /// The maximum length of the three formats in bytes.
  private static let longest = "Wednesday, 06-Nov-94 08:49:37 GMT".utf8.count

  private static let shortDays = days.map { Array(capital($0.prefix(3)).utf8) }
  private static let shortMonths = months.map { Array(capital($0).utf8) }

  /// Parses an IMF-fixdate, which almost all dates are. Every response has some, and splitting them into words would take far longer.
  /// Returns `nil` if the general parser must try.
  private static func instant(ofFixdate text: String) -> Timestamp? {
    let bytes = text.utf8Span.span
    guard bytes.count == 29 else { return nil }
    func has(_ word: [UInt8], at place: Int) -> Bool {
      word.indices.allSatisfy { bytes[place + $0] == word[$0] }
    }
    guard has(commaBlank, at: 3), bytes[7] == 0x20, bytes[11] == 0x20, bytes[16] == 0x20, bytes[19] == 0x3A,
      bytes[22] == 0x3A, has(blankGMT, at: 25), shortDays.contains(where: { has($0, at: 0) }),
      let month = shortMonths.firstIndex(where: { has($0, at: 8) }),
      let day = number(bytes, 5..<7), let year = number(bytes, 12..<16), let hour = number(bytes, 17..<19),
      let minute = number(bytes, 20..<22), let second = number(bytes, 23..<25)
    else { return nil }
    return Timestamp(
      year: year, month: Int64(month) + 1, day: day, hour: hour, minute: minute, second: second)
  }

  private static let commaBlank = Array(", ".utf8)
  private static let blankGMT = Array(" GMT".utf8)

  private static func number(_ bytes: borrowing Span<UInt8>, _ places: Range<Int>) -> Int64? {
    var value: Int64 = 0
    for place in places {
      let digit = bytes[place] &- 0x30
      guard digit < 10 else { return nil }
      value = value * 10 + Int64(digit)
    }
    return value
  }

  /// Returns the date as in `Sun, 06 Nov 1994 08:49:37 GMT`.
  package static func text(_ instant: Timestamp) -> String {
    let instant = max(instant, Timestamp(microseconds: 0))
    let iso = Array(instant.description.utf8)
    let part = { (range: Range<Int>) in String(decoding: iso[range], as: UTF8.self) }
    // 1970-01-01 was a Thursday.
    let day = Int((instant.seconds / 86_400 + 3) % 7)
    let month = months[(Int(part(5..<7)) ?? 1) - 1]
    return "\(capital(days[day].prefix(3))), \(part(8..<10)) \(capital(month)) \(part(0..<4)) "
      + "\(part(11..<19)) GMT"
  }

  private static func capital(_ name: some StringProtocol) -> String {
    name.prefix(1).uppercased() + name.dropFirst()
  }

  private static func isDay(_ word: String, short: Bool, comma: Bool) -> Bool {
    days.contains { (short ? String($0.prefix(3)) : $0) + (comma ? "," : "") == word }
  }

  private static func instant(year: String, month: String, day: String, time: String) -> Timestamp? {
    guard let month = months.firstIndex(of: month), year.utf8.count == 4, day.utf8.count == 2,
      time.utf8.count == 8
    else { return nil }
    return Timestamp("\(year)-\(month < 9 ? "0" : "")\(month + 1)-\(day)T\(time)Z")
  }

  /// Returns the year of four digits. A date more than 50 years ahead means the most recent past year with the same digits.
  private static func year(twoDigits text: String, now: Timestamp) -> String? {
    guard text.utf8.count == 2, text.utf8.allSatisfy({ 48...57 ~= $0 }), let digits = Int64(text),
      let this = Int64(now.description.prefix(4))
    else { return nil }
    let year = this / 100 * 100 + digits
    return String(year > this + 50 ? year - 100 : year <= this - 50 ? year + 100 : year)
  }
}
