import Foundation

/// How long a test waits for what must happen.
package enum Patience {
  /// The seconds after which a wait fails. On an idle machine, no wait takes more than a few seconds. On a busy
  /// machine with two cores, a browser and fifteen other tests make each of them wait for its turn.
  package static let seconds: Double = 120

  /// The value of `Prefer` with which a reply comes after the end of a task.
  package static let preference = "wait=\(Int(seconds))"

  /// Waits while the condition is true. Returns false if it is still true at the end of the wait.
  @discardableResult package static func wait(
    seconds: Double = seconds, while condition: () throws -> Bool
  ) rethrows -> Bool {
    let end = Date().addingTimeInterval(seconds)
    while try condition() {
      guard Date() < end else { return false }
      usleep(5000)
    }
    return true
  }
}
