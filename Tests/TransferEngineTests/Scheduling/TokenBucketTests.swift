import TestSupport
import Testing

@testable import TransferEngine

@Suite struct TokenBucketTests {
  private let start = ContinuousClock.now

  @Test(arguments: [
    (1, 1024), (10_239, 1024), (10_240, 1024), (10_250, 1025), (1_000_000, 100_000),
    (1_000_000_000_000, 100_000_000_000), (0, 1024), (-5, 1024),
  ])
  func `new bucket is full`(_ rate: Int, _ burst: Int) {
    var bucket = TokenBucket(bytesPerSecond: rate, now: start)
    #expect(bucket.burst == burst)
    bucket.consume(burst, at: start)
    #expect(bucket.delay(at: start) == nil)
    bucket.consume(1, at: start)
    #expect(bucket.delay(at: start) != nil)
  }

  @Test(arguments: [
    (1, 1, Duration.seconds(1)), (1, 1_000_000, .seconds(1_000_000)), (1000, 500, .milliseconds(500)),
    (1_000_000, 1, .microseconds(1)), (1_000_000_000_000, 1, .nanoseconds(1) / 1000),
    (3, 1, Duration(attoseconds: 333_333_333_333_333_334)),
    (7, 3, Duration(attoseconds: 428_571_428_571_428_572)),
    (Int.max, Int.max, .seconds(1)), (1, Int.max - 1024, .seconds(Int.max - 1024)),
  ])
  func `delay of a debt is exact to the attosecond`(_ rate: Int, _ debt: Int, _ expected: Duration) throws {
    var bucket = TokenBucket(bytesPerSecond: rate, now: start)
    bucket.consume(bucket.burst, at: start)
    bucket.consume(debt, at: start)
    #expect(bucket.delay(at: start) == expected)
    let instant = Duration(attoseconds: 1)
    #expect(bucket.delay(at: start + (expected - instant)) == instant)
    #expect(bucket.delay(at: start + expected) == nil)
  }

  @Test func `idle time saves at most the burst`() {
    for rate in [1, 1000, 1_000_000, 1_000_000_000_000, Int.max] {
      for idle in [Duration.seconds(2000), .seconds(100 * 365 * 86_400), .seconds(Int.max / 4)] {
        var bucket = TokenBucket(bytesPerSecond: rate, now: start)
        bucket.consume(bucket.burst, at: start)
        bucket.consume(bucket.burst, at: start + idle)
        #expect(bucket.delay(at: start + idle) == nil)
        bucket.consume(1, at: start + idle)
        #expect(bucket.delay(at: start + idle) != nil)
      }
    }
  }

  @Test func `unusual input does no harm`() {
    var bucket = TokenBucket(bytesPerSecond: 1000, now: start)
    bucket.consume(1024, at: start)
    bucket.consume(-1_000_000, at: start)
    bucket.consume(0, at: start)
    #expect(bucket.delay(at: start) == nil)
    bucket.consume(1000, at: start + .seconds(1))
    // Neither an earlier instant nor the time back from it earns bytes.
    bucket.consume(1000, at: start)
    #expect(bucket.delay(at: start) == .seconds(1))
    #expect(bucket.delay(at: start + .seconds(1)) == .seconds(1))
    #expect(bucket.delay(at: start + .seconds(2)) == nil)
    for _ in 0..<5 { bucket.consume(.max, at: start) }
    #expect(bucket.delay(at: start + .seconds(1)) == .seconds(Int.max) / 1000)
  }

  @Test(arguments: [1, 3, 7, 999, 1_000_003, 999_999_999_989, 1_000_000_000_000])
  func `years of small chunks do not drift`(_ rate: Int) throws {
    var bucket = TokenBucket(bytesPerSecond: rate, now: start)
    bucket.consume(bucket.burst, at: start)
    let chunk = max(rate / 1000, 1)
    for _ in 0..<50_000 { bucket.consume(chunk, at: start) }
    let owed = Int128(chunk) * 50_000
    let time = (owed * 1_000_000_000_000_000_000 + Int128(rate) - 1) / Int128(rate)
    var now = start
    // Settled at uneven times.
    for _ in 0..<1000 {
      now += Duration(attoseconds: time / 1000)
      bucket.consume(0, at: now)
    }
    let rest = time - time / 1000 * 1000
    #expect(bucket.delay(at: now) == (rest == 0 ? nil : Duration(attoseconds: rest)))
    // After ten years, a second is still a second.
    now += .seconds(10 * 365 * 86_400)
    bucket.consume(bucket.burst + rate, at: now)
    #expect(bucket.delay(at: now) == .seconds(1))
  }
}

@Suite struct TokenBucketWalkTests {
  private struct Taken {
    let time: Duration
    let count: Int
  }

  /// Takes chunks and waits as required, sometimes longer. Returns the taken bytes with their times.
  private func walk(
    rate: Int, largest: Int, lateness: Duration, count: Int, using generator: inout SplitMix64
  ) -> [Taken] {
    let start = ContinuousClock.now
    var now = start
    var bucket = TokenBucket(bytesPerSecond: rate, now: start)
    return (0..<count).map { _ in
      while let delay = bucket.delay(at: now) {
        now += delay + Duration(attoseconds: Int128.random(in: 0...lateness.attoseconds, using: &generator))
      }
      let chunk = Int.random(in: 1...largest, using: &generator)
      bucket.consume(chunk, at: now)
      return Taken(time: start.duration(to: now), count: chunk)
    }
  }

  private static let cases: [(seed: UInt64, rate: Int, largest: Int)] = [
    (1, 1, 1), (2, 1, 3000), (3, 100, 16_384), (4, 10_240, 700), (5, 1_000_000, 16_384),
    (6, 1_000_000, 5_000_000), (7, 1_000_000_000, 262_144), (8, 1_000_000_000_000, 10_000_000_000),
    (9, 333, 333),
  ]

  @Test(arguments: cases)
  func `no window exceeds rate and burst`(_ seed: UInt64, _ rate: Int, _ largest: Int) throws {
    var generator = SplitMix64(seed: seed)
    let burst = TokenBucket(bytesPerSecond: rate, now: .now).burst
    for lateness in [Duration.zero, .milliseconds(40), .seconds(10)] {
      let taken = walk(rate: rate, largest: largest, lateness: lateness, count: 600, using: &generator)
      for first in taken.indices {
        var bytes: Int128 = 0
        for last in taken[first...] {
          bytes += Int128(last.count)
          let window = (last.time - taken[first].time).attoseconds * Int128(rate)
          let allowed = window / 1_000_000_000_000_000_000 + Int128(burst + largest)
          guard bytes > allowed else { continue }
          Issue.record("from \(first): \(bytes) bytes of \(allowed) until \(last.time)")
          return
        }
      }
    }
  }

  @Test(arguments: cases)
  func `greedy user gets its rate`(_ seed: UInt64, _ rate: Int, _ largest: Int) throws {
    var generator = SplitMix64(seed: seed)
    for lateness in [Duration.zero, .milliseconds(2), .milliseconds(90)] {
      let taken = walk(rate: rate, largest: largest, lateness: lateness, count: 5000, using: &generator)
      // The last chunk was not waited for.
      let bytes = taken.dropLast().reduce(0.0) { $0 + Double($1.count) }
      let time = try #require(taken.last).time / .seconds(1)
      #expect(bytes >= 0.95 * Double(rate) * time, "\(bytes) bytes in \(time) s")
    }
  }
}
