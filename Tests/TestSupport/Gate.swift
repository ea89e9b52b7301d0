import Dispatch

/// Holds a thread, of an origin mostly, until the test lets it go on.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  /// Lets one `wait()` pass, now or later.
  package func open() { semaphore.signal() }

  /// Waits for one `open()`, at most 20 s; returns whether it came.
  @discardableResult package func wait(seconds: Double = 20) -> Bool {
    semaphore.wait(timeout: .now() + seconds) == .success
  }
}
