import EventLoop
package import Testing

/// Gives each test a thread of its own: tests that wait on sockets would otherwise hold the few threads that the
/// code under test needs.
package struct BlockingTrait: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(ThreadExecutor.shared) { try await function() }
  }
}

extension Trait where Self == BlockingTrait {
  package static var blocking: Self { Self() }
}

/// A thread for every job.
private final class ThreadExecutor: TaskExecutor {
  static let shared = ThreadExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread.spawn(name: "test") { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
