package import EventLoop

/// Connects a multi handle to an event loop: sockets, deadlines, completions. Used on the loop's thread only.
package final class CurlTransport: DescriptorHandler {
  package let multi: MultiHandle
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var timerDeadline: ContinuousClock.Instant?
  /// Called after libcurl has returned, for each transfer that ended.
  package var onCompletion: ((MultiHandle.Completion) -> Void)?
  /// Called after libcurl has returned, for each TLS handshake that waits for `TLSHandshake.decide` and `wake`.
  package var onHandshake: ((CurlTransport, EasyHandle, TLSHandshake) -> Void)?
  private var closesWhenEmpty = false
  package private(set) var isClosed = false

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

  /// Continues a handshake that was decided, and pauses `directions`.
  package func wake(_ easy: EasyHandle, holding directions: FlowDirections) {
    easy.wake()
    if !directions.isEmpty { easy.setPaused(directions) }
    settle()
  }

  /// Abandons a transfer whose held handshake was refused. The transfer ends by itself: OpenSSL never frees the memory of a job that is
  /// dropped while it is paused.
  package func abandon(_ easy: EasyHandle) {
    easy.delegate = nil
    wake(easy, holding: [])
  }

  package func close() {
    guard !isClosed else { return }
    isClosed = true
    multi.close()
    settle()
    if let timer { loop.cancel(timer) }
    onCompletion = nil
    onHandshake = nil
  }

  /// Closes the transport when its last transfer has ended.
  package func closeWhenEmpty() {
    closesWhenEmpty = true
    if multi.isEmpty { close() }
  }

  package func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
    multi.perform(
      descriptor, readable: readiness.contains(.readable), writable: readiness.contains(.writable),
      failed: readiness.contains(.failed))
    settle()
  }

  /// Handles what libcurl recorded: sockets to watch, the next deadline, ended transfers.
  private func settle() {
    watchSockets()
    for (easy, handshake) in multi.takeHandshakes() {
      if let onHandshake {
        onHandshake(self, easy, handshake)
      } else {
        handshake.decide(.byDefault)
        wake(easy, holding: [])
      }
    }
    for easy in multi.takeRefusedHandles() { easy.wake() }
    let completions = multi.takeCompletions()
    // Removing transfers may have closed sockets whose numbers another transport may reuse.
    watchSockets()
    // The last completion may close the transport.
    let onCompletion = onCompletion
    for completion in completions { onCompletion?(completion) }
    if closesWhenEmpty, multi.isEmpty {
      closesWhenEmpty = false
      return close()
    }
    rearm()
  }

  private func watchSockets() {
    for change in multi.takeSocketChanges() {
      switch change {
      case .watch(let descriptor, let readable, let writable):
        var interest: Readiness = []
        if readable { interest.insert(.readable) }
        if writable { interest.insert(.writable) }
        loop.watch(descriptor, for: interest, handler: self)
      case .closed(let descriptor): loop.didClose(descriptor)
      }
    }
  }

  /// Sets the timer. libcurl moves its deadline often and mostly later, so a timer that is early enough stays.
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
