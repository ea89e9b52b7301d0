internal import Limits
internal import TransferModel

/// The state of one transfer and its next action. Pure: the handle, the queue and the disk belong to the stages.
struct TransferLifecycle: Equatable {
  /// The end of the request on the wire, before the transfer's end.
  struct WireEnd: Equatable { let error: TransferError? }
  /// The end of the transfer.
  struct Ending: Equatable {
    let error: TransferError
    /// Whether to keep usable bytes.
    let keepsPartial: Bool
  }

  /// The maximum number of bytes of an unneeded response that are read so that its connection can be used again.
  static let discardLimit = Int64(Limits.discardedBytes.value)

  private(set) var state = TransferState.offWire(nil)
  /// The request to send when the wire is free, such as a redirect's.
  private(set) var next: TransferRequest?
  private(set) var wireEnd: WireEnd?
  /// The end of a transfer that waits until its files are open.
  private(set) var pendingEnd: Ending?
  /// Whether the transfer leaves the wire and refuses all further bytes.
  private(set) var isLeaving = false
  /// Whether the cache is ignored because the stored response was useless for this request.
  private(set) var ignoresCache = false
  private var resendsWithoutCache = false
  private var discarded: Int64 = 0
  /// The reasons for which bytes do not move.
  var flow = FlowControl()

  /// Whether the transfer is off the wire, not waiting and not suspended.
  var isFree: Bool { state == .offWire(nil) && !flow.isSuspended }
  var waitReason: TransferState.WaitReason? { state.waitReason }

  // MARK: From state to state

  /// Takes the transfer off the wire or out of the queue. Its reason to wait stays.
  mutating func park() {
    assert(!state.isFinishing)
    state = .offWire(waitReason)
  }

  /// Takes the transfer off the wire until its reason to wait has passed.
  mutating func wait(for hold: TransferState.WaitReason) {
    assert(!state.isFinishing)
    state = .offWire(hold)
  }

  /// Makes the transfer wait in its present state.
  mutating func pause(for hold: TransferState.WaitReason) {
    state.waitReason = hold
    if hold == .response || hold == .parts { flow.receive.insert(.decision) }
  }

  /// Queues the transfer. Returns `false` if the transfer is suspended; it then stays parked.
  mutating func queue() -> Bool {
    assert(state == .offWire(nil))
    guard !flow.isSuspended else { return false }
    state = .queued
    return true
  }

  mutating func enterWire() {
    assert((state == .offWire(nil) || state.isQueued) && next == nil)
    state = .onWire(nil)
  }

  /// Refuses all further bytes from the wire.
  mutating func discardRest() { isLeaving = true }

  /// Marks the transfer as finishing. Later answers and files have no effect.
  mutating func finish() {
    assert(!state.isFinishing)
    state = .finishing
  }

  /// Takes back the end of a transfer whose body must be fetched again.
  mutating func restart() {
    assert(state.isFinishing)
    state = .offWire(nil)
  }

  // MARK: Reasons to wait

  /// Ends a wait. Returns `false` if the transfer does not wait for that reason.
  mutating func stopWaiting(for hold: TransferState.WaitReason) -> Bool {
    guard self.waitReason == hold else { return false }
    state.waitReason = nil
    return true
  }

  /// Ends the wait for a decision.
  mutating func decisionReceived() {
    state.waitReason = nil
    flow.receive.remove(.decision)
  }

  /// Ends the wait in a handshake. Returns `false` if the transfer does not wait in one.
  mutating func endHandshake() -> Bool {
    guard waitReason?.isInHandshake == true else { return false }
    state.waitReason = nil
    return true
  }

  /// Sends the request that waited for its files or token. A suspended transfer gives up its slot instead.
  mutating func sendWhenReady() -> TransferAction {
    decisionReceived()
    return flow.isSuspended ? .leaveQueue : .send
  }

  // MARK: The next action

  /// Sets the request to send when the wire is free.
  mutating func send(_ request: TransferRequest) { next = request }

  /// Sends the request as if nothing were cached, because the stored response cannot be read, confirmed or completed.
  mutating func sendWithoutCache(_ request: TransferRequest) {
    resendsWithoutCache = true
    next = request
  }

  /// Resets the state of the last request before the next is sent.
  mutating func prepare() {
    next = nil
    (ignoresCache, resendsWithoutCache) = (resendsWithoutCache, false)
    discardResponse()
    // The body that the last request waited for is not the next request's.
    flow.send.remove(.source)
  }

  mutating func discardResponse() { (wireEnd, isLeaving, discarded) = (nil, false, 0) }

  /// Records the end of the request. The remaining events of the wire do not change it.
  mutating func endWire(_ error: TransferError?) { wireEnd = WireEnd(error: error) }

  /// Returns the next action of a transfer that is off the wire.
  /// - Parameter hasDelivery: Whether a cached response answers the request.
  func step(hasDelivery: Bool) -> TransferAction {
    guard waitReason == nil, !flow.isSuspended else { return .wait }
    if let next { return .sendNext(next) }
    if hasDelivery { return .deliver }
    return wireEnd.map { .settle($0.error) } ?? .queue
  }

  // MARK: Bytes

  /// The next action when the transfer may continue: libcurl continues, or the transfer takes its next step if libcurl is done.
  var move: TransferAction {
    switch state {
    case .onWire: .applyFlow
    case .offWire: .proceed
    case .queued, .finishing: .wait
    }
  }

  /// - Returns: `nil` if the transfer is suspended already or is finishing.
  mutating func suspend() -> TransferAction? {
    guard !flow.isSuspended, !state.isFinishing else { return nil }
    flow.suspend()
    switch state {
    case .onWire: return .applyFlow
    case .queued:
      state = .offWire(nil)
      return .leaveQueue
    case .offWire, .finishing: return .wait
    }
  }

  /// - Returns: `nil` if the transfer was not suspended.
  mutating func resume() -> TransferAction? {
    guard flow.isSuspended else { return nil }
    flow.resume()
    return move
  }

  /// Returns the reasons to pause receiving.
  /// - Parameters:
  ///   - size: The number of received bytes.
  ///   - isFull: Whether the disk or a reader of the live body is too slow.
  func reasonsToWait(size: Int64, isFull: Bool) -> FlowControl.Reasons {
    var reasons: FlowControl.Reasons = []
    if waitReason?.keepsBody == true, size >= Self.discardLimit { reasons.insert(.decision) }
    if isFull { reasons.insert(.downstream) }
    return reasons
  }

  /// Counts unneeded bytes, such as a redirect's body. Returns `false` if they exceed the limit, so that closing the connection is
  /// cheaper.
  mutating func discard(_ count: Int) -> Bool {
    discarded += Int64(count)
    return discarded <= Self.discardLimit
  }

  // MARK: Ending

  /// The action that ends a transfer whose end waited for its files.
  var endOnceOpened: TransferAction? {
    pendingEnd.map { .finish($0.error, keepsPartial: $0.keepsPartial) }
  }

  enum AbortTiming: Equatable {
    case now
    /// The end waits until the transfer's files are open.
    case later
    /// The transfer is ending already.
    case never
  }

  /// Returns when an early end takes place.
  mutating func abort(_ ending: Ending) -> AbortTiming {
    guard !state.isFinishing else { return .never }
    guard waitReason != .files else {
      pendingEnd = pendingEnd ?? ending
      return .later
    }
    return .now
  }
}
