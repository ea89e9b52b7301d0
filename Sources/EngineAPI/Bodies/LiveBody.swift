package import BlobStore
internal import Limits
internal import Synchronization
package import TransferModel

/// The body of a data task while it is being received, for its readers. Shared between threads.
package final class LiveBody: BodyToken {
  package enum Source: Sendable {
    case memory([UInt8])
    case file(BlobWriter)
  }
  package enum End: Sendable {
    case finished
    case failed
  }
  private struct State {
    var response: TransferResponse?
    var memory: [UInt8] = []
    var file: BlobWriter?
    var ending: End?
    var observers: [@Sendable () -> Void] = []
    /// The offset that each reader has reached.
    var readers: [UInt64: Int64] = [:]
    var nextReader: UInt64 = 0
    /// The number of received bytes, and whether further bytes were held back.
    var size: Int64 = 0
    var isHeldBack = false
    /// The offsets of a multipart response's parts.
    var parts = PartStarts()
    /// The number of parts whose events are not stored yet, and whether another part waits for those events.
    var partsUnderWay = 0
    var holdsParts = false

    var isTooFarAhead: Bool {
      guard let slowest = readers.values.min(), ending == nil else { return false }
      return size - slowest > LiveBody.window
    }
  }

  /// The maximum number of bytes that are received before the slowest reader has read them. After that the origin waits.
  package static let window: Int64 = 1 << 20

  private let state = Mutex(State())
  /// Called from any thread when there is room again after `requestCapacity` or `requestPart` returned `false`.
  private let hasRoom: @Sendable () -> Void

  /// Whether bytes are shown as they are received. Otherwise each part is shown when it is complete.
  private let isIncremental: Bool

  package init(isIncremental: Bool = true, hasRoom: @escaping @Sendable () -> Void = {}) {
    self.isIncremental = isIncremental
    self.hasRoom = hasRoom
  }

  /// Adds a reader. The origin waits for the slowest reader.
  package func join() -> UInt64 {
    state.withLock { state in
      state.nextReader += 1
      state.readers[state.nextReader] = 0
      return state.nextReader
    }
  }

  /// Records the offset that a reader has reached.
  package func advance(_ reader: UInt64, to offset: Int64) { makeRoom { $0.readers[reader] = offset } }
  package func leave(_ reader: UInt64) { makeRoom { $0.readers[reader] = nil } }

  private func makeRoom(_ body: (inout State) -> Void) {
    let mustTell = state.withLock { state in
      body(&state)
      guard state.isHeldBack, !state.isTooFarAhead else { return false }
      state.isHeldBack = false
      return true
    }
    if mustTell { hasRoom() }
  }

  /// Returns whether more bytes may be received. If not, `hasRoom` is called when they may.
  package func requestCapacity() -> Bool {
    state.withLock { state in
      // Without incremental delivery, readers wait for the complete body, so the body must not wait for readers.
      state.isHeldBack = isIncremental && state.isTooFarAhead
      return !state.isHeldBack
    }
  }

  package func grow(to size: Int64) { state.withLock { $0.size = size } }

  /// Begins a part of a multipart response, or the whole of another response.
  /// - Parameter response: The response to show; `nil` if readers may not see the body yet.
  package func beginPart(_ response: TransferResponse?, at offset: Int64) {
    change { state in
      state.parts.append(offset)
      if let response { state.response = response }
    }
  }

  /// Returns whether another part may be reported. If not, `hasRoom` is called when it may.
  package func requestPart() -> Bool {
    state.withLock { state in
      state.holdsParts = state.partsUnderWay >= Limits.partsUnderWay.value
      return !state.holdsParts
    }
  }

  /// Counts a part whose response event is about to be recorded.
  package func countPart() { state.withLock { $0.partsUnderWay += 1 } }

  /// Records that the event of a response is stored. May be called on any thread.
  package func responseIsStored() {
    let mustTell = state.withLock { state in
      // A response that is not multipart has no counted parts.
      state.partsUnderWay = max(0, state.partsUnderWay - 1)
      // Resume when half are stored, not after each one.
      guard state.holdsParts, state.partsUnderWay <= Limits.partsUnderWay.value / 2 else { return false }
      state.holdsParts = false
      return true
    }
    if mustTell { hasRoom() }
  }

  /// Whether parts are waiting for their events to be stored.
  package var hasParts: Bool { state.withLock { $0.partsUnderWay > 0 } }

  /// Returns the end of the first `count` parts, as far as it is known, and whether it is the end of the body.
  package func extent(ofParts count: Int) -> (limit: Int64, isFinal: Bool) {
    state.withLock { state in
      if state.parts.count > count { return (state.parts[count], false) }
      guard isIncremental || state.ending == .finished else { return (state.parts.last ?? 0, false) }
      return state.ending == nil ? (state.size, false) : (.max, true)
    }
  }

  /// Returns whether the first `count` parts may still grow.
  package func isGrowing(beyondParts count: Int) -> Bool {
    state.withLock { $0.parts.count <= count && $0.ending == nil }
  }

  /// The response; `nil` until its head was received.
  package var response: TransferResponse? { state.withLock { $0.response } }
  /// The end of the body; `nil` until the body has ended.
  package var ending: End? { state.withLock { $0.ending } }
  /// The place of the received bytes.
  package var source: Source {
    state.withLock { state in state.file.map { .file($0) } ?? .memory(state.memory) }
  }

  /// Calls `observer` whenever there may be more to read, and at the end. May be called on any thread.
  package func observe(_ observer: @escaping @Sendable () -> Void) {
    let file = state.withLock { state in
      state.observers.append(observer)
      return state.file
    }
    file?.observe(observer)
  }

  package func append(_ bytes: UnsafeRawBufferPointer) { change { $0.memory.append(contentsOf: bytes) } }

  /// Moves all bytes, including those so far, to `file`.
  package func `continue`(in file: BlobWriter) {
    let observers = state.withLock { state in
      state.file = file
      state.memory = []
      return state.observers
    }
    for observer in observers { file.observe(observer) }
  }

  /// Does nothing, because readers call `leave`.
  package func cancel() {}

  package func end(_ ending: End) { change { $0.ending = ending } }

  private func change(_ body: (inout State) -> Void) {
    let observers = state.withLock { state in
      body(&state)
      return state.observers
    }
    for observer in observers { observer() }
  }
}

extension LiveBody {
  /// Returns a callback to run when the events of `facts` are stored; `nil` if no part waits for them.
  package static func storedCallback(for facts: some Sequence<TransferFact>) -> (@Sendable () -> Void)? {
    let bodies = facts.compactMap { fact -> LiveBody? in
      guard case .response(_, _, let body, _) = fact, let live = body.token as? LiveBody, live.hasParts
      else { return nil }
      return live
    }
    guard !bodies.isEmpty else { return nil }
    return { for live in bodies { live.responseIsStored() } }
  }
}
