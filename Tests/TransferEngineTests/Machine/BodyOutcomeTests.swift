import HTTPCache
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct BodyOutcomeTests {
  private static let good = BodyOutcome.Ending(
    hasFailed: true, keepsPartial: true, size: 4, isTooLarge: false, isFromCache: false, hasResponse: true)
  private static let partial = BodyOutcome.resumable(
    PartialBody(offset: 4, total: 10, validator: "v", resource: "http://a/b"))

  private static func fate(
    _ validator: String? = nil, isCacheable: Bool = false,
    _ change: (inout BodyOutcome.Ending) -> Void = { _ in }
  ) -> BodyOutcome {
    var ending = good
    change(&ending)
    let partial = validator.map { PartialBody(offset: 0, total: 10, validator: $0, resource: "http://a/b") }
    return BodyOutcome(at: ending, partial: partial, isCacheable: isCacheable)
  }

  @Test func `body of a successful transfer is whole`() {
    #expect(Self.fate("v", isCacheable: true) { $0.hasFailed = false } == .whole)
    #expect(Self.fate { ($0.hasFailed, $0.size) = (false, nil) } == .nothing)
    #expect(Self.fate("v", isCacheable: true) { $0.size = nil } == .nothing)
  }

  /// Resume data come before the cache, and need bytes of the origin with a validator.
  @Test func `partial body is kept if it can be used later`() {
    #expect(Self.fate("v", isCacheable: true) == Self.partial)
    #expect(Self.fate(isCacheable: true) == .cached)
    #expect(Self.fate() == .dropped)
    #expect(Self.fate("v") { $0.size = 0 } == .dropped)
    #expect(Self.fate("v") { $0.hasResponse = false } == .dropped)
    #expect(Self.fate("v") { $0.isFromCache = true } == .dropped)
    #expect(Self.fate("v", isCacheable: true) { $0.keepsPartial = false } == .dropped)
    #expect(Self.fate("v", isCacheable: true) { $0.isTooLarge = true } == .dropped)
  }
}
