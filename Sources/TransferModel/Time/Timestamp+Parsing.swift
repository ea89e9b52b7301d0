extension Timestamp {
  /// Reads an RFC 3339 date-time, such as `2026-01-31T12:00:00.5+01:00`. Returns `nil` if the text is invalid, or if its year in UTC does
  /// not have four digits. Fractions beyond microseconds are dropped.
  package init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    guard let year = Self.digits(4, &rest), Self.skip("-", &rest), let month = Self.digits(2, &rest),
      Self.skip("-", &rest), let day = Self.digits(2, &rest), Self.skip("Tt ", &rest),
      let hour = Self.digits(2, &rest), Self.skip(":", &rest), let minute = Self.digits(2, &rest),
      Self.skip(":", &rest), let second = Self.digits(2, &rest),
      let whole = Timestamp(
        year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    var fraction: Int64 = 0
    if Self.skip(".", &rest) {
      guard let first = rest.first, first &- 48 < 10 else { return nil }
      var unit: Int64 = 100_000
      while let digit = Self.digits(1, &rest) {
        fraction += digit * unit
        unit /= 10
      }
    }
    guard let offset = Self.offset(&rest), rest.isEmpty else { return nil }
    let microseconds = whole.microseconds - offset * 1_000_000 + fraction
    guard Self.writable.contains(microseconds) else { return nil }
    self.init(microseconds: microseconds)
  }

  /// Creates a time in UTC. Returns `nil` if the date or the time of day does not exist. Second 60 is a leap second (RFC 3339 §5.6).
  package init?(year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64) {
    guard (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year), hour < 24, minute < 60,
      second <= 60
    else { return nil }
    let days = Self.days(fromCivil: year, month, day)
    self.init(seconds: days * 86_400 + hour * 3600 + minute * 60 + second)
  }

  private static func digits(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> Int64? {
    guard rest.count >= count, rest.prefix(count).allSatisfy({ $0 &- 48 < 10 }) else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count).reduce(0) { $0 * 10 + Int64($1 - 48) }
  }

  private static func skip(_ characters: String, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard let first = rest.first, characters.utf8.contains(first) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Returns seconds east of UTC, from `Z` or `+01:00`.
  private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    let zone = Array(rest)
    rest = []
    if zone.count == 1, zone[0] | 0x20 == UInt8(ascii: "z") { return 0 }
    guard zone.count == 6, zone[3] == UInt8(ascii: ":") else { return nil }
    let numbers = [zone[1], zone[2], zone[4], zone[5]].map { Int64($0) - 48 }
    guard numbers.allSatisfy({ (0...9).contains($0) }) else { return nil }
    let (hours, minutes) = (numbers[0] * 10 + numbers[1], numbers[2] * 10 + numbers[3])
    guard hours < 24, minutes < 60 else { return nil }
    switch zone[0] {
    case UInt8(ascii: "+"): return hours * 3600 + minutes * 60
    case UInt8(ascii: "-"): return -(hours * 3600 + minutes * 60)
    default: return nil
    }
  }

  private static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }

  /// The inverse of `civil(fromDays:)`.
  private static func days(fromCivil year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
