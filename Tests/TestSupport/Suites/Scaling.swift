import Glibc

/// Whether work takes time in proportion to its size: what peers can make larger must not take its square.
package enum Scaling {
  /// Work of twice the size may take so many times as long.
  package static let limit = 2.5
  /// Nanoseconds; shorter runs say little, and are repeated.
  private static let least: UInt64 = 200_000
  /// Eight times as much stays in a processor's cache, and is below the size for which allocators ask the system for pages: beyond
  /// either bytes cost more, however few steps they take.
  private static let largest = 1 << 13

  /// How many times as long `work` takes for input of twice the size, on the way to eight times: the least of several runs of
  /// each, in this thread's own time. Over three doublings what memory costs weighs less. The size is the first of `size`, twice that,
  /// and so on, that takes long enough.
  package static func ratio<Input>(
    from size: Int = 256, of input: (Int) -> Input, _ work: (Input) throws -> Void
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
    // A run that something else disturbed is as good as none: so there are more where the figure is bad.
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

  private static func time<Input>(
    _ input: Input, times: Int = 1, _ work: (Input) throws -> Void
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
