import Dispatch
import Synchronization

/// Holds a thread, of an origin mostly, until the test lets it go on.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let isOpenForGood = Atomic(false)

  package init() {}

  /// Lets one `wait()` pass, now or later.
  package func open() { semaphore.signal() }

  /// Lets all pass from now on.
  package func openForGood() {
    isOpenForGood.store(true, ordering: .sequentiallyConsistent)
    semaphore.signal()
  }

  /// Waits for one `open()`; returns whether it came. By default it waits for as long as no test takes: where a busy machine is
  /// slower than the limit, an origin would go on by itself, and the test would see another order of things.
  @discardableResult package func wait(seconds: Double = 300) -> Bool {
    guard semaphore.wait(timeout: .now() + seconds) == .success else { return false }
    if isOpenForGood.load(ordering: .sequentiallyConsistent) { semaphore.signal() }
    return true
  }
}
