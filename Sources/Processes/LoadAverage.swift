internal import CLinux
internal import Glibc

/// The load of the machine.
package enum LoadAverage {
  /// The load at most a second ago. A cached value spares a read of a file.
  package struct Sample: Sendable {
    private var last: (value: Double, time: ContinuousClock.Instant)?

    package init() {}

    package mutating func value(at time: ContinuousClock.Instant) -> Double {
      if let last, time - last.time < .seconds(1) { return last.value }
      let value = LoadAverage.now()
      last = (value, time)
      return value
    }
  }

  /// Returns the average number of running and runnable processes in the last minute (getloadavg(3)); 0 if the system does not report it.
  package static func now() -> Double {
    var average = 0.0
    return getloadavg(&average, 1) == 1 ? average : 0
  }
}
