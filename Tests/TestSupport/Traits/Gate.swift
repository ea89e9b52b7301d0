import Dispatch
import Synchronization

/// A gate at which a thread, usually of an origin, waits for the test.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let isOpenForGood = Atomic(false)

  package init() {}

  /// Lets one `wait()` pass, now or later.
  package func open() { semaphore.signal() }

  /// Lets every `wait()` pass from now on.
  package func openForGood() {
    isOpenForGood.store(true, ordering: .sequentiallyConsistent)
    semaphore.signal()
  }

  /// Waits for one `open()`. Returns false after the time limit.
  ///
  /// The default exceeds the duration of any test. With a shorter limit, an origin on a busy machine would
  /// continue too early and change the order of events.
  @discardableResult package func wait(seconds: Double = 300) -> Bool {
    guard semaphore.wait(timeout: .now() + seconds) == .success else { return false }
    if isOpenForGood.load(ordering: .sequentiallyConsistent) { semaphore.signal() }
    return true
  }
}
