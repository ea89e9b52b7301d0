import TestSupport
import Testing

@testable import TransferModel

@Suite struct TimestampParsingTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.000001Z", 1), ("1970-01-01t00:00:01z", 1_000_000),
      ("1970-01-01 01:00:00+01:00", 0), ("1969-12-31T23:59:59Z", -1_000_000),
      ("2024-02-29T12:00:00.5Z", 1_709_208_000_500_000), ("2000-01-01T00:00:00-00:30", 946_686_600_000_000),
      ("1970-01-01T00:00:00.1234567Z", 123_456), ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
      ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
      ("9999-12-31T23:59:60+00:01", 253_402_300_740_000_000),
      ("0000-01-01T00:00:00Z", -62_167_219_200_000_000),
    ] as [(String, Int64)])
  func `valid time is read`(_ text: String, _ microseconds: Int64) {
    #expect(Timestamp(text)?.microseconds == microseconds)
  }

  @Test(arguments: [
    "", "now", "2024-01-01", "2024-01-01T00:00:00", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
    "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-01T24:00:00Z",
    "2024-01-01T00:60:00Z", "2024-01-01T00:00:61Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+1:00",
    "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00Zx", "24-01-01T00:00:00Z", "2024-01-01T00:00:00é",
    // Times whose year in UTC does not have four digits.
    "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01",
  ])
  func `invalid time is refused`(_ text: String) { #expect(Timestamp(text) == nil) }

  /// A written time is read again, to the millisecond.
  @Test func `written time is read again`() {
    var generator = SplitMix64(seed: 7)
    for _ in 0..<5000 {
      let time = Timestamp(
        microseconds: Int64.random(in: -62_167_219_200_000...253_402_300_799_999, using: &generator) * 1000)
      #expect(Timestamp(time.description) == time)
    }
  }
}
