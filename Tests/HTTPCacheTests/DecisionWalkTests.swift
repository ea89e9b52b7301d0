import TestSupport
import Testing
import TransferModel

@testable import HTTPCache

/// Random requests and responses, compared with a second implementation of RFC 9111 §4.2 and §5.2 in plain numbers.
@Suite(.serialized, .blocking) struct DecisionWalkTests {
  private struct Asked {
    var maxAge: Int64?
    var minFresh: Int64?
    var maxStale: Int64?
    var noCache = false
    var onlyIfCached = false

    var text: String {
      var parts: [String] = []
      if let maxAge { parts.append("max-age=\(maxAge)") }
      if let minFresh { parts.append("min-fresh=\(minFresh)") }
      if let maxStale { parts.append("max-stale=\(maxStale)") }
      if noCache { parts.append("no-cache") }
      if onlyIfCached { parts.append("only-if-cached") }
      return parts.joined(separator: ",")
    }
  }
  private struct Given {
    var maxAge: Int64?
    var expires: Int64?
    var modified: Int64?
    var date: Int64 = 0
    var age: Int64?
    var delay: Int64 = 0
    var whileRevalidating: Int64?
    var noCache = false
    var mustRevalidate = false
    var immutable = false
    var hasTag = true

    var fields: [(String, String)] {
      var parts: [String] = []
      if let maxAge { parts.append("max-age=\(maxAge)") }
      if let whileRevalidating { parts.append("stale-while-revalidate=\(whileRevalidating)") }
      if noCache { parts.append("no-cache") }
      if mustRevalidate { parts.append("must-revalidate") }
      if immutable { parts.append("immutable") }
      var fields = [("Date", Sample.date(Double(date)))]
      if !parts.isEmpty { fields.append(("Cache-Control", parts.joined(separator: ", "))) }
      if let expires { fields.append(("Expires", Sample.date(Double(expires)))) }
      if let modified { fields.append(("Last-Modified", Sample.date(Double(modified)))) }
      if let age { fields.append(("Age", String(age))) }
      if hasTag { fields.append(("ETag", "\"v\"")) }
      return fields
    }
  }

  private static func some(_ range: ClosedRange<Int64>, _ generator: inout SplitMix64) -> Int64? {
    Bool.random(using: &generator) ? Int64.random(in: range, using: &generator) : nil
  }
  private static func rarely(_ generator: inout SplitMix64) -> Bool {
    Int.random(in: 0..<6, using: &generator) == 0
  }

  private static func asked(_ generator: inout SplitMix64) -> Asked {
    guard Bool.random(using: &generator) else { return Asked() }
    return Asked(
      maxAge: some(0...100, &generator), minFresh: some(0...40, &generator),
      maxStale: some(0...60, &generator), noCache: rarely(&generator), onlyIfCached: rarely(&generator))
  }

  private static func given(_ generator: inout SplitMix64) -> Given {
    Given(
      maxAge: some(0...100, &generator), expires: some(-50...100, &generator),
      modified: some(-1000...20, &generator), date: Int64.random(in: -30...30, using: &generator),
      age: some(0...40, &generator), delay: Int64.random(in: 0...5, using: &generator),
      whileRevalidating: some(0...60, &generator), noCache: rarely(&generator),
      mustRevalidate: rarely(&generator), immutable: rarely(&generator), hasTag: !rarely(&generator))
  }

  private static func expected(_ asked: Asked, _ given: Given, _ now: Int64) -> String {
    // Tenths of seconds, so that the heuristic is exact.
    let lifetime: Int64
    if let maxAge = given.maxAge {
      lifetime = maxAge * 10
    } else if let expires = given.expires {
      lifetime = max(0, (expires - given.date) * 10)
    } else if let modified = given.modified, modified < given.date {
      lifetime = given.date - modified
    } else {
      lifetime = 0
    }
    let age = (max(max(0, -given.date), (given.age ?? 0) + given.delay) + now) * 10
    let isFresh = age < lifetime
    let network =
      asked.onlyIfCached ? "fail" : given.hasTag || given.modified != nil ? "revalidate" : "load"
    if asked.noCache || given.noCache { return network }
    if let limit = asked.maxAge, age > limit * 10, !(given.immutable && isFresh) { return network }
    if isFresh { return lifetime - age >= (asked.minFresh ?? 0) * 10 ? "use" : network }
    if given.mustRevalidate || asked.minFresh != nil { return network }
    if let limit = asked.maxStale { return age - lifetime <= limit * 10 ? "use" : network }
    if let limit = given.whileRevalidating, asked.maxAge == nil, age - lifetime <= limit * 10 {
      return asked.onlyIfCached ? "use" : "useWhileRevalidating"
    }
    return network
  }

  @Test(arguments: UInt64(0)..<250)
  func `decisions agree with the reference`(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<40 {
      let (asked, given) = (Self.asked(&generator), Self.given(&generator))
      let stored = Sample.stored(given.fields, delay: Double(given.delay))
      let request = Sample.request(asked.text.isEmpty ? [] : [("Cache-Control", asked.text)])
      for now in [0, Int64.random(in: 0...150, using: &generator)] {
        let decision = CacheDecision(for: request, stored: [stored], at: Sample.at(Double(now)))
        let name = CacheDecisionTests.name(decision).prefix { $0 != " " }
        #expect(name == Self.expected(asked, given, now), "\(asked.text) | \(given.fields) at \(now)")
      }
    }
  }
}
