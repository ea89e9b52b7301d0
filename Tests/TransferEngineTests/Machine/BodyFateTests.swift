import HTTPCache
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct BodyFateTests {
  private static let good = BodyFate.Ending(
    hasFailed: true, keepsPartial: true, size: 4, isTooLarge: false, isFromCache: false, hasResponse: true)
  private static let partial = BodyFate.resumable(
    PartialBody(offset: 4, total: 10, validator: "v", resource: "http://a/b"))

  private static func fate(
    _ validator: String? = nil, isCacheable: Bool = false,
    _ change: (inout BodyFate.Ending) -> Void = { _ in }
  ) -> BodyFate {
    var ending = good
    change(&ending)
    let partial = validator.map { PartialBody(offset: 0, total: 10, validator: $0, resource: "http://a/b") }
    return BodyFate(at: ending, partial: partial, isCacheable: isCacheable)
  }

  @Test func whatSucceedsIsWhole() {
    #expect(Self.fate("v", isCacheable: true) { $0.hasFailed = false } == .whole)
    #expect(Self.fate { ($0.hasFailed, $0.size) = (false, nil) } == .nothing)
    #expect(Self.fate("v", isCacheable: true) { $0.size = nil } == .nothing)
  }

  /// Resume data come before the cache, and only from what the origin sent under a version's name.
  @Test func whatFailsIsKeptWhereItIsOfUse() {
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
