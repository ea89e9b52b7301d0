internal import CLinux
internal import Glibc

/// The wall clock. Callers receive it as a function, so that tests can use another clock.
package enum WallClock {
  /// Returns the microseconds since 1970-01-01T00:00:00Z.
  package static func microseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }
}
