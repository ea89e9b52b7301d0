package import EventLoop

/// Joins a multi handle to an event loop: sockets, deadlines, completions. On the loop's thread only.
package final class CurlTransport: DescriptorHandler {
  package let multi: MultiHandle
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var timerDeadline: ContinuousClock.Instant?
  /// Called after libcurl acted, where transfers ended.
  package var onCompletion: ((MultiHandle.Completion) -> Void)?
  /// Called after libcurl acted, where a TLS handshake waits for `TLSHandshake.decide` and `wake`.
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

  /// Lets a handshake go on that was decided. `directions` are held from then on.
  package func wake(_ easy: EasyHandle, holding directions: FlowDirections) {
    easy.wake()
    if !directions.isEmpty { easy.setPaused(directions) }
    settle()
  }

  /// Leaves a transfer whose handshake was held and is refused now. It ends by itself: OpenSSL never frees what belongs to
  /// a job that is dropped while it pauses.
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

  /// Closes as soon as the transfers that were abandoned have ended.
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

  /// Acts on what libcurl recorded: sockets to watch, the next deadline, transfers that ended.
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
    for easy in multi.takeRefused() { easy.wake() }
    let completions = multi.takeCompletions()
    // Taking them out may have closed sockets, whose numbers another transport may get next.
    watchSockets()
    // The last of them may close the transport.
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
      case .closed(let descriptor): loop.forgetClosed(descriptor)
      }
    }
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
