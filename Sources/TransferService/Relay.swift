internal import Synchronization
package import TransferEngine

/// Hands on what comes from something that is made before whoever takes it.
package final class Relay<Value: Sendable>: Sendable {
  private let receiver = Mutex<(@Sendable (Value) -> Void)?>(nil)

  package init() {}

  func connect(_ receive: @escaping @Sendable (Value) -> Void) { receiver.withLock { $0 = receive } }

  /// What comes before somebody is connected is lost.
  package func deliver(_ value: Value) { receiver.withLock { $0 }?(value) }
}

/// From the engine to the service.
package typealias FactRelay = Relay<[TransferFact]>
