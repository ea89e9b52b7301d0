import Testing

@testable import TransferEngine

@Suite struct RateLimitsTests {
  private static let start = ContinuousClock.now

  @Test func `transfer without a limit has no debt`() {
    var limits = RateLimits(own: nil, shared: nil, at: Self.start)
    limits.charge(.max, at: Self.start)
    #expect(!limits.areAny && limits.debt(at: Self.start) == nil)
  }

  /// A transfer with two limits waits for the slower one. Transfers that share a limit wait for each other.
  @Test func `longer debt counts`() throws {
    let shared = SharedRateLimit(bytesPerSecond: 1000)
    var both = RateLimits(own: 100, shared: shared, at: Self.start)
    var other = RateLimits(own: nil, shared: shared, at: Self.start)
    both.charge(10_000, at: Self.start)
    let (own, others) = (try #require(both.debt(at: Self.start)), try #require(other.debt(at: Self.start)))
    #expect(own > others * 5)
    both.setOwn(nil, at: Self.start)
    #expect(both.debt(at: Self.start) == others && both.areAny)
    other.charge(10_000, at: Self.start)
    #expect(try #require(both.debt(at: Self.start)) > others)
  }

  /// A new rate starts without the debt of the old one.
  @Test func `new rate starts without debt`() {
    var limits = RateLimits(own: 1, shared: nil, at: Self.start)
    limits.charge(1_000_000, at: Self.start)
    #expect(limits.debt(at: Self.start) != nil)
    limits.setOwn(1, at: Self.start)
    #expect(limits.debt(at: Self.start) == nil)
  }
}
