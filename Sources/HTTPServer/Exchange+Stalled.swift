internal import CMicroHTTPD
internal import CLinux
internal import Glibc

/// Replies that bypass libmicrohttpd because it accepts none, and the end of stalled connections. All functions run on the loop.
extension Exchange {
  // MARK: A reply before the end of the request

  /// Writes a short reply that is ready before the end of the body directly to the socket, because libmicrohttpd accepts none there. The
  /// connection then ends. The client may be one that sends its whole body before it reads, or one that waits for the reply.
  func answerEarly(_ now: ContinuousClock.Instant) {
    guard phase == .body, let response = channel.reply else { return }
    readySince = readySince ?? now
    let rest = length.map { $0 - received } ?? .max
    guard rest > Self.discardableLength || now - (readySince ?? now) >= Self.discardTimeout,
      let short = RawReply(response)
    else { return }
    replyAndClose(short)
  }

  /// Refuses a body that the client sends too slowly.
  func giveUpIfLate(_ now: ContinuousClock.Instant) {
    guard phase == .body, let fault = clock.fault(timeouts, now) else { return }
    replyAndClose(RawReply(daemon.limits.refusal(fault)))
  }

  private func replyAndClose(_ reply: RawReply?) {
    let descriptor = cmhd_descriptor(connection)
    reply?.write(to: descriptor)
    // Only the sending side is shut down. Otherwise a reset would answer the client's next bytes and overtake the reply.
    shutdown(descriptor, Int32(SHUT_WR))
    closesWithUnreadBytes = true
    phase = .replying
    clientLeft = true  // The next bytes, or a second without any, end the connection.
    cmhd_set_timeout(connection, 1)
    resume()
  }

  // MARK: Oversized chunks

  private var isReadingChunks: Bool { phase == .body && length == nil && !isSuspended }

  /// Whether the exchange waits for chunks and libmicrohttpd has delivered none since the last call of this function.
  func isSilent() -> Bool {
    guard isReadingChunks else { return false }
    defer { callsBefore = calls }
    return callsBefore == calls
  }

  func retryStalled() {
    suspend()
    resume()
  }

  /// Whether `retryStalled` and a run had no effect, and libmicrohttpd does not wait for the socket.
  func isStalled(in daemon: OpaquePointer) -> Bool {
    isReadingChunks && callsBefore == calls && cmhd_epoll_contains(daemon, cmhd_descriptor(connection)) == 0
  }

  /// Refuses the rest of the request and makes libmicrohttpd see the end of the connection.
  func cut(with fault: RequestFault, in daemon: OpaquePointer) {
    RawReply(self.daemon.limits.refusal(fault))?.write(to: cmhd_descriptor(connection))
    phase = .replying
    self.daemon.cut(connection, in: daemon)
  }
}
