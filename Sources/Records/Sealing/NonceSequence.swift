internal import Synchronization

/// Nonces that do not come again: 64 random bits, which are this sequence's, and 32 that count (NIST SP 800-38D §8.2.1). When
/// those are through, another 64.
final class NonceSequence: Sendable {
  private struct State {
    var prefix = UInt64.random(in: .min ... .max)
    var count: UInt32
  }
  private let state: Mutex<State>

  /// - Parameter count: the first number.
  init(from count: UInt32 = 0) { state = Mutex(State(count: count)) }

  /// Twelve bytes.
  func next() -> [UInt8] {
    let (prefix, count) = state.withLock { state in
      defer {
        state.count &+= 1
        if state.count == 0 { state.prefix = .random(in: .min ... .max) }
      }
      return (state.prefix, state.count)
    }
    return unsafe withUnsafeBytes(of: (prefix.bigEndian, count.bigEndian)) { unsafe Array($0.prefix(12)) }
  }
}
