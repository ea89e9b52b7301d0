import Testing

@testable import TransferModel

@Suite struct TimestampTests {
  @Test(arguments: [
    (Int64(0), "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:01.000Z"),
    (86_399, "1970-01-01T23:59:59.000Z"), (68_169_600, "1972-02-29T00:00:00.000Z"),
    (68_256_000, "1972-03-01T00:00:00.000Z"), (94_694_399, "1972-12-31T23:59:59.000Z"),
    (946_684_799, "1999-12-31T23:59:59.000Z"), (946_684_800, "2000-01-01T00:00:00.000Z"),
    (951_782_400, "2000-02-29T00:00:00.000Z"), (951_868_800, "2000-03-01T00:00:00.000Z"),
    (978_307_199, "2000-12-31T23:59:59.000Z"), (1_000_000_000, "2001-09-09T01:46:40.000Z"),
    (1_614_556_799, "2021-02-28T23:59:59.000Z"), (1_614_556_800, "2021-03-01T00:00:00.000Z"),
    (1_709_164_800, "2024-02-29T00:00:00.000Z"), (1_769_860_800, "2026-01-31T12:00:00.000Z"),
    (2_147_483_648, "2038-01-19T03:14:08.000Z"), (4_102_444_800, "2100-01-01T00:00:00.000Z"),
    (4_107_542_399, "2100-02-28T23:59:59.000Z"), (4_107_542_400, "2100-03-01T00:00:00.000Z"),
    (253_402_300_799, "9999-12-31T23:59:59.000Z"),
  ])
  func `time is written by RFC 3339`(_ seconds: Int64, _ expected: String) {
    #expect(Timestamp(seconds: seconds).description == expected)
  }

  @Test(arguments: [
    (Int64(1), "1970-01-01T00:00:00.000Z"), (999, "1970-01-01T00:00:00.000Z"),
    (1000, "1970-01-01T00:00:00.001Z"), (999_999, "1970-01-01T00:00:00.999Z"),
    (45_296_078_000, "1970-01-01T12:34:56.078Z"), (-5, "1969-12-31T23:59:59.999Z"),
    (-1_000_000, "1969-12-31T23:59:59.000Z"), (-2_203_891_200_000_000, "1900-03-01T00:00:00.000Z"),
    (-62_162_035_200_001_000, "0000-02-29T23:59:59.999Z"),
    // Earlier than the earliest time that can be written.
    (.min, "0000-01-01T00:00:00.000Z"),
  ])
  func `milliseconds are rounded down`(_ microseconds: Int64, _ expected: String) {
    #expect(Timestamp(microseconds: microseconds).description == expected)
  }

  @Test func everyDayFollowsTheOneBefore() throws {
    var last = Timestamp.civil(fromDays: 0)
    #expect(last == (1970, 1, 1))
    for days in Int64(1)...60_000 {
      let date = Timestamp.civil(fromDays: days)
      let isLeap = last.year % 4 == 0 && (last.year % 100 != 0 || last.year % 400 == 0)
      let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      var next = (year: last.year, month: last.month, day: last.day + 1)
      if next.day > lengths[Int(last.month) - 1] { next = (last.year, last.month + 1, 1) }
      if next.month > 12 { next = (last.year + 1, 1, 1) }
      try #require(date == next)
      last = date
    }
  }

  @Test func `seconds and microseconds are converted and added`() {
    let time = Timestamp(microseconds: 1_500_250_999)
    #expect(time.milliseconds == 1_500_250)
    #expect(time.seconds == 1500)
    #expect(time.adding(seconds: 0.000_001).microseconds == 1_500_251_000)
    #expect(time.adding(seconds: -1).microseconds == 1_499_250_999)
    #expect(time.since(Timestamp(microseconds: 500_250_999)) == 1000)
    #expect(Timestamp(seconds: 1) < Timestamp(microseconds: 1_000_001))
  }

  @Test(arguments: [1e12, 1e13, 1e15, 1e300, .infinity])
  func `far future is limited to year 9999`(_ seconds: Double) {
    #expect(
      Timestamp(seconds: 1_769_860_800).adding(seconds: seconds).description == "9999-12-31T23:59:59.000Z")
  }
}
