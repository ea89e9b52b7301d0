internal import Synchronization

/// The channel between a request's handler, which runs on any thread, and its exchange, which lives on a loop. The body passes one way
/// and the reply the other.
struct HandlerChannel: ~Copyable, Sendable {
  /// The result of offering received bytes to the handler.
  enum DeliveryResult { case taken, full, unwanted }
  struct State {
    var response: ServerResponse?
    /// Whether the handler asked for the body.
    var wantsBody = false
    var inbound: [UInt8] = []
    var hasEnded = false
    var hasFailed = false
    /// The seconds for which the client may be silent, if the handler allows more than the default.
    var silence = 0
    /// Whether the handler has stopped reading.
    var isStopped = false
    var reader: CheckedContinuation<[UInt8]?, Never>?

    mutating func deliver(_ chunk: [UInt8]?) {
      reader?.resume(returning: chunk)
      reader = nil
    }
  }

  private static let inboundHighWater = 256 * 1024
  private let state = Mutex(State())

  // MARK: Called by the handler

  /// The handler's reply; `nil` if there is none yet.
  var reply: ServerResponse? { state.withLock { $0.response } }

  func respond(_ response: ServerResponse) { state.withLock { $0.response = response } }

  /// Asks for the next bytes. `reader` receives them when they are available, or `nil` at the end.
  /// - Returns: whether the exchange must resume, because it waited for the first read or for room.
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

  /// Whether the client left before the end of the body.
  var hasFailed: Bool { state.withLock { $0.hasFailed } }

  func allowSilence(seconds: Int) { state.withLock { $0.silence = seconds } }

  func stopReading() {
    state.withLock { state in
      state.isStopped = true
      state.deliver(nil)
    }
  }

  // MARK: Called on the loop

  var silence: Int { state.withLock { $0.silence } }

  /// Whether the handler has replied, and whether it asked for the body.
  var progress: (isAnswered: Bool, wantsBody: Bool) { state.withLock { ($0.response != nil, $0.wantsBody) } }

  /// Accepts all of the bytes, or none of them.
  func enqueue(_ bytes: UnsafeRawBufferPointer) -> DeliveryResult {
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

  /// Records that the body is complete.
  func endBody() {
    state.withLock { state in
      state.hasEnded = true
      if state.inbound.isEmpty { state.deliver(nil) }
    }
  }

  /// Records the end of the request. An incomplete body fails.
  func finish() {
    state.withLock { state in
      state.hasFailed = !state.hasEnded
      state.deliver(nil)
    }
  }
}
