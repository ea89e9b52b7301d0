import Dispatch
import EventLoop
import Synchronization
package import Testing

/// A trait that runs each test on a thread of its own. Tests that wait for sockets would otherwise block the few
/// threads of Swift's pool.
package struct BlockingTrait: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    // A suite waits for its tests, so it must not use one of their places.
    let isOfCase = testCase != nil
    if isOfCase { await Places.shared.enter() }
    do {
      try await withTaskExecutorPreference(ThreadExecutor.shared) { try await function() }
    } catch {
      if isOfCase { await Places.shared.leave() }
      throw error
    }
    if isOfCase { await Places.shared.leave() }
  }
}

extension Trait where Self == BlockingTrait {
  package static var blocking: Self { Self() }
}

/// The limit of concurrent tests. Each starts processes, and too many of them would slow each other down until
/// timeouts expire.
private actor Places {
  static let shared = Places()
  private var free = 16
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func enter() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}

/// Waits for the result of asynchronous work, in tests that are `.blocking`.
///
/// The time limit only ends tests that hang. On a busy machine, long computations may block Swift's threads for a
/// minute.
package func blocking<Value: Sendable>(
  _ work: @escaping @Sendable () async throws -> Value
) throws -> Value {
  let outcome = Outcome<Value>()
  Task.detached(executorPreference: ThreadExecutor.shared) {
    do {
      let value = try await work()
      outcome.result.withLock { $0 = .success(value) }
    } catch {
      outcome.result.withLock { $0 = .failure(error) }
    }
    outcome.isThere.signal()
  }
  guard outcome.isThere.wait(timeout: .now() + 300) == .success,
    let result = outcome.result.withLock({ $0 })
  else { throw Socket.Failure(operation: "the asynchronous work has not ended", errno: 0) }
  return try result.get()
}

private final class Outcome<Value: Sendable>: Sendable {
  let result = Mutex<Result<Value, any Error>?>(nil)
  let isThere = DispatchSemaphore(value: 0)
}

/// An executor that runs every job on a new thread.
private final class ThreadExecutor: TaskExecutor {
  static let shared = ThreadExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    POSIXThread.spawn(name: "test") { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
