internal import CLinux
internal import Glibc
internal import Synchronization

/// A few threads for blocking work, mainly on disks. Event loops submit work here and receive results in their inbox.
package final class ThreadPool: Sendable {
  private struct Queue {
    var work: [@Sendable () -> Void] = []
    var head = 0
    var isStopped = false
  }
  private final class Condition: @unchecked Sendable {
    // Unchecked: a POSIX mutex and condition may be shared, and `queue` is used only under the mutex.
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    let isNotEmpty = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    var queue = Queue()
    init() {
      pthread_mutex_init(mutex, nil)
      pthread_cond_init(isNotEmpty, nil)
    }
    deinit {
      pthread_cond_destroy(isNotEmpty)
      pthread_mutex_destroy(mutex)
      isNotEmpty.deallocate()
      mutex.deallocate()
    }
    func withLock<T>(_ body: (inout Queue) -> T) -> T {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return body(&queue)
    }
  }
  private let condition = Condition()
  private let isImmediate: Bool

  /// Starts the threads.
  /// - Parameter threads: the number of threads. With 0, `submit` runs the work at once, which suits work that never waits.
  package init(name: String, threads: Int) {
    isImmediate = threads == 0
    let condition = condition
    for _ in 0..<threads { POSIXThread.spawn(name: name) { Self.run(condition) } }
  }

  /// Runs `work` on one of the threads and returns its result.
  package func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      submit { continuation.resume(returning: work()) }
    }
  }

  /// Runs `work` on one of the threads. A single thread keeps the order of the calls.
  package func submit(_ work: @escaping @Sendable () -> Void) {
    guard !isImmediate else { return work() }
    condition.withLock { $0.work.append(work) }
    pthread_cond_signal(condition.isNotEmpty)
  }

  /// Ends the threads when the queue is empty.
  package func stop() {
    condition.withLock { $0.isStopped = true }
    pthread_cond_broadcast(condition.isNotEmpty)
  }

  private static func run(_ condition: Condition) {
    while true {
      pthread_mutex_lock(condition.mutex)
      while condition.queue.head == condition.queue.work.count, !condition.queue.isStopped {
        pthread_cond_wait(condition.isNotEmpty, condition.mutex)
      }
      guard condition.queue.head < condition.queue.work.count else {
        pthread_mutex_unlock(condition.mutex)
        return
      }
      let work = condition.queue.work[condition.queue.head]
      condition.queue.work[condition.queue.head] = {}
      condition.queue.head += 1
      if condition.queue.head == condition.queue.work.count || condition.queue.head > 1024 {
        condition.queue.work.removeFirst(condition.queue.head)
        condition.queue.head = 0
      }
      pthread_mutex_unlock(condition.mutex)
      work()
    }
  }
}
