internal import Synchronization
package import TransferModel

/// The body of a data task while it arrives, for those who read along. Shared between threads.
package final class LiveBody: Sendable {
  package enum Source: Sendable {
    case memory([UInt8])
    case file(BodyFile)
  }
  package enum Ending: Sendable {
    case finished
    case failed
  }
  private struct State {
    var response: TransferResponse?
    var memory: [UInt8] = []
    var file: BodyFile?
    var ending: Ending?
    var observers: [@Sendable () -> Void] = []
  }
  private let state = Mutex(State())

  package init() {}

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

  func begin(_ response: TransferResponse) { change { $0.response = response } }
  func append(_ bytes: UnsafeRawBufferPointer) { change { $0.memory.append(contentsOf: bytes) } }

  /// From here on all bytes, those so far included, are in `file`.
  func `continue`(in file: BodyFile) {
    let observers = state.withLock { state in
      state.file = file
      state.memory = []
      return state.observers
    }
    for observer in observers { file.observe(observer) }
  }

  func end(_ ending: Ending) { change { $0.ending = ending } }

  private func change(_ body: (inout State) -> Void) {
    let observers = state.withLock { state in
      body(&state)
      return state.observers
    }
    for observer in observers { observer() }
  }
}
