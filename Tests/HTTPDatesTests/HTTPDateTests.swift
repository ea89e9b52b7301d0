import HTTPDates
import TestSupport
import Testing
import TransferModel

/// RFC 9110 §5.6.7.
@Suite struct HTTPDateTests {
  private static let example = Timestamp(seconds: 784_111_777)
  private static let now = Timestamp("2026-11-21T12:00:00Z")!

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "sun, 06 nov 1994 08:49:37 gmt", " Sun, 06 Nov 1994 08:49:37 GMT ",
  ])
  func `formats are parsed`(_ text: String) { #expect(HTTPDate.parse(text, now: Self.now) == Self.example) }

  @Test(arguments: [
    "", "0", "-1", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
    "Xun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 8:49:37 GMT", "1994-11-06T08:49:37Z", "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sun, 06  Nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT", "Sunday,  06-Nov-94 08:49:37 GMT",
    "Sun, 0x Nov 1994 08:49:37 GMT", "Sun, 06 Nov 19a4 08:49:37 GMT",
    "Sun, 06 Nov 1994 08-49-37 GMT", "Sun, 06 Nox 1994 08:49:37 GMT", "Sun; 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMX", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:3é GMT",
    "Sun Nov 6 08:49:37 1994", "Sun Nov  06 08:49:37 1994", "Sun Nov  6  08:49:37 1994",
  ])
  func `other formats are refused`(_ text: String) { #expect(HTTPDate.parse(text, now: Self.now) == nil) }

  @Test(arguments: [("26", 2026), ("76", 2076), ("77", 1977), ("99", 1999), ("00", 2000)])
  func `century of a year with two digits`(_ digits: String, _ year: Int) {
    let parsed = HTTPDate.parse("Friday, 01-Jan-\(digits) 00:00:00 GMT", now: Self.now)
    #expect(parsed == Timestamp("\(year)-01-01T00:00:00Z"))
  }

  @Test func `written date is parsed`() {
    #expect(HTTPDate.text(Self.example) == "Sun, 06 Nov 1994 08:49:37 GMT")
    var generator = SplitMix64(seed: 7)
    for _ in 0..<2000 {
      let instant = Timestamp(seconds: Int64.random(in: 0...253_402_300_799, using: &generator))
      #expect(HTTPDate.parse(HTTPDate.text(instant), now: Self.now) == instant)
    }
  }
}
