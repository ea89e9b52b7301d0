internal import Synchronization

/// Nonces that never repeat: 64 random bits and a counter of 32 bits (NIST SP 800-38D §8.2.1). When the counter overflows, the random bits
/// change.
final class NonceSequence: Sendable {
  private struct State {
    var prefix = UInt64.random(in: .min ... .max)
    var count: UInt32
  }
  private let state: Mutex<State>

  /// - Parameter count: the counter's first value.
  init(from count: UInt32 = 0) { state = Mutex(State(count: count)) }

  /// Returns the next nonce, 12 bytes.
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
