package import EventLoop

/// Joins a multi handle to an event loop: sockets, deadlines, completions. On the loop's thread only.
package final class CurlTransport: DescriptorHandler {
  package let multi: MultiHandle
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var timerDeadline: ContinuousClock.Instant?
  /// Called after libcurl acted, where transfers ended.
  package var onCompletion: ((MultiHandle.Completion) -> Void)?

  package init(loop: EventLoop, multiplexing: Bool, maximumIdleConnections: Int) throws(CurlError) {
    self.loop = loop
    multi = try MultiHandle(multiplexing: multiplexing, maximumIdleConnections: maximumIdleConnections)
  }

  package func add(_ easy: EasyHandle) throws(CurlError) {
    try multi.add(easy)
    settle()
  }

  package func remove(_ easy: EasyHandle) {
    multi.remove(easy)
    settle()
  }

  package func setPaused(_ easy: EasyHandle, _ directions: FlowDirections) {
    easy.setPaused(directions)
    settle()
  }

  package func close() {
    multi.close()
    settle()
    if let timer { loop.cancel(timer) }
    onCompletion = nil
  }

  package func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    multi.perform(
      descriptor, readable: readiness.contains(.readable), writable: readiness.contains(.writable),
      failed: readiness.contains(.failed))
    settle()
  }

  /// Acts on what libcurl recorded: sockets to watch, the next deadline, transfers that ended.
  private func settle() {
    for change in multi.takeSocketChanges() {
      switch change {
      case .watch(let descriptor, let readable, let writable):
        var interest: Readiness = []
        if readable { interest.insert(.readable) }
        if writable { interest.insert(.writable) }
        loop.watch(descriptor, for: interest, handler: self)
      case .closed(let descriptor): loop.forgetClosed(descriptor)
      }
    }
    for completion in multi.takeCompletions() { onCompletion?(completion) }
    rearm()
  }

  /// libcurl moves its deadline often and mostly later: a timer that is already due early enough may stay.
  private func rearm() {
    guard let deadline = multi.deadline else { return }
    if let timerDeadline, timerDeadline <= deadline, timer != nil { return }
    if let timer { loop.cancel(timer) }
    timerDeadline = deadline
    timer = loop.schedule(at: deadline) { [weak self] in self?.timerFired() }
  }

  private func timerFired() {
    timer = nil
    if let deadline = multi.deadline, deadline <= .now {
      multi.performTimeouts()
      settle()
    } else {
      rearm()
    }
  }
}
