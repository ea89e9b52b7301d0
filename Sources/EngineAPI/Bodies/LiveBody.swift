package import BlobStore
internal import Limits
internal import Synchronization
package import TransferModel

/// The body of a data task while it arrives, for those who read along. Shared between threads.
package final class LiveBody: BodyToken {
  package enum Source: Sendable {
    case memory([UInt8])
    case file(BlobWriter)
  }
  package enum Ending: Sendable {
    case finished
    case failed
  }
  private struct State {
    var response: TransferResponse?
    var memory: [UInt8] = []
    var file: BlobWriter?
    var ending: Ending?
    var observers: [@Sendable () -> Void] = []
    /// How far each reader has come.
    var readers: [UInt64: Int64] = [:]
    var nextReader: UInt64 = 0
    /// Bytes that have arrived, and whether more were turned away.
    var size: Int64 = 0
    var isHeldBack = false
    /// Where the parts of a multipart answer begin.
    var parts = PartStarts()
    /// Parts whose events are not stored yet, and whether another part waits for those events.
    var partsUnderWay = 0
    var holdsParts = false

    var isTooFarAhead: Bool {
      guard let slowest = readers.values.min(), ending == nil else { return false }
      return size - slowest > LiveBody.window
    }
  }

  /// Bytes that may arrive before the slowest reader has read them: then the origin waits for it.
  package static let window: Int64 = 1 << 20

  private let state = Mutex(State())
  /// Called from any thread when there is room again after `askForRoom` or `askForPart` said no.
  private let hasRoom: @Sendable () -> Void

  /// Its bytes are shown as they come; else those of each part when it is whole.
  private let isIncremental: Bool

  package init(isIncremental: Bool = true, hasRoom: @escaping @Sendable () -> Void = {}) {
    self.isIncremental = isIncremental
    self.hasRoom = hasRoom
  }

  /// Joins the readers; the origin waits for the slowest of them.
  package func join() -> UInt64 {
    state.withLock { state in
      state.nextReader += 1
      state.readers[state.nextReader] = 0
      return state.nextReader
    }
  }

  /// A reader has come that far.
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

  /// False where the readers are too far behind; `hasRoom` is called once they are not.
  package func askForRoom() -> Bool {
    state.withLock { state in
      // Nobody reads before all is here: who waited for readers would wait for ever.
      state.isHeldBack = isIncremental && state.isTooFarAhead
      return !state.isHeldBack
    }
  }

  package func grow(to size: Int64) { state.withLock { $0.size = size } }

  /// A part of a multipart answer begins here, or all of another; its head is shown with it.
  /// - Parameter response: nil where the body is nobody's to see yet.
  package func beginPart(_ response: TransferResponse?, at offset: Int64) {
    change { state in
      state.parts.append(offset)
      if let response { state.response = response }
    }
  }

  /// Whether another part may be reported. If false, `hasRoom` is called when it may.
  package func askForPart() -> Bool {
    state.withLock { state in
      state.holdsParts = state.partsUnderWay >= Limits.partsUnderWay.value
      return !state.holdsParts
    }
  }

  /// Counts a part whose response event is about to be recorded.
  package func countPart() { state.withLock { $0.partsUnderWay += 1 } }

  /// The event of a response is stored. From any thread.
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

  /// Up to where the bytes of the first `count` parts go, as far as is known by now, and whether that is the end of all.
  package func extent(ofParts count: Int) -> (limit: Int64, isFinal: Bool) {
    state.withLock { state in
      if state.parts.count > count { return (state.parts[count], false) }
      guard isIncremental || state.ending == .finished else { return (state.parts.last ?? 0, false) }
      return state.ending == nil ? (state.size, false) : (.max, true)
    }
  }

  /// True while bytes of the first `count` parts may still come.
  package func isGrowing(beyondParts count: Int) -> Bool {
    state.withLock { $0.parts.count <= count && $0.ending == nil }
  }

  /// The response, once its head is here.
  package var response: TransferResponse? { state.withLock { $0.response } }
  /// How it ended; nil while it has not.
  package var ending: Ending? { state.withLock { $0.ending } }
  /// Where the bytes that are here can be read.
  package var source: Source {
    state.withLock { state in state.file.map { .file($0) } ?? .memory(state.memory) }
  }

  /// Calls `observer` whenever there may be more to read, and at the end. From any thread.
  package func observe(_ observer: @escaping @Sendable () -> Void) {
    let file = state.withLock { state in
      state.observers.append(observer)
      return state.file
    }
    file?.observe(observer)
  }

  package func append(_ bytes: UnsafeRawBufferPointer) { change { $0.memory.append(contentsOf: bytes) } }

  /// From here on all bytes, those so far included, are in `file`.
  package func `continue`(in file: BlobWriter) {
    let observers = state.withLock { state in
      state.file = file
      state.memory = []
      return state.observers
    }
    for observer in observers { file.observe(observer) }
  }

  /// No effect: readers call `leave`.
  package func detach() {}

  package func end(_ ending: Ending) { change { $0.ending = ending } }

  private func change(_ body: (inout State) -> Void) {
    let observers = state.withLock { state in
      body(&state)
      return state.observers
    }
    for observer in observers { observer() }
  }
}

extension LiveBody {
  /// A callback to run once the events of `facts` are stored; nil if no part waits for them.
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
