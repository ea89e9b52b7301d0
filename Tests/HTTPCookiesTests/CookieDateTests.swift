import Testing
import TransferModel

@testable import HTTPCookies

/// RFC 6265bis §5.1.1.
@Suite struct CookieDateTests {
  @Test(arguments: [
    // The three common forms of §3.1 and §5.1.1, from RFC 9110.
    ("Wed, 09 Jun 2021 10:18:14 GMT", "2021-06-09T10:18:14.000Z"),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"),
    // Zones are ignored: the time is UTC.
    ("Sun, 06 Nov 1994 08:49:37 PST", "1994-11-06T08:49:37.000Z"),
    ("06 Nov 1994 08:49:37", "1994-11-06T08:49:37.000Z"),
    // Steps 3 and 4: years of two digits.
    ("1 Jan 70 00:00:00", "1970-01-01T00:00:00.000Z"), ("1 Jan 69 00:00:00", "2069-01-01T00:00:00.000Z"),
    ("1 Jan 99 00:00:00", "1999-01-01T00:00:00.000Z"), ("1 Jan 00 00:00:00", "2000-01-01T00:00:00.000Z"),
    ("1 Jan 069 00:00:00", "2069-01-01T00:00:00.000Z"),
    // One digit is enough; characters after the digits are ignored.
    ("6 nov 1994 8:9:7", "1994-11-06T08:09:07.000Z"),
    ("6th november 1994AD 8:9:7x9", "1994-11-06T08:09:07.000Z"),
    ("6 NOVEMBER 1994 08:49:37:99", "1994-11-06T08:49:37.000Z"),
    // Any order and any delimiters. The first fitting token counts.
    ("1994 08:49:37 Nov 06", "1994-11-06T08:49:37.000Z"),
    ("\t~08:49:37_1994/Nov@06`", "1994-11-06T08:49:37.000Z"),
    ("06 07 Nov Dec 08:49:37 1994", "2007-11-06T08:49:37.000Z"),
    ("06 Nov 1994 1995 08:49:37 09:00:00", "1994-11-06T08:49:37.000Z"),
    ("29 Feb 2024 00:00:00", "2024-02-29T00:00:00.000Z"),
    ("31 Dec 9999 23:59:59", "9999-12-31T23:59:59.000Z"),
  ])
  func `dates of any form are parsed`(_ text: String, _ expected: String) {
    #expect(CookieDate.parse(text)?.description == expected, "\(text)")
  }

  @Test(arguments: [
    "", "GMT", "06 Nov 1994", "Nov 1994 08:49:37", "06 1994 08:49:37", "06 Nov 08:49:37",
    "06 Nov 1994 08:49", "06 Nov 1994 24:00:00", "06 Nov 1994 23:60:00", "06 Nov 1994 23:59:60",
    "0 Nov 1994 08:49:37", "32 Nov 1994 08:49:37", "31 Nov 1994 08:49:37", "29 Feb 2023 00:00:00",
    "06 Nov 1600 08:49:37", "06 Nov 100 08:49:37", "06 Nov 19945 08:49:37", "006 Nov 1994 08:49:37",
    "06 No 1994 08:49:37", "06 Nov 1994 008:49:37", "06 Nov 1994 8:49:377", "06 Nov 1994 08 :49:37",
    "１ Jan 2000 00:00:00", "Mon, 01 Jan 2000 xx:00:00",
  ])
  func `invalid dates are refused`(_ text: String) {
    #expect(CookieDate.parse(text) == nil, "\(text)")
  }

  @Test func `earliest year is 1601`() {
    #expect(CookieDate.parse("1 Jan 1601 00:00:00") == Cookie.distantPast)
  }
}
