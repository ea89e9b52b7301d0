internal import Curl
internal import TransferModel

/// The clocks of a transfer.
extension Transfer {
  var idleTimeout: Duration {
    .seconds(request.timeoutInterval ?? job.configuration.timeoutIntervalForRequest)
  }

  /// Why it must end now, where a clock ran out. A suspended task has no timeouts; and while it is not the origin that
  /// everything waits for, the origin is not idle.
  func timeout(at now: ContinuousClock.Instant) -> TransferError? {
    guard !flow.isSuspended, stage != .finishing else { return nil }
    if now >= resourceDeadline {
      return TransferError(.timedOut, "timeoutIntervalForResource has passed", failingURL: request.url)
    }
    // What is left of a redirect's answer has a limit of its own, after which the next request goes out.
    guard stage == .onWire, hold == nil, cutAt == nil, isFlowing || waitsForClient,
      now - lastActivity >= idleTimeout, isPastConnect || session.heldHandshakes == 0
    else { return nil }
    return TransferError(
      .timedOut,
      isFlowing
        ? "no byte moved for timeoutIntervalForRequest"
        : "no byte of the body came for timeoutIntervalForRequest",
      failingURL: request.url,
      underlying: .init(library: "libcurl", code: CurlResult.operationTimedOut.code))
  }

  private var isFlowing: Bool { flow.directions.isEmpty }
  /// A stream's client has more to send, and does not.
  private var waitsForClient: Bool {
    flow.receive.isEmpty && flow.send == .source && source is UploadStream
  }
}
