internal import Synchronization

/// Where a request's handler, which runs anywhere, meets its exchange, which lives on a loop: the body goes one way, the reply the other.
struct HandlerMeeting: ~Copyable, Sendable {
  /// What becomes of bytes that have come.
  enum Taking { case taken, full, unwanted }
  struct State {
    var response: ServerResponse?
    /// The handler asked for the body.
    var wantsBody = false
    var inbound: [UInt8] = []
    var hasEnded = false
    var hasFailed = false
    /// Seconds for which the client may be silent, where the handler grants it more than others have.
    var silence = 0
    /// The handler reads no further.
    var isStopped = false
    var reader: CheckedContinuation<[UInt8]?, Never>?

    mutating func deliver(_ chunk: [UInt8]?) {
      reader?.resume(returning: chunk)
      reader = nil
    }
  }

  private static let inboundHighWater = 256 * 1024
  private let state = Mutex(State())

  // MARK: The handler's side

  /// What the handler said, where it has.
  var reply: ServerResponse? { state.withLock { $0.response } }

  func answer(_ response: ServerResponse) { state.withLock { $0.response = response } }

  /// Asks for the next bytes: `reader` gets them, or nil at the end, now or when they are there.
  /// - Returns: whether the exchange is to go on: it has waited for somebody to want the body, or for room.
  func read(_ reader: CheckedContinuation<[UInt8]?, Never>) -> Bool {
    let (ready, mustGoOn): ([UInt8]??, Bool) = state.withLock { state in
      let isFirst = !state.wantsBody
      state.wantsBody = true
      if !state.inbound.isEmpty {
        defer { state.inbound = [] }
        let wasFull = state.inbound.count >= Self.inboundHighWater
        return (.some(state.inbound), wasFull || isFirst && !state.hasEnded)
      }
      if state.hasEnded || state.hasFailed || state.isStopped { return (.some(nil), false) }
      state.reader = reader
      return (nil, isFirst)
    }
    if let ready { reader.resume(returning: ready) }
    return mustGoOn
  }

  /// The client left before the end.
  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  func allowSilence(seconds: Int) { state.withLock { $0.silence = seconds } }

  func stopReading() {
    state.withLock { state in
      state.isStopped = true
      state.deliver(nil)
    }
  }

  // MARK: The loop's side

  var silence: Int { state.withLock { $0.silence } }

  /// What the handler has come to so far.
  var progress: (isAnswered: Bool, wantsBody: Bool) { state.withLock { ($0.response != nil, $0.wantsBody) } }

  /// Takes all of the bytes, or none of them.
  func take(_ bytes: UnsafeRawBufferPointer) -> Taking {
    state.withLock { state in
      if state.response != nil { return .unwanted }
      guard state.inbound.count < Self.inboundHighWater else { return .full }
      if state.reader != nil {
        state.deliver(Array(bytes))
      } else {
        state.inbound.append(contentsOf: bytes)
      }
      return .taken
    }
  }

  /// The body is whole.
  func endBody() {
    state.withLock { state in
      state.hasEnded = true
      if state.inbound.isEmpty { state.deliver(nil) }
    }
  }

  /// The request is over: of a body that is not whole, no more comes.
  func end() {
    state.withLock { state in
      state.hasFailed = !state.hasEnded
      state.deliver(nil)
    }
  }
}
