import HTTPFields
import TestSupport
import Testing

@testable import HTTPCache

/// RFC 9111 §4.2 and §5.1.
@Suite struct FreshnessTests {
  @Test(
    arguments: [
      ([("Cache-Control", "max-age=60")], 60), ([("Cache-Control", "s-maxage=60")], 0),
      ([("Cache-Control", "max-age=60, s-maxage=5")], 60),
      ([("Cache-Control", "max-age=60"), ("Expires", "0")], 60),
      ([("Cache-Control", "max-age=x"), ("Expires", Sample.date(100))], 0),
      ([("Expires", Sample.date(100))], 100), ([("Expires", Sample.date(-100))], 0), ([("Expires", "0")], 0),
      ([("Expires", Sample.date(100)), ("Date", Sample.date(-10))], 110),
      ([("Expires", Sample.date(100)), ("Date", "nonsense")], 100),
      ([("Expires", Sample.date(100)), ("Expires", Sample.date(100))], 0),
      ([("Last-Modified", Sample.date(-1000))], 100), ([("Last-Modified", Sample.date(10))], 0),
      ([("Last-Modified", Sample.date(-10_000_000))], 86_400),
      ([("Last-Modified", Sample.date(-1000)), ("Expires", "0")], 0),
      ([("Last-Modified", "nonsense")], 0), ([], 0),
    ] as [([(String, String)], Double)])
  func `lifetime follows the fields or the heuristic`(_ fields: [(String, String)], _ expected: Double) {
    #expect(Sample.stored(fields).lifetime == expected)
  }

  /// RFC 9110 §15.1: not every status has a heuristic lifetime.
  @Test(arguments: [(200, 100), (203, 100), (204, 100), (201, 0), (207, 0)] as [(Int, Double)])
  func `heuristic applies to some statuses only`(_ status: Int, _ expected: Double) {
    let date = ("Last-Modified", Sample.date(-1000))
    #expect(Sample.stored([date], status: status).lifetime == expected)
    let open = Sample.stored([date, ("Cache-Control", "public")], status: status)
    #expect(open.lifetime == 100)
  }

  /// §4.2.3: the greater age from Date or Age.
  @Test(
    arguments: [
      ([], 0, 0), ([("Age", "7")], 0, 7), ([("Age", "7")], 2, 9), ([("Date", Sample.date(-20))], 2, 20),
      ([("Date", Sample.date(-20)), ("Age", "7")], 2, 20),
      ([("Date", Sample.date(-20)), ("Age", "30")], 2, 32),
      ([("Date", Sample.date(20))], 2, 2), ([("Age", "-7")], 0, 0), ([("Age", "x")], 0, 0),
      ([("Age", "7, 9")], 0, 7), ([("Age", "9"), ("Age", "7")], 0, 9), ([("Age", "x, 9")], 0, 0),
      ([("Age", "99999999999")], 0, 2_147_483_648), ([("Date", "nonsense")], 0, 0),
    ] as [([(String, String)], Double, Double)])
  func `age follows Date or Age`(_ fields: [(String, String)], _ delay: Double, _ expected: Double) {
    let stored = Sample.stored(fields, delay: delay)
    #expect(Freshness.currentAge(of: stored, at: Sample.at(0)) == expected)
    #expect(Freshness.currentAge(of: stored, at: Sample.at(3.5)) == expected + 3.5)
    #expect(Freshness.currentAge(of: stored, at: Sample.at(-3)) == expected)
  }

  @Test func `served response has its current age`() {
    let stored = Sample.stored([("Age", "7"), ("Cache-Control", "max-age=60"), ("age", "8")], delay: 1)
    let headers = ServedResponse.headers(of: stored, at: Sample.at(2.9))
    #expect(headers.all("Age") == ["10"])
    #expect(headers["Cache-Control"] == "max-age=60")
  }

  @Test func `response is fresh until its lifetime is over`() {
    let stored = Sample.stored([("Cache-Control", "max-age=60")])
    #expect(Freshness(of: stored, at: Sample.at(59.9)).isFresh)
    #expect(!Freshness(of: stored, at: Sample.at(60)).isFresh)
    #expect(Freshness(of: stored, at: Sample.at(65)).staleness == 5)
  }
}
