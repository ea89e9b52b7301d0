internal import EventLoop
internal import Synchronization

/// The order and the place of a session's delegate calls and completion handlers. It replaces `OperationQueue` of Apple's Foundation.
///
/// The calls run one after the other. A call must not wait for a later call of the same queue.
public final class FerryDelegateQueue: Sendable {
  /// One call.
  private struct Job: Sendable {
    let run: @Sendable () -> Void
  }
  private let jobs = Mutex(SerialDrain<Job>())
  private let actor: (any Actor)?

  /// The queue whose calls run on the main actor. `OperationQueue.main` in Apple's Foundation.
  public static let main = FerryDelegateQueue(actor: MainActor.shared)

  /// Creates a queue whose calls run on Swift's thread pool.
  public convenience init() { self.init(actor: nil) }

  /// Creates a queue whose calls run on an actor.
  public init(actor: (any Actor)?) { self.actor = actor }

  /// Adds a call, which runs after the earlier ones.
  public func addOperation(_ block: @escaping @Sendable () -> Void) {
    guard jobs.withLock({ $0.enqueue(Job(run: block)) }) else { return }
    Task { await drain() }
  }

  /// Waits until all earlier calls have returned. Ferry's own addition.
  public func drained() async {
    await withCheckedContinuation { continuation in addOperation { continuation.resume() } }
  }

  private func drain() async {
    while true {
      let next = jobs.withLock { $0.dequeueAll() }
      guard !next.isEmpty else { return }
      for job in next {
        if let actor { await Self.run(job, on: actor) } else { job.run() }
      }
    }
  }

  private static func run(_ job: Job, on actor: isolated any Actor) async { job.run() }
}
