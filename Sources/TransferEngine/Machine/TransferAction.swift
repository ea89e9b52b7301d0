internal import HTTPCache
internal import TransferModel

/// What is done next for a transfer. Machines and stages return it; `TransferWorker.perform` carries it out, so that no stage calls
/// another one that comes after it.
enum TransferAction: Equatable {
  /// Nothing, until something else happens.
  case wait

  // MARK: Requests
  /// Off the wire, with nothing left to wait for: `TransferCourse.step` says what is next.
  case proceed
  /// The next request is queued.
  case queue
  /// The request's turn has come, or it goes on with the slot that it has.
  case send
  /// - Parameter connectsFirst: the body may wait for the challenges of its connection.
  case sendNext(TransferRequest, connectsFirst: Bool)
  /// The same request is sent as if nothing were cached.
  case sendWithoutCache
  /// The client is asked for the request's body.
  case askForBody
  /// The request is sent again once there is a network.
  case waitForNetwork
  /// The slot is given to another transfer.
  case leaveQueue
  /// libcurl is paused, or goes on, as `FlowControl` says.
  case applyFlow

  // MARK: The cache
  /// The next bytes of a cached response are handed on.
  case deliver
  /// A cached response answers the request.
  case serve(CachedResponse)
  /// A cached response answers in place of what the wire has brought.
  case serveInstead(CachedResponse)
  /// A cached part and the part that has come are put together.
  /// - Parameter error: how the wire ended.
  case join(CachedResponse, error: TransferError?)

  // MARK: The end
  /// The wire is done: the answer may be stored, and the task ends.
  /// - Parameter error: how the wire ended.
  case settle(TransferError?)
  /// The task ends. Its body may still be on its way to the disk.
  /// - Parameter keepsPartial: what a later task can go on from is kept.
  case finish(TransferError?, keepsPartial: Bool)
  /// The task ends before its time, on the wire or off it.
  case abort(TransferError, keepsPartial: Bool)
  /// Nothing of it is left to do: its end is told.
  case conclude

  static func finish(_ error: TransferError?) -> TransferAction { .finish(error, keepsPartial: true) }
  static func abort(_ error: TransferError) -> TransferAction { .abort(error, keepsPartial: true) }
  static func sendNext(_ request: TransferRequest) -> TransferAction {
    .sendNext(request, connectsFirst: true)
  }
}
