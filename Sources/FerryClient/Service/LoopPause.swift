internal import EventLoop

/// A pause on an event loop. Unlike a sleeping task, a cancelled pause leaves no timer.
final class LoopPause: @unchecked Sendable {
  // Unchecked: mutable state belongs to the loop's thread.
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var continuation: CheckedContinuation<Bool, Never>?
  private var isCancelled = false

  init(on loop: EventLoop) { self.loop = loop }

  /// Returns after the duration, and throws at once if the task is cancelled.
  func wait(_ duration: Duration) async throws(ServiceError) {
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
        loop.perform { [self] in
          guard !isCancelled else { return continuation.resume(returning: false) }
          self.continuation = continuation
          timer = loop.schedule(at: .now + duration) { [self] in end(true) }
        }
      }
    } onCancel: {
      loop.perform { [self] in
        isCancelled = true
        if let timer { loop.cancel(timer) }
        end(false)
      }
    }
    guard isOver else { throw .cancelled }
  }

  private func end(_ isOver: Bool) {
    timer = nil
    continuation?.resume(returning: isOver)
    continuation = nil
  }
}
