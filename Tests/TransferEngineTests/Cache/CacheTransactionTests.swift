import HTTPCache
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct CacheTransactionTests {
  private static let tag = ("ETag", "\"v1\"")
  private static let other = ("ETag", "\"v2\"")
  private static let range = ("Content-Range", "bytes 4-9/10")

  private static func use(_ candidate: CachedResponse?, completes: Bool = false) -> CacheTransaction {
    var use = CacheTransaction(CacheSamples.request())
    (use.candidate, use.completesCandidate) = (candidate, completes)
    return use
  }

  private enum Kind { case pass, replaced, incomplete, rest, mismatched, confirmed, stale }

  private static func kind(_ hearing: CacheTransaction.HeadEffect) -> Kind {
    switch hearing {
    case .pass: .pass
    case .replaced: .replaced
    case .incomplete: .incomplete
    case .rest: .rest
    case .mismatched: .mismatched
    case .confirmed: .confirmed
    case .stale: .stale
    }
  }

  @Test(
    arguments: [
      (200, [], .replaced), (204, [], .replaced), (404, [], .replaced), (410, [], .replaced),
      (403, [], .pass), (301, [], .pass), (501, [], .pass), (500, [], .pass), (503, [], .pass),
      (304, [tag], .confirmed), (304, [], .confirmed), (304, [other], .mismatched),
    ] as [(Int, [(String, String)], Kind)])
  private func `response to a revalidation`(_ status: Int, _ fields: [(String, String)], _ expected: Kind) {
    let hearing = Self.use(CacheSamples.stale).handle(
      CacheSamples.head(status, fields), at: CacheSamples.at(1))
    #expect(Self.kind(hearing) == expected)
    #expect(hearing.passesAnswer == [.pass, .replaced].contains(expected))
  }

  @Test(
    arguments: [
      (206, [range], .rest), (416, [range], .mismatched), (304, [], .mismatched), (200, [], .incomplete),
      (404, [range], .incomplete), (503, [range], .incomplete),
      // A part with the status of a whole response.
      (200, [range], .mismatched), (200, [("Content-Range", "bytes 0-8/10")], .mismatched),
      (200, [("Content-Range", "bytes 0-9/10")], .incomplete),
    ] as [(Int, [(String, String)], Kind)])
  private func `response to a range request`(_ status: Int, _ fields: [(String, String)], _ expected: Kind) {
    let hearing = Self.use(CacheSamples.part, completes: true).handle(
      CacheSamples.head(status, fields + [Self.tag]), at: CacheSamples.at(1))
    #expect(Self.kind(hearing) == expected)
    #expect(hearing.passesAnswer == (expected == .incomplete))
  }

  @Test func `response without a candidate passes`() {
    for status in [200, 206, 304, 404, 500] {
      #expect(Self.use(nil).handle(CacheSamples.head(status), at: CacheSamples.start) == .pass)
    }
  }

  /// RFC 5861 §4.
  @Test(arguments: [(500, 1, true), (503, 59, true), (501, 1, false), (503, 61, false)])
  func `stale response answers for a limited time`(_ status: Int, _ seconds: Double, _ isStale: Bool) {
    let hearing = Self.use(CacheSamples.staleIfError).handle(
      CacheSamples.head(status), at: CacheSamples.at(seconds))
    #expect(hearing == (isStale ? .stale(CacheSamples.staleIfError) : .pass))
  }

  private static let lost = TransferError(.networkConnectionLost, "lost")

  @Test(
    arguments: [
      (nil, false, true), (lost, false, false), (lost, true, true),
      (TransferError(.cancelled, "cancelled"), false, true),
    ] as [(TransferError?, Bool, Bool)])
  func `stale response answers only if the origin failed`(
    _ error: TransferError?, _ hasResponse: Bool, _ isOrigin: Bool
  ) {
    let source = Self.use(CacheSamples.staleIfError).source(
      status: nil, error: error, hasResponse: hasResponse, at: CacheSamples.at(1))
    #expect(source == (isOrigin ? .origin : .stored(CacheSamples.staleIfError)))
  }

  @Test func `confirmed response overrides the received part`() {
    var use = Self.use(CacheSamples.part, completes: true)
    #expect(
      use.source(status: 206, error: Self.lost, hasResponse: false, at: CacheSamples.start)
        == .both(CacheSamples.part))
    #expect(use.source(status: 200, error: nil, hasResponse: true, at: CacheSamples.start) == .origin)
    use.answer = CacheSamples.fresh
    #expect(
      use.source(status: 206, error: nil, hasResponse: false, at: CacheSamples.start)
        == .stored(CacheSamples.fresh))
  }
}
