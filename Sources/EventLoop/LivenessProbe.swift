internal import Synchronization

/// A check that all parts of a process respond. A part that hangs makes the process count as unresponsive.
package final class LivenessProbe: Sendable {
  /// A part to check, usually a thread.
  package struct Component: Sendable {
    package let name: String
    /// Makes the part call `answer`, without waiting for it.
    package let ask: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void

    package init(_ name: String, ask: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void)
    {
      self.name = name
      self.ask = ask
    }
  }
  private struct State {
    var round = 0
    /// The indices of the parts that have not responded in this round.
    var silent: Set<Int> = []
  }

  private let parts: [Component]
  private let allAnswered: @Sendable () -> Void
  private let state = Mutex(State())

  /// Makes a check.
  /// - Parameter allAnswered: called once a round, by the last part that responds. It must not block.
  package init(_ parts: [Component], allAnswered: @escaping @Sendable () -> Void) {
    self.parts = parts
    self.allAnswered = allAnswered
  }

  /// Checks all parts, unless some have not responded to the last check.
  /// - Returns: the names of those parts.
  package func check() -> [String] {
    let round = state.withLock { state -> Int? in
      guard state.silent.isEmpty else { return nil }
      state.silent = Set(parts.indices)
      state.round += 1
      return state.round
    }
    guard let round else { return state.withLock { $0.silent }.sorted().map { parts[$0].name } }
    for (index, part) in parts.enumerated() {
      part.ask { [weak self] in self?.answered(index, round) }
    }
    return []
  }

  private func answered(_ index: Int, _ round: Int) {
    let isLast = state.withLock { state in
      guard state.round == round, state.silent.remove(index) != nil else { return false }
      return state.silent.isEmpty
    }
    if isLast { allAnswered() }
  }
}

extension EventLoop {
  /// The loop as a part. It responds in its next tick.
  package var livenessComponent: LivenessProbe.Component {
    LivenessProbe.Component(name) { [weak self] answer in self?.perform(answer) }
  }
}
