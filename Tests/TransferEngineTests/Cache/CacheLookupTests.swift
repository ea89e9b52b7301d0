import HTTPCache
import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct CacheLookupTests {
  private func nextStep(
    _ stored: [CachedResponse], _ request: CacheRequest = CacheSamples.request(), mayComplete: Bool = true,
    fits: Bool = true
  ) -> CacheLookup.NextStep {
    CacheLookup(request: request, mayComplete: mayComplete).nextStep(
      on: .ready(stored), at: CacheSamples.at(1)
    ) { _ in fits }
  }

  private func use(_ nextStep: CacheLookup.NextStep) throws -> CacheTransaction {
    guard case .load(let use?) = nextStep else { throw Unexpected(nextStep: nextStep) }
    return use
  }
  private struct Unexpected: Error { let nextStep: CacheLookup.NextStep }

  @Test func `fresh response answers`() throws {
    let request = CacheSamples.request()
    let served = try #require(ServedResponse(CacheSamples.fresh, for: request, at: CacheSamples.at(1)))
    #expect(nextStep([CacheSamples.fresh]) == .serve(CacheSamples.fresh, served, CacheTransaction(request)))
  }

  @Test func `stale response is revalidated`() throws {
    let use = try use(nextStep([CacheSamples.stale]))
    #expect(use.candidate == CacheSamples.stale && use.answer == nil && !use.completesCandidate)
    #expect(use.fields == [.init(name: "If-None-Match", value: "\"v1\"")])
  }

  @Test func `stale response answers during revalidation if allowed`() throws {
    guard
      case .serveWhileRevalidating(let stored, _, let use, let fields) = nextStep([
        CacheSamples.staleMeanwhile
      ]
      )
    else {
      Issue.record("\(nextStep([CacheSamples.staleMeanwhile]))")
      return
    }
    #expect(stored == CacheSamples.staleMeanwhile && use.candidate == nil && fields == stored.conditions)
  }

  /// A partial response is completed only if the whole fits into the cache and the delegate is not asked about caching.
  @Test(arguments: [(true, true), (true, false), (false, true)])
  func `part is completed if its whole fits`(_ mayComplete: Bool, _ fits: Bool) throws {
    let use = try use(nextStep([CacheSamples.part], mayComplete: mayComplete, fits: fits))
    let isCompleted = mayComplete && fits
    #expect(use.completesCandidate == isCompleted && (use.candidate == nil) == !isCompleted)
    #expect(use.fields.map(\.name) == (isCompleted ? ["Range", "If-Range"] : []))
  }

  /// A reload does not revalidate. A stale response may answer if the origin fails, but only with the protocol's policy.
  @Test func `request without a usable response is sent`() throws {
    #expect(try use(nextStep([])) == CacheTransaction(CacheSamples.request()))
    let reload = CacheSamples.request(policy: .reloadIgnoringLocalCacheData)
    #expect(try use(nextStep([CacheSamples.fresh], reload)) == CacheTransaction(reload))
  }

  @Test func `forbidden network allows stored responses only`() {
    let request = CacheSamples.request(policy: .returnCacheDataDontLoad)
    #expect(nextStep([], request) == .refuse)
    guard case .serve = nextStep([CacheSamples.stale], request) else {
      Issue.record("the stored response was not served")
      return
    }
  }

  @Test(arguments: [CacheLookup.StoredState.opening, .storing])
  func `lookup waits for responses that are being stored`(_ shelf: CacheLookup.StoredState) {
    let lookup = CacheLookup(request: CacheSamples.request())
    #expect(lookup.nextStep(on: shelf, at: CacheSamples.start) { _ in true } == .wait(shelf))
  }

  /// A background revalidation does not wait, and uses the response that it was made for.
  @Test func `background revalidation uses its own response`() throws {
    var lookup = CacheLookup(request: CacheSamples.request())
    lookup.revalidatedResponse = CacheSamples.fresh
    let use = try use(lookup.nextStep(on: .opening, at: CacheSamples.start) { _ in true })
    #expect(use.candidate == CacheSamples.fresh && use.fields == CacheSamples.fresh.conditions)
    var elsewhere = CacheLookup(request: CacheSamples.request(url: "http://b.test/"))
    elsewhere.revalidatedResponse = CacheSamples.fresh
    #expect(elsewhere.nextStep(on: .ready([]), at: CacheSamples.start) { _ in true } == .bypass)
  }
}
