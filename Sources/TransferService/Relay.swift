internal import Synchronization
package import TransferModel

/// Hands on what comes from something that is made before whoever takes it.
package final class Relay<Value: Sendable>: Sendable {
  /// A closure that is a mutex's own value is wrapped once more at each access, for good; one in a struct is not.
  private struct State {
    var receive: (@Sendable (Value) -> Void)?
  }
  private let state = Mutex(State())

  package init() {}

  func connect(_ receive: @escaping @Sendable (Value) -> Void) { state.withLock { $0.receive = receive } }

  /// What comes before somebody is connected is lost.
  package func deliver(_ value: Value) { state.withLock { $0.receive }?(value) }
}

extension Relay<Void> {
  /// Says that something has happened.
  func ring() { deliver(()) }
}

/// From the engine to the service.
package typealias FactRelay = Relay<[TransferFact]>
