import Glibc

/// A measurement of whether work grows linearly with its input. Input whose size peers control must not cost its
/// square.
package enum Scaling {
  /// The largest permitted factor for input of twice the size.
  package static let limit = 2.5
  /// The shortest useful run in nanoseconds. Shorter runs are repeated.
  private static let least: UInt64 = 200_000
  /// The largest start size. Eight times as much still fits into the processor's cache and below the allocator's
  /// limit for mapping pages. Beyond either, each byte costs more.
  private static let largest = 1 << 13

  /// Returns the factor by which the time of `work` grows when its input doubles.
  ///
  /// The measurement compares input of one size with input eight times as large, in the thread's own time, and
  /// takes the least of several runs. Three doublings reduce the influence of memory. The size starts at `size` and
  /// doubles until a run is long enough.
  package static func ratio<SessionInput>(
    from size: Int = 256, of input: (Int) -> SessionInput, _ work: (SessionInput) throws -> Void
  ) rethrows -> Double {
    var size = size
    var single = input(size)
    while try time(single, work) < least, size < largest {
      size *= 2
      single = input(size)
    }
    let times = try Int(least / max(1, time(single, work))) + 1
    let large = input(8 * size)
    var (shorter, longer) = (UInt64.max, UInt64.max)
    // A disturbed run has no value, so a bad ratio is measured again.
    for round in 0..<100 {
      shorter = min(shorter, try time(single, times: times, work))
      longer = min(longer, try time(large, times: times, work))
      if round >= 2, growth(shorter, longer) < limit { break }
    }
    return growth(shorter, longer)
  }

  private static func growth(_ shorter: UInt64, _ longer: UInt64) -> Double {
    cbrt(Double(longer) / Double(max(1, shorter)))
  }

  private static func time<SessionInput>(
    _ input: SessionInput, times: Int = 1, _ work: (SessionInput) throws -> Void
  ) rethrows -> UInt64 {
    let start = clock()
    for _ in 0..<times { try work(input) }
    return clock() - start
  }

  private static func clock() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }
}
