import Dispatch
import EventLoop
import Synchronization
package import Testing

/// Gives each test a thread of its own: tests that wait on sockets would otherwise hold the few threads that the
/// code under test needs.
package struct BlockingTrait: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    // A suite waits for its tests: it must not take the place of one.
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

/// So many such tests run at once: each has processes of its own, and all of them together would starve each other until
/// clocks run out.
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

/// Waits for the result of something asynchronous. For tests that are `.blocking`. The time limit only ends a test that hangs: on a busy machine,
/// tests that compute for long may hold Swift's few threads for a minute.
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

/// A thread for every job.
private final class ThreadExecutor: TaskExecutor {
  static let shared = ThreadExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread.spawn(name: "test") { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
