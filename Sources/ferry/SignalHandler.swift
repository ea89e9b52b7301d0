import Processes
import Synchronization
import UnixSignals

/// The signals that this process handles from its start. Until `onStop`, SIGTERM ends the process at once. A handler is necessary because
/// the first process of a container receives only handled signals, and because SIGHUP would end any other process.
final class SignalHandler: Sendable {
  private struct State {
    var onStop: (@Sendable () -> Void)?
  }

  /// Requests to reload (SIGHUP). A second signal while one is pending has no effect.
  let reloads: AsyncStream<Void>
  private let reload: AsyncStream<Void>.Continuation
  private let state = Mutex(State())

  private init() {
    (reloads, reload) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// Handles the signals from now on. Call this function once per process.
  static func trap() async -> SignalHandler {
    let signals = SignalHandler()
    let sequence = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    Task { for await signal in sequence { signals.handle(signal) } }
    return signals
  }

  /// Sets the action for a signal to stop.
  func onStop(_ stop: @escaping @Sendable () -> Void) { state.withLock { $0.onStop = stop } }

  private func handle(_ signal: UnixSignal) {
    if signal == .sighup {
      reload.yield()
    } else if let stop = state.withLock({ $0.onStop }) {
      stop()
    } else {
      ProcessHandle.exitNow()
    }
  }
}
