package import JSON

/// An instant of the wall clock, in microseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Hashable, Sendable, Comparable {
  package var microseconds: Int64

  package init(microseconds: Int64) { self.microseconds = microseconds }
  package init(seconds: Int64) { microseconds = seconds * 1_000_000 }

  /// The last second that RFC 3339 can express.
  private static let latest = Timestamp(seconds: 253_402_300_799)
  /// The instants that RFC 3339 can express: the year has four digits.
  static let writable = -62_167_219_200_000_000...latest.microseconds + 999_999

  package var milliseconds: Int64 { microseconds / 1000 }
  package var seconds: Int64 { microseconds / 1_000_000 }

  package static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }

  /// Returns the instant `seconds` later. The result is limited to the instants from 1970 to year 9999.
  package func adding(seconds: Double) -> Timestamp {
    let sum = Double(microseconds) + seconds * 1_000_000
    guard sum < Double(Self.latest.microseconds) else { return Self.latest }
    return Timestamp(microseconds: sum > 0 ? microseconds + Int64(seconds * 1_000_000) : 0)
  }

  /// Returns the seconds from `earlier` to this instant.
  package func since(_ earlier: Timestamp) -> Double {
    Double(microseconds - earlier.microseconds) / 1_000_000
  }
}

extension Timestamp: CustomStringConvertible, JSONEncodable {
  /// RFC 3339 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`.
  package var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(Self.length)
    append(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the text, which is ASCII.
  func append(to text: inout [UInt8]) {
    let sinceYear0 =
      min(max(microseconds, Self.writable.lowerBound), Self.writable.upperBound)
      - Self.writable.lowerBound
    let total = sinceYear0 / 1000
    let (days, dayMilliseconds) = (
      total / 86_400_000 + Self.writable.lowerBound / 86_400_000_000, total % 86_400_000
    )
    let (year, month, day) = Self.civil(fromDays: days)
    // This code is fast because each event contains several times.
    text.append(addingCapacity: Self.length) { text in
      func put(_ value: Int64, then separator: Unicode.Scalar?) {
        let value = UInt32(truncatingIfNeeded: value)
        text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10))
        text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
        if let separator { text.append(UInt8(ascii: separator)) }
      }
      put(year / 100, then: nil)
      put(year % 100, then: "-")
      put(month, then: "-")
      put(day, then: "T")
      put(dayMilliseconds / 3_600_000, then: ":")
      put(dayMilliseconds / 60_000 % 60, then: ":")
      put(dayMilliseconds / 1000 % 60, then: ".")
      put(dayMilliseconds % 1000 / 10, then: nil)
      text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: dayMilliseconds % 10))
      text.append(UInt8(ascii: "Z"))
    }
  }

  /// The length of the text in bytes.
  private static let length = 24

  package func encode(into writer: inout JSONWriter) { writer.text { append(to: &$0) } }

  /// Converts days since the epoch to a date of the proleptic Gregorian calendar (H. Hinnant, "chrono-compatible low-level date
  /// algorithms").
  static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
