import HTTPDates
import JSON
import Limits
import TestSupport
import Testing
import TransferModel

@testable import HTTPCache

@Suite(.serialized, .blocking) struct CacheScalingTests {
  /// Header fields of an origin: many of them, or long ones.
  static let heads: [@Sendable (Int) -> [(String, String)]] = [
    { (0..<$0).map { ("X-\($0)", "v") } },
    { (0..<$0).map { _ in ("Cache-Control", "max-age=9") } },
    { [("Cache-Control", String(repeating: "max-age=9, no-cache=\"a\",", count: $0))] },
    { count in [("Cache-Control", "no-cache=\"" + (0..<count).map { "x\($0)" }.joined(separator: ",") + "\"")]
    },
    { count in [("Connection", (0..<count).map { "x-\($0)" }.joined(separator: ",")), ("X-1", "v")] },
    { count in [("Vary", (0..<count).map { "x-\($0)" }.joined(separator: ","))] },
    { count in [("Vary", "a")] + (0..<count).map { ("X-\($0)", "\"\\") } },
    {
      [
        ("Cache-Control", String(repeating: "\"", count: $0) + ","),
        ("ETag", String(repeating: "\"", count: $0)),
      ]
    },
    { [("Expires", String(repeating: "1 ", count: $0)), ("Age", String(repeating: "1", count: $0))] },
    { [("Content-Range", "bytes " + String(repeating: "1-", count: $0))] },
  ]

  @Test(arguments: heads.indices) func `decisions take linear time`(_ index: Int) {
    let make = Self.heads[index]
    let ratio = Scaling.ratio(of: make) { fields in
      let (request, head) = (Sample.request(fields), Sample.head(206, fields))
      let stored = Sample.stored(fields, to: request)
      _ = Storability.permits(request, head)
      _ = Freshness(of: stored, at: Sample.at(5))
      _ = Revalidation.outcome(of: Sample.head(304, fields), for: stored, request: request)
      _ = Vary.matches(stored, request.headers)
      _ = ServedResponse.isPossible(stored, for: request)
      _ = stored.json
    }
    #expect(ratio < Scaling.limit)
  }

  @Test(arguments: ["1-2,", "-", "9", "bytes=", " "]) func `ranges take linear time`(_ piece: String) {
    let ratio = Scaling.ratio(of: { "bytes=" + String(repeating: piece, count: $0) }) {
      _ = RangeRequest($0)
      _ = ByteRange(contentRange: $0)
      _ = HTTPDate.parse($0, now: Sample.start)
    }
    #expect(ratio < Scaling.limit)
  }

  /// A response with more names in Vary than the limit depends on everything. Each name would cost a lookup for each request.
  @Test func `response with too many names in Vary is not stored`() {
    let names = { (count: Int) in
      Sample.headers([("Vary", (0..<count).map { "x-\($0)" }.joined(separator: ","))])
    }
    let most = Limits.varyNames.value
    #expect(Vary.names(names(most))?.count == most)
    #expect(Vary.names(names(most + 1)) == nil)
  }

  @Test func `response with too many directives is not stored`() {
    let control = { (count: Int) in
      CacheControl(
        response: Sample.headers([("Cache-Control", "max-age=60" + String(repeating: ",x", count: count))]))
    }
    let most = Limits.cacheDirectives.value
    #expect(control(most - 1).maxAge == 60 && !control(most - 1).noStore)
    #expect(control(most).maxAge == nil && control(most).noStore)
  }
}
