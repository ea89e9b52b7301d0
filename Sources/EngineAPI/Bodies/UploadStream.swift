internal import Synchronization
internal import TransferModel

/// A request's body on its way from a client to the origin. Little of it is here at any time: a slow origin slows the
/// client. Shared between the client's handler, which writes, and the loop, which reads.
package final class UploadStream: BodyToken {
  package enum Outcome: Sendable, Equatable {
    /// The origin has taken all of it.
    case sent
    /// The transfer ended, or went elsewhere, before that.
    case abandoned
  }
  private struct State {
    var chunks: [[UInt8]] = []
    var head = 0
    /// Bytes of the first chunk that are gone.
    var offset = 0
    var count = 0
    var hasEnded = false
    var hasFailed = false
    /// The reader found nothing and waits.
    var isStarved = false
    var outcome: Outcome?
    /// Bytes that the client gave, and that were read.
    var written: Int64 = 0
    var delivered: Int64 = 0
    var fault: Fault?
    /// Called when nobody wants the body any more.
    var abandoned: (@Sendable () -> Void)?
    var ready: (@Sendable () -> Void)?
    var writer: CheckedContinuation<Bool, Never>?
    var waiter: CheckedContinuation<Outcome, Never>?
  }

  /// Bytes that may wait here.
  package static let capacity = 256 * 1024

  /// It is not as long as its request says.
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// Bytes that were announced; nil where they were not.
  package let length: Int64?
  /// What the request says. The last of these bytes is given out only when it is clear that no other follows: an origin
  /// gets no body that is cut.
  private let expected: Int64?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - length: as the client has it that sends the body.
  ///   - expected: as the request has it.
  package init(length: Int64?, expected: Int64? = nil) {
    self.length = expected ?? length
    self.expected = expected
    if let expected, let length, length != expected {
      state.withLock { $0.fault = Self.fault("\(length) bytes", expected) }
    }
  }

  package var fault: Fault? { state.withLock { $0.fault } }

  private static func fault(_ count: String, _ expected: Int64) -> Fault {
    Fault(description: "the body has \(count), and the request's Content-Length is \(expected)")
  }

  // MARK: The client's side

  /// Takes bytes, and returns when there is room for more; false where nobody wants them any more.
  package func write(_ bytes: [UInt8]) async -> Bool {
    guard !bytes.isEmpty else { return true }
    return await withCheckedContinuation { continuation in
      let (result, ready): (Bool?, (@Sendable () -> Void)?) = state.withLock { state in
        guard state.outcome == nil else { return (false, nil) }
        state.written += Int64(bytes.count)
        if let expected, state.written > expected {
          return (false, Self.refuse(&state, Self.fault("more bytes", expected)))
        }
        state.chunks.append(bytes)
        state.count += bytes.count
        let ready = Self.takeStarved(&state)
        guard state.count > Self.capacity else { return (true, ready) }
        state.writer = continuation
        return (nil, ready)
      }
      ready?()
      if let result { continuation.resume(returning: result) }
    }
  }

  /// That was all of it; returns once the origin has taken it, or will not.
  package func finish() async -> Outcome {
    await withCheckedContinuation { continuation in
      let (outcome, ready): (Outcome?, (@Sendable () -> Void)?) = state.withLock { state in
        guard state.outcome == nil else { return (state.outcome, nil) }
        if let expected, state.written < expected {
          let fault = Self.fault("\(state.written) bytes", expected)
          return (.abandoned, Self.refuse(&state, fault))
        }
        state.hasEnded = true
        state.waiter = continuation
        return (nil, Self.takeStarved(&state))
      }
      ready?()
      if let outcome { continuation.resume(returning: outcome) }
    }
  }

  /// Calls `action` once nobody wants the body any more, which may be now.
  package func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
    let isAbandoned = state.withLock { state in
      if state.outcome == nil { state.abandoned = action }
      return state.outcome == .abandoned
    }
    if isAbandoned { action() }
  }

  /// The client left before the end.
  package func fail() {
    let ready = state.withLock { state in
      state.hasFailed = true
      return Self.takeStarved(&state)
    }
    ready?()
  }

  /// Nothing of it is given out any more.
  private static func refuse(_ state: inout State, _ fault: Fault) -> (@Sendable () -> Void)? {
    (state.fault, state.outcome) = (fault, .abandoned)
    state.chunks = []
    return takeStarved(&state)
  }

  private static func takeStarved(_ state: inout State) -> (@Sendable () -> Void)? {
    guard state.isStarved else { return nil }
    state.isStarved = false
    return state.ready
  }

  // MARK: The loop's side

  /// Calls `ready` whenever a reader that found nothing may read again.
  package func onReady(_ ready: @escaping @Sendable () -> Void) { state.withLock { $0.ready = ready } }

  package enum Reading: Sendable, Equatable {
    case bytes(Int)
    /// Nothing now: what was given to `onReady` will be called.
    case wait
    case end
    /// The body is incomplete or abandoned.
    case failed
  }

  package func take(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    nonisolated(unsafe) let buffer = buffer
    let (reading, writer): (Reading, CheckedContinuation<Bool, Never>?) = state.withLock {
      state in
      if state.hasFailed || state.fault != nil || state.outcome == .abandoned { return (.failed, nil) }
      let room = mayGive(state, buffer.count)
      guard state.head < state.chunks.count, room > 0 else {
        if state.hasEnded { return (.end, nil) }
        state.isStarved = true
        return (.wait, nil)
      }
      let count = Self.copy(from: &state, to: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(room)))
      state.delivered += Int64(count)
      guard state.count <= Self.capacity / 2 else { return (.bytes(count), nil) }
      defer { state.writer = nil }
      return (.bytes(count), state.writer)
    }
    writer?.resume(returning: true)
    return reading
  }

  private func mayGive(_ state: State, _ count: Int) -> Int {
    guard let expected, !state.hasEnded else { return count }
    return Int(max(0, min(Int64(count), expected - 1 - state.delivered)))
  }

  private static func copy(from state: inout State, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    var done = 0
    while done < buffer.count, state.head < state.chunks.count {
      let chunk = state.chunks[state.head]
      let count = min(buffer.count - done, chunk.count - state.offset)
      UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).copyBytes(
        from: chunk[state.offset..<state.offset + count])
      done += count
      state.offset += count
      if state.offset == chunk.count {
        state.chunks[state.head] = []
        state.head += 1
        state.offset = 0
      }
    }
    state.count -= done
    if state.head == state.chunks.count {
      state.chunks.removeAll(keepingCapacity: true)
      state.head = 0
    }
    return done
  }

  package func wasSent() { settle(.sent) }
  package func detach() { settle(.abandoned) }

  private func settle(_ outcome: Outcome) {
    let (writer, waiter, abandoned) = state.withLock { state in
      let isAbandoned = state.outcome == nil && outcome == .abandoned
      if state.outcome == nil { state.outcome = outcome }
      state.chunks = []
      state.count = 0
      defer {
        state.writer = nil
        state.waiter = nil
        state.abandoned = nil
      }
      return (state.writer, state.waiter, isAbandoned ? state.abandoned : nil)
    }
    abandoned?()
    writer?.resume(returning: false)
    waiter?.resume(returning: outcome)
  }
}
