import Processes
import Synchronization
import UnixSignals

/// What signals ask of this process, from its first moment on. Until it is said who is to be told of SIGTERM, that ends the process at
/// once: the first of a container gets only those signals that it has a handler for, and SIGHUP would be the end of any other.
final class Signals: Sendable {
  private struct State {
    var onStop: (@Sendable () -> Void)?
  }

  /// SIGHUP: one that comes while another waits is none.
  let reloads: AsyncStream<Void>
  private let reload: AsyncStream<Void>.Continuation
  private let state = Mutex(State())

  private init() {
    (reloads, reload) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// Takes the signals from here on; once in a process.
  static func trap() async -> Signals {
    let signals = Signals()
    let sequence = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    Task { for await signal in sequence { signals.take(signal) } }
    return signals
  }

  /// From here on `stop` is called where the process is to end.
  func onStop(_ stop: @escaping @Sendable () -> Void) { state.withLock { $0.onStop = stop } }

  private func take(_ signal: UnixSignal) {
    if signal == .sighup {
      reload.yield()
    } else if let stop = state.withLock({ $0.onStop }) {
      stop()
    } else {
      ProcessHandle.endThis()
    }
  }
}
