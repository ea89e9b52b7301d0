internal import Glibc

/// How much the machine has to do.
package enum LoadAverage {
  /// Processes that ran or waited to, on average over the last minute (getloadavg(3)); 0 where the system does not say.
  package static func now() -> Double {
    var average = 0.0
    return getloadavg(&average, 1) == 1 ? average : 0
  }
}
