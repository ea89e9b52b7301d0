internal import Synchronization
internal import TransferModel

/// A request's body on its way from a client to the origin. It buffers few bytes, so a slow origin slows the client down. Shared between
/// the client's handler, which writes, and the transfer loop, which reads.
package final class UploadStream: BodyToken {
  package enum Outcome: Sendable, Equatable {
    /// The whole body was sent to the origin.
    case sent
    /// The transfer ended, or was redirected, before that.
    case abandoned
  }
  private struct State {
    var chunks: [[UInt8]] = []
    var head = 0
    /// The bytes of the first chunk that were read already.
    var offset = 0
    var count = 0
    var hasEnded = false
    var hasFailed = false
    /// Whether the reader found no bytes and waits.
    var isStarved = false
    var outcome: Outcome?
    /// The numbers of bytes that the client wrote, and that were read.
    var written: Int64 = 0
    var delivered: Int64 = 0
    var fault: Fault?
    /// Called when the body is no longer needed.
    var abandoned: (@Sendable () -> Void)?
    var ready: (@Sendable () -> Void)?
    var writer: CheckedContinuation<Bool, Never>?
    var waiter: CheckedContinuation<Outcome, Never>?
  }

  /// The number of bytes that the buffer holds.
  package static let capacity = 256 * 1024

  /// The error of a body whose length differs from its request's Content-Length.
  package struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
  }

  /// The length of the body in bytes; `nil` if unknown.
  package let length: Int64?
  /// The Content-Length of the request. The last of these bytes is withheld until the body has ended without surplus bytes, so that the
  /// origin never receives a truncated body.
  private let expected: Int64?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - length: The length that the client announced when it sent the body.
  ///   - expected: The Content-Length of the request.
  package init(length: Int64?, expected: Int64? = nil) {
    self.length = expected ?? length
    self.expected = expected
    if let expected, let length, length != expected {
      state.withLock { $0.fault = Self.fault("\(length) bytes", expected) }
    }
  }

  package var fault: Fault? { state.withLock { $0.fault } }

  private static func fault(_ count: String, _ expected: Int64) -> Fault {
    Fault(description: "the body has \(count), but the request's Content-Length is \(expected)")
  }

  // MARK: The client

  /// Writes bytes, and returns when there is room for more. Returns `false` if the body is no longer needed.
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

  /// Ends the body. Returns when the body was sent to the origin, or will not be.
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

  /// Calls `action` when the body is no longer needed, which may be now.
  package func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
    let isAbandoned = state.withLock { state in
      if state.outcome == nil { state.abandoned = action }
      return state.outcome == .abandoned
    }
    if isAbandoned { action() }
  }

  /// Records that the client disconnected before the end.
  package func fail() {
    let ready = state.withLock { state in
      state.hasFailed = true
      return Self.takeStarved(&state)
    }
    ready?()
  }

  /// Refuses the body, and stops delivering bytes.
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

  // MARK: The transfer loop

  /// Calls `ready` whenever a reader that found no bytes may read again.
  package func onReady(_ ready: @escaping @Sendable () -> Void) { state.withLock { $0.ready = ready } }

  package enum ReadResult: Sendable, Equatable {
    case bytes(Int)
    /// No bytes are available: the callback of `onReady` will be called.
    case wait
    case end
    /// The body is incomplete or abandoned.
    case failed
  }

  package func pull(into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
    nonisolated(unsafe) let buffer = buffer
    let (reading, writer): (ReadResult, CheckedContinuation<Bool, Never>?) = state.withLock {
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

  package func markSent() { settle(.sent) }
  package func cancel() { settle(.abandoned) }

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
