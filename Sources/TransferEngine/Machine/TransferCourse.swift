internal import Limits
internal import TransferModel

/// Where one transfer is, and what comes next. Pure: the handle, the queue and the disk are the worker's.
struct TransferCourse: Equatable {
  /// How the wire ended before the transfer did.
  struct WireEnd: Equatable { let error: TransferError? }
  /// How the transfer ends.
  struct Ending: Equatable {
    let error: TransferError
    /// What can be kept is kept.
    let keepsPartial: Bool
  }

  /// The bytes of a redirect's answer that are read so that its connection can be used again.
  static let discardLimit = Int64(Limits.discardedBytes.value)

  private(set) var state = TransferState.parked(nil)
  /// What is sent once the wire is free: a redirect's request.
  private(set) var next: TransferRequest?
  private(set) var wireEnd: WireEnd?
  /// It is over, as soon as what is being opened for it is here.
  private(set) var endsOnceOpened: Ending?
  /// The wire is being left: nothing that still comes is wanted.
  private(set) var isLeaving = false
  /// What is stored was of no use to this request.
  private(set) var ignoresCache = false
  private var resendsWithoutCache = false
  private var discarded: Int64 = 0
  /// Why bytes do not move.
  var flow = FlowControl()

  /// It is off the wire, and nothing keeps it from going on.
  var isFree: Bool { state == .parked(nil) && !flow.isSuspended }
  var hold: TransferState.WaitReason? { state.hold }

  // MARK: From state to state

  /// Off the wire, or out of the queue. What it waits for stays.
  mutating func park() {
    assert(!state.isFinishing)
    state = .parked(hold)
  }

  /// Off the wire until that is there.
  mutating func wait(for hold: TransferState.WaitReason) {
    assert(!state.isFinishing)
    state = .parked(hold)
  }

  /// Waits where it is.
  mutating func pause(for hold: TransferState.WaitReason) {
    state.hold = hold
    if hold == .response || hold == .parts { flow.receive.insert(.decision) }
  }

  /// It would be sent. False where it is suspended, and is not put into the queue.
  mutating func queue() -> Bool {
    assert(state == .parked(nil))
    guard !flow.isSuspended else { return false }
    state = .queued
    return true
  }

  mutating func goOnWire() {
    assert((state == .parked(nil) || state.isQueued) && next == nil)
    state = .onWire(nil)
  }

  /// Nothing that still comes from the wire is wanted.
  mutating func leave() { isLeaving = true }

  /// The wire is done with the task. What is still answered, or becomes ready, comes too late.
  mutating func finish() {
    assert(!state.isFinishing)
    state = .finishing
  }

  // MARK: What it waits for

  /// That is there now. False where it does not wait for it.
  mutating func stopWaiting(for hold: TransferState.WaitReason) -> Bool {
    guard self.hold == hold else { return false }
    state.hold = nil
    return true
  }

  /// Whoever was asked has answered.
  mutating func decided() {
    state.hold = nil
    flow.receive.remove(.decision)
  }

  /// Its handshake is decided, or has lost its meaning. False where none is held.
  mutating func endHandshake() -> Bool {
    guard hold?.isInHandshake == true else { return false }
    state.hold = nil
    return true
  }

  /// The files or the token are ready: sends the request. If suspended, it gives up its slot.
  mutating func sendAtLast() -> TransferAction {
    decided()
    return flow.isSuspended ? .leaveQueue : .send
  }

  // MARK: What comes next

  /// What the answer says, or the delegate, leads to another request, which goes out when the wire is free.
  mutating func send(_ request: TransferRequest) { next = request }

  /// What is stored cannot be read, confirmed or completed: the request goes out as if there were nothing.
  mutating func sendWithoutCache(_ request: TransferRequest) {
    resendsWithoutCache = true
    next = request
  }

  /// The request that was to come next is the one that goes out.
  mutating func prepare() {
    next = nil
    (ignoresCache, resendsWithoutCache) = (resendsWithoutCache, false)
    forgetAnswer()
    // The body that the next request waits for is another one.
    flow.send.remove(.source)
  }

  mutating func forgetAnswer() { (wireEnd, isLeaving, discarded) = (nil, false, 0) }

  /// However the rest goes: the request has come to this.
  mutating func endWire(_ error: TransferError?) { wireEnd = WireEnd(error: error) }

  /// What follows, off the wire.
  /// - Parameter hasDelivery: something stored answers.
  func step(hasDelivery: Bool) -> TransferAction {
    guard hold == nil, !flow.isSuspended else { return .wait }
    if let next { return .sendNext(next) }
    if hasDelivery { return .deliver }
    return wireEnd.map { .settle($0.error) } ?? .queue
  }

  // MARK: Bytes

  /// After an answer, or when it is resumed: libcurl goes on, or what libcurl has ended already.
  var move: TransferAction {
    switch state {
    case .onWire: .applyFlow
    case .parked: .proceed
    case .queued, .finishing: .wait
    }
  }

  /// - Returns: nil where it is suspended already, or has nothing left to suspend.
  mutating func suspend() -> TransferAction? {
    guard !flow.isSuspended, !state.isFinishing else { return nil }
    flow.suspend()
    switch state {
    case .onWire: return .applyFlow
    case .queued:
      state = .parked(nil)
      return .leaveQueue
    case .parked, .finishing: return .wait
    }
  }

  /// - Returns: nil where it was not suspended.
  mutating func resume() -> TransferAction? {
    guard flow.isSuspended else { return nil }
    flow.resume()
    return move
  }

  /// Why nobody can take more of the body now.
  /// - Parameters:
  ///   - size: of what has come.
  ///   - isFull: the disk, or whoever reads along, is behind.
  func reasonsToWait(size: Int64, isFull: Bool) -> FlowControl.Reasons {
    var reasons: FlowControl.Reasons = []
    if hold?.keepsBody == true, size >= Self.discardLimit { reasons.insert(.decision) }
    if isFull { reasons.insert(.downstream) }
    return reasons
  }

  /// Bytes have come that nobody wants, such as a redirect's body. False where so many have that its connection is not worth it.
  mutating func discard(_ count: Int) -> Bool {
    discarded += Int64(count)
    return discarded <= Self.discardLimit
  }

  // MARK: Ending

  /// How the transfer ends if it was ended while its files were opened.
  var endOnceOpened: TransferAction? {
    endsOnceOpened.map { .finish($0.error, keepsPartial: $0.keepsPartial) }
  }

  enum EndVerdict: Equatable {
    case now
    /// What is being opened for it comes first.
    case later
    /// It is ending already.
    case never
  }

  /// Something ends it before its time.
  mutating func abort(_ ending: Ending) -> EndVerdict {
    guard !state.isFinishing else { return .never }
    guard hold != .files else {
      endsOnceOpened = endsOnceOpened ?? ending
      return .later
    }
    return .now
  }
}
