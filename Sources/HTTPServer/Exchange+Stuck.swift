internal import CMicroHTTPD
internal import CLinux
internal import Glibc

/// Where libmicrohttpd takes no reply, or cannot go on. On the loop.
extension Exchange {
  // MARK: A reply before the request's end

  /// Gives a short reply that is ready before the end of the body past libmicrohttpd, which would take none, and lets that give the
  /// connection up. The client may be one that writes all before it reads, or one that has more to say only after the reply.
  func answerEarly(_ now: ContinuousClock.Instant) {
    guard phase == .body, let response = meeting.reply else { return }
    readySince = readySince ?? now
    let rest = length.map { $0 - received } ?? .max
    guard rest > Self.discardableLength || now - (readySince ?? now) >= Self.restPatience,
      let short = RawReply(response)
    else { return }
    giveUp(short)
  }

  /// Refuses a body for which the client has taken more time than it has.
  func giveUpIfLate(_ now: ContinuousClock.Instant) {
    guard phase == .body, let fault = clock.fault(timeouts, now) else { return }
    giveUp(RawReply(daemon.limits.refusal(fault)))
  }

  private func giveUp(_ reply: RawReply?) {
    let descriptor = cmhd_descriptor(connection)
    reply?.write(to: descriptor)
    // Only this way: what still comes would be answered by a reset that overtakes the reply.
    shutdown(descriptor, Int32(SHUT_WR))
    leavesBytes = true
    phase = .replying
    clientLeft = true  // The next bytes, or a second without any, end the connection.
    cmhd_set_timeout(connection, 1)
    resume()
  }

  // MARK: Chunks that do not fit

  private var isReadingChunks: Bool { phase == .body && length == nil && !isSuspended }

  /// It waits for chunks and libmicrohttpd has given none since this was asked last.
  func isSilent() -> Bool {
    guard isReadingChunks else { return false }
    defer { callsBefore = calls }
    return callsBefore == calls
  }

  func tryOnceMore() {
    suspend()
    resume()
  }

  /// After `tryOnceMore` and a run: nothing came of it, and nothing is waited for.
  func isStalled(in daemon: OpaquePointer) -> Bool {
    isReadingChunks && callsBefore == calls && cmhd_awaits(daemon, cmhd_descriptor(connection)) == 0
  }

  /// Refuses the rest of the request, and has libmicrohttpd see the end of the connection.
  func cut(with fault: RequestFault, in daemon: OpaquePointer) {
    RawReply(self.daemon.limits.refusal(fault))?.write(to: cmhd_descriptor(connection))
    phase = .replying
    self.daemon.cut(connection, in: daemon)
  }
}
