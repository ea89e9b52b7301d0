import HTTPCache
import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct CacheLookupTests {
  private func verdict(
    _ stored: [CachedResponse], _ request: CacheRequest = CacheSamples.request(), mayComplete: Bool = true,
    fits: Bool = true
  ) -> CacheLookup.Verdict {
    CacheLookup(request: request, mayComplete: mayComplete).verdict(
      on: .ready(stored), at: CacheSamples.at(1)
    ) { _ in fits }
  }

  private func use(_ verdict: CacheLookup.Verdict) throws -> CacheUse {
    guard case .load(let use?) = verdict else { throw Unexpected(verdict: verdict) }
    return use
  }
  private struct Unexpected: Error { let verdict: CacheLookup.Verdict }

  @Test func whatIsFreshAnswers() throws {
    let request = CacheSamples.request()
    let served = try #require(ServedResponse(CacheSamples.fresh, for: request, at: CacheSamples.at(1)))
    #expect(verdict([CacheSamples.fresh]) == .serve(CacheSamples.fresh, served, CacheUse(request)))
  }

  @Test func whatIsStaleIsAskedAbout() throws {
    let use = try use(verdict([CacheSamples.stale]))
    #expect(use.candidate == CacheSamples.stale && use.answer == nil && !use.completesCandidate)
    #expect(use.fields == [.init(name: "If-None-Match", value: "\"v1\"")])
  }

  @Test func whatMayAnswerMeanwhileDoes() throws {
    guard case .serveWhileAsking(let stored, _, let use, let fields) = verdict([CacheSamples.staleMeanwhile])
    else {
      Issue.record("\(verdict([CacheSamples.staleMeanwhile]))")
      return
    }
    #expect(stored == CacheSamples.staleMeanwhile && use.candidate == nil && fields == stored.conditions)
  }

  /// A part is completed only where it becomes whole here, and nobody is asked about it.
  @Test(arguments: [(true, true), (true, false), (false, true)])
  func parts(_ mayComplete: Bool, _ fits: Bool) throws {
    let use = try use(verdict([CacheSamples.part], mayComplete: mayComplete, fits: fits))
    let isCompleted = mayComplete && fits
    #expect(use.completesCandidate == isCompleted && (use.candidate == nil) == !isCompleted)
    #expect(use.fields.map(\.name) == (isCompleted ? ["Range", "If-Range"] : []))
  }

  /// A reload asks nobody, but what is stale may do where the origin fails: only with the protocol's policy.
  @Test func nothingStoredGoesToTheOrigin() throws {
    #expect(try use(verdict([])) == CacheUse(CacheSamples.request()))
    let reload = CacheSamples.request(policy: .reloadIgnoringLocalCacheData)
    #expect(try use(verdict([CacheSamples.fresh], reload)) == CacheUse(reload))
  }

  @Test func whereTheNetworkIsForbiddenNobodyIsAsked() {
    let request = CacheSamples.request(policy: .returnCacheDataDontLoad)
    #expect(verdict([], request) == .refuse)
    guard case .serve = verdict([CacheSamples.stale], request) else {
      Issue.record("what is stored must answer")
      return
    }
  }

  @Test(arguments: [CacheLookup.Shelf.opening, .storing])
  func unfinishedShelvesAreWaitedFor(_ shelf: CacheLookup.Shelf) {
    let lookup = CacheLookup(request: CacheSamples.request())
    #expect(lookup.verdict(on: shelf, at: CacheSamples.start) { _ in true } == .wait(shelf))
  }

  /// One that asks for nobody in particular waits for nothing, and asks about what it was made for.
  @Test func revalidationsAskAboutTheirOwn() throws {
    var lookup = CacheLookup(request: CacheSamples.request())
    lookup.asksAbout = CacheSamples.fresh
    let use = try use(lookup.verdict(on: .opening, at: CacheSamples.start) { _ in true })
    #expect(use.candidate == CacheSamples.fresh && use.fields == CacheSamples.fresh.conditions)
    var elsewhere = CacheLookup(request: CacheSamples.request(url: "http://b.test/"))
    elsewhere.asksAbout = CacheSamples.fresh
    #expect(elsewhere.verdict(on: .ready([]), at: CacheSamples.start) { _ in true } == .leave)
  }
}
