internal import CLinux
internal import Glibc

/// How much the machine has to do.
package enum LoadAverage {
  /// Asks the system once a second at most: it reads a file for each answer.
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

  /// Processes that ran or waited to, on average over the last minute (getloadavg(3)); 0 where the system does not say.
  package static func now() -> Double {
    var average = 0.0
    return getloadavg(&average, 1) == 1 ? average : 0
  }
}
