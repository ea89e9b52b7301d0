import HTTPFields
import Testing
import TransferModel

@testable import HTTPCache

/// RFC 9111 §4, RFC 5861, RFC 8246, and the policies.
@Suite struct CacheDecisionTests {
  private static let tag = ("ETag", "\"v1\"")

  /// Returns a decision's name in the tables, with the fields that it adds.
  static func name(_ decision: CacheDecision) -> String {
    func list(_ fields: [HTTPHeaders.Field]) -> String {
      fields.map { " \($0.name): \($0.value)" }.joined(separator: ",")
    }
    return switch decision {
    case .load(let fields): "load" + list(fields)
    case .use: "use"
    case .useWhileRevalidating(_, let fields): "useWhileRevalidating" + list(fields)
    case .revalidate(_, let fields): "revalidate" + list(fields)
    case .loadMissing(_, let fields): "loadMissing" + list(fields)
    case .fail: "fail"
    }
  }

  private static func decide(
    _ directives: String, _ asked: String, at seconds: Double, policy: CachePolicy = .useProtocolCachePolicy,
    method: String = "GET", others: [(String, String)] = []
  ) -> String {
    let stored = Sample.stored([tag] + (directives.isEmpty ? [] : [("Cache-Control", directives)]))
    let request = Sample.request(
      (asked.isEmpty ? [] : [("Cache-Control", asked)]) + others, method: method, policy: policy)
    return name(CacheDecision(for: request, stored: [stored], at: Sample.at(seconds)))
  }
  private static let ask = "revalidate If-None-Match: \"v1\""
  private static let background = "useWhileRevalidating If-None-Match: \"v1\""

  @Test(
    arguments: [
      // §4.2: fresh or stale.
      ("max-age=60", "", 59, "use"), ("max-age=60", "", 60, ask), ("", "", 0, ask),
      // §5.2.2.4, §5.2.2.2.
      ("max-age=60, no-cache", "", 1, ask), ("max-age=60, no-cache=\"x\"", "", 1, "use"),
      ("max-age=60, must-revalidate", "", 1, "use"), ("max-age=60, must-revalidate", "", 61, ask),
      // §5.2.1.1 to §5.2.1.4.
      ("max-age=60", "max-age=10", 10, "use"), ("max-age=60", "max-age=10", 11, ask),
      ("max-age=60", "max-age=0", 1, ask), ("max-age=60", "max-age=100", 61, ask),
      ("max-age=60", "min-fresh=10", 50, "use"), ("max-age=60", "min-fresh=10", 51, ask),
      ("max-age=60", "min-fresh=x", 1, ask),
      ("max-age=60", "max-stale=10", 70, "use"), ("max-age=60", "max-stale=10", 71, ask),
      ("max-age=60", "max-stale", 5000, "use"), ("max-age=60", "max-stale=x", 61, ask),
      ("max-age=60", "max-age=65, max-stale", 65, "use"), ("max-age=60", "max-age=65, max-stale", 66, ask),
      ("max-age=60, must-revalidate", "max-stale", 61, ask), ("max-age=60, no-cache", "max-stale", 1, ask),
      ("max-age=60", "no-cache", 1, ask), ("max-age=60", "no-store", 1, "use"),
      // §5.2.1.7.
      ("max-age=60", "only-if-cached", 1, "use"), ("max-age=60", "only-if-cached", 61, "fail"),
      ("max-age=60", "only-if-cached, max-stale", 61, "use"),
      ("max-age=60", "only-if-cached, no-cache", 1, "fail"),
      // RFC 5861 §3.
      ("max-age=60, stale-while-revalidate=10", "", 70, background),
      ("max-age=60, stale-while-revalidate=10", "", 71, ask),
      ("max-age=60, stale-while-revalidate=10", "", 59, "use"),
      ("max-age=60, stale-while-revalidate=10, must-revalidate", "", 61, ask),
      ("max-age=60, stale-while-revalidate=10, no-cache", "", 61, ask),
      ("max-age=60, stale-while-revalidate=10", "max-age=100", 61, ask),
      ("max-age=60, stale-while-revalidate=10", "min-fresh=0", 61, ask),
      ("max-age=60, stale-while-revalidate=10", "max-stale=1", 62, ask),
      ("max-age=60, stale-while-revalidate=10", "no-cache", 61, ask),
      ("max-age=60, stale-while-revalidate=10", "only-if-cached", 61, "use"),
      // RFC 8246 §2.
      ("max-age=60, immutable", "max-age=0", 1, "use"), ("max-age=60, immutable", "max-age=0", 61, ask),
      ("max-age=60, immutable", "no-cache", 1, ask), ("max-age=60, immutable", "", 61, ask),
    ] as [(String, String, Double, String)])
  func `protocol policy decides`(_ stored: String, _ asked: String, _ seconds: Double, _ expected: String) {
    #expect(Self.decide(stored, asked, at: seconds) == expected)
  }

  /// §5.4.
  @Test func `pragma no cache revalidates`() {
    let decision = Self.decide("max-age=60", "", at: 1, others: [("Pragma", "no-cache")])
    #expect(decision == Self.ask)
  }

  @Test(arguments: [1.0, 61.0])
  func `each policy decides by freshness`(_ seconds: Double) {
    let expected: [CachePolicy: String] = [
      .useProtocolCachePolicy: seconds < 60 ? "use" : Self.ask,
      .reloadIgnoringLocalCacheData: "load",
      .reloadIgnoringLocalAndRemoteCacheData: "load Cache-Control: no-cache, Pragma: no-cache",
      .returnCacheDataElseLoad: "use", .returnCacheDataDontLoad: "use",
      .reloadRevalidatingCacheData: Self.ask + ", Cache-Control: max-age=0",
    ]
    for policy in CachePolicy.allCases {
      #expect(Self.decide("max-age=60", "", at: seconds, policy: policy) == expected[policy])
    }
  }

  @Test(
    arguments: [
      (.useProtocolCachePolicy, "load"), (.reloadIgnoringLocalCacheData, "load"),
      (.reloadIgnoringLocalAndRemoteCacheData, "load Cache-Control: no-cache, Pragma: no-cache"),
      (.returnCacheDataElseLoad, "load"), (.returnCacheDataDontLoad, "fail"),
      (.reloadRevalidatingCacheData, "load Cache-Control: max-age=0"),
    ] as [(CachePolicy, String)])
  func `nothing is served without a stored response`(_ policy: CachePolicy, _ expected: String) {
    let decision = CacheDecision(for: Sample.request(policy: policy), stored: [], at: Sample.start)
    #expect(Self.name(decision) == expected)
    let unsafe = CacheDecision(
      for: Sample.request(method: "POST", policy: policy), stored: [Sample.stored([Self.tag])],
      at: Sample.start)
    #expect(Self.name(unsafe) == expected)
  }

  /// RFC 9111 does not apply: neither age nor directives matter.
  @Test func `cache policies return stored data of any age`() {
    for directives in ["no-cache", "max-age=0, must-revalidate"] {
      for policy in [CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad] {
        #expect(Self.decide(directives, "no-cache", at: 1e9, policy: policy) == "use")
      }
    }
    let immutable = Self.decide("max-age=60, immutable", "", at: 1, policy: .reloadRevalidatingCacheData)
    #expect(immutable == Self.ask + ", Cache-Control: max-age=0")
  }

  @Test func `fields of the client are not replaced`() {
    let asked = Self.decide("", "x", at: 1, policy: .reloadIgnoringLocalAndRemoteCacheData)
    #expect(asked == "load Pragma: no-cache")
    #expect(
      Self.decide("", "x", at: 1, policy: .reloadRevalidatingCacheData) == Self.ask)
  }

  /// RFC 9110 §13.1: the client validates its own copy.
  @Test(arguments: ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"])
  func `conditional requests go to the network`(_ name: String) {
    #expect(Self.decide("max-age=60", "", at: 1, others: [(name, "\"v1\"")]) == "load")
    let offline = Self.decide(
      "max-age=60", "", at: 1, policy: .returnCacheDataDontLoad, others: [(name, "\"v1\"")])
    #expect(offline == "fail")
  }

  /// §4.3.1: both validators, unchanged.
  @Test func `revalidation sends both validators`() {
    let both = [("ETag", "W/\"v1\""), ("Last-Modified", "some day")]
    let request = Sample.request()
    let name = Self.name(CacheDecision(for: request, stored: [Sample.stored(both)], at: Sample.at(1)))
    #expect(name == "revalidate If-None-Match: W/\"v1\", If-Modified-Since: some day")
    let none = Sample.stored([("Cache-Control", "max-age=1")])
    #expect(Self.name(CacheDecision(for: request, stored: [none], at: Sample.at(2))) == "load")
  }

  /// §4: a stored GET may serve HEAD, which is not made conditional (§4.3.5).
  @Test func `stored GET serves HEAD while fresh`() {
    #expect(Self.decide("max-age=60", "", at: 1, method: "HEAD") == "use")
    #expect(Self.decide("max-age=60", "", at: 61, method: "HEAD") == "load")
    #expect(Self.decide("max-age=60", "only-if-cached", at: 61, method: "HEAD") == "fail")
  }

  @Test func `another variant is not served`() {
    let stored = Sample.stored(
      [Self.tag, ("Vary", "Accept"), ("Cache-Control", "max-age=60")], to: Sample.request([("Accept", "a")]))
    let decision = { (accept: String) in
      Self.name(CacheDecision(for: Sample.request([("Accept", accept)]), stored: [stored], at: Sample.at(1)))
    }
    #expect(decision("a") == "use" && decision("b") == "load")
  }
}
