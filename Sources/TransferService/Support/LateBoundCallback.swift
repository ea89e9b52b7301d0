internal import Synchronization
package import TransferModel

/// A callback slot that is connected after construction.
package final class LateBoundCallback<Value: Sendable>: Sendable {
  /// A closure stored directly in a mutex is wrapped once more at each access, permanently. A closure inside a struct is not.
  private struct State {
    var receive: (@Sendable (Value) -> Void)?
  }
  private let state = Mutex(State())

  package init() {}

  func connect(_ receive: @escaping @Sendable (Value) -> Void) { state.withLock { $0.receive = receive } }

  /// Calls the connected closure. Values that arrive before `connect` are lost.
  package func deliver(_ value: Value) { state.withLock { $0.receive }?(value) }
}

extension LateBoundCallback<Void> {
  func deliver() { deliver(()) }
}

/// The slot for facts from the engine to the service.
package typealias FactCallback = LateBoundCallback<[TransferFact]>
