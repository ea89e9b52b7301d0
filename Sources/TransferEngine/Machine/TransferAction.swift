internal import HTTPCache
internal import TransferModel

/// The next action for a transfer. Machines and stages return it; `TransferLoop.perform` carries it out, so that no stage calls a higher
/// one.
enum TransferAction: Equatable {
  /// Wait for the next event.
  case wait

  // MARK: Requests
  /// The transfer is off the wire: `TransferLifecycle.step` returns the next action.
  case proceed
  /// Queue the next request.
  case queue
  /// Send the request; the transfer has a slot.
  case send
  /// - Parameter connectsFirst: Whether the body may wait for the challenges of its connection.
  case sendNext(TransferRequest, connectsFirst: Bool)
  /// Send the same request as if nothing were cached.
  case sendWithoutCache
  /// Ask the client for the request's body.
  case askForBody
  /// Send the request again when there is a network.
  case waitForNetwork
  /// Give up the slot, or the place in the queue.
  case leaveQueue
  /// Pause or resume libcurl, as `FlowControl` says.
  case applyFlow

  // MARK: The cache
  /// Deliver the next bytes of a cached response.
  case deliver
  /// Answer the request with a cached response.
  case serve(CachedResponse)
  /// Answer with a cached response in place of the received one.
  case serveInstead(CachedResponse)
  /// Combine a cached part and the received part.
  /// - Parameter error: The error with which the request ended on the wire.
  case join(CachedResponse, error: TransferError?)

  // MARK: The end
  /// Cache the response if allowed, then end the task.
  /// - Parameter error: The error with which the request ended on the wire.
  case settle(TransferError?)
  /// End the task. Its body may still be on its way to the disk.
  /// - Parameter keepsPartial: Whether to keep the bytes for a later resume.
  case finish(TransferError?, keepsPartial: Bool)
  /// End the task early, on the wire or off it.
  case abort(TransferError, keepsPartial: Bool)
  /// The files are done: report the end.
  case conclude

  static func finish(_ error: TransferError?) -> TransferAction { .finish(error, keepsPartial: true) }
  static func abort(_ error: TransferError) -> TransferAction { .abort(error, keepsPartial: true) }
  static func sendNext(_ request: TransferRequest) -> TransferAction {
    .sendNext(request, connectsFirst: true)
  }
}
