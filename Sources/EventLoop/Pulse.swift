internal import Synchronization

/// Finds out whether all parts of a process answer: one that hangs lets the process be taken for dead.
package final class Pulse: Sendable {
  /// What is asked: a thread, mostly.
  package struct Part: Sendable {
    package let name: String
    /// Has the part call what it is given, and does not wait for that.
    package let ask: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void

    package init(_ name: String, ask: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void)
    {
      self.name = name
      self.ask = ask
    }
  }
  private struct State {
    var round = 0
    /// The indices of those that have not answered in this round.
    var silent: Set<Int> = []
  }

  private let parts: [Part]
  private let allAnswered: @Sendable () -> Void
  private let state = Mutex(State())

  /// - Parameter allAnswered: called once a round, by whoever answers last. Must not block.
  package init(_ parts: [Part], allAnswered: @escaping @Sendable () -> Void) {
    self.parts = parts
    self.allAnswered = allAnswered
  }

  /// Asks all parts; not while some still owe the last answer.
  /// - Returns: the names of those that do.
  package func beat() -> [String] {
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
  /// Answers as long as the loop goes round.
  package var pulse: Pulse.Part { Pulse.Part(name) { [weak self] answer in self?.perform(answer) } }
}
