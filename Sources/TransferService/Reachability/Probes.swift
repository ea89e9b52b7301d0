internal import EventLoop
internal import Limits
internal import Synchronization
internal import TransferModel

/// Runs reachability probes, some at once and the others in turn.
final class Probes: Sendable {
  typealias Answer = Result<Reachability, any Error>

  /// The callers that wait for one probe.
  private struct Askers {
    /// Identifies this group of callers, so that its timeout cannot end a later group with the same probe.
    let number: Int
    var all: [CheckedContinuation<Answer, Never>]
    /// Ends the wait for a turn.
    var alarm: Alarm?
  }
  private struct State {
    var turns = ProbeTurns()
    var askers: [ProbeQuestion: Askers] = [:]
    var lastNumber = 0
  }
  private let state = Mutex(State())
  private let reach: @Sendable (_ url: String, _ timeout: Duration) async throws -> Reachability

  /// - Parameter reach: runs the probe.
  init(_ reach: @escaping @Sendable (_ url: String, _ timeout: Duration) async throws -> Reachability) {
    self.reach = reach
  }

  /// - Parameter hasTenants: tokens are configured, so each tenant has its own limit.
  /// - Throws: `ServiceError.tooManyProbes`, or the error of `reach`.
  func answer(_ question: ProbeQuestion, hasTenants: Bool) async throws -> Reachability {
    let answer: Answer = await withCheckedContinuation { continuation in
      let (verdict, number) = state.withLock { state -> (ProbeTurns.Verdict?, Int) in
        // The same probe is running or waiting.
        guard state.askers[question] == nil else {
          state.askers[question]?.all.append(continuation)
          return (nil, 0)
        }
        state.turns.mostOfTenant = hasTenants ? Limits.probesOfTenant.value : Limits.probes.value
        let verdict = state.turns.ask(question)
        if verdict != .refuse {
          state.lastNumber += 1
          state.askers[question] = Askers(number: state.lastNumber, all: [continuation])
        }
        return (verdict, state.lastNumber)
      }
      switch verdict {
      case .start: start(question)
      case .wait: giveUpLater(question, number)
      case .refuse: continuation.resume(returning: .failure(ServiceError.tooManyProbes))
      case nil: break
      }
    }
    return try answer.get()
  }

  private func start(_ question: ProbeQuestion) {
    Task { [self] in
      let answer: Answer
      do {
        answer = .success(try await reach(question.url, .seconds(question.timeout)))
      } catch {
        answer = .failure(error)
      }
      let (askers, next) = state.withLock { state in
        (state.askers.removeValue(forKey: question)?.all ?? [], state.turns.end(question.tenant))
      }
      for asker in askers { asker.resume(returning: answer) }
      for question in next { start(question) }
    }
  }

  private func giveUpLater(_ question: ProbeQuestion, _ number: Int) {
    let alarm = Alarm { [self] in giveUp(question, number) }
    let isAsked = state.withLock { state in
      guard state.askers[question]?.number == number else { return false }
      state.askers[question]?.alarm = alarm
      return true
    }
    if isAsked { alarm.set(after: .seconds(Limits.probeWaitSeconds.value)) }
  }

  private func giveUp(_ question: ProbeQuestion, _ number: Int) {
    let askers = state.withLock { state -> Askers? in
      guard state.askers[question]?.number == number, state.turns.giveUp(question) else { return nil }
      return state.askers.removeValue(forKey: question)
    }
    for asker in askers?.all ?? [] { asker.resume(returning: .failure(ServiceError.tooManyProbes)) }
  }
}
