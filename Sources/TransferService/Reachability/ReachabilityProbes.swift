internal import EventLoop
internal import Limits
internal import Synchronization
internal import TransferModel

/// Runs reachability probes up to a limit; the others wait their turn.
final class ReachabilityProbes: Sendable {
  typealias Answer = Result<Reachability, any Error>

  /// The callers that wait for one probe.
  private struct Waiters {
    /// Identifies this group of callers, so that its timeout cannot end a later group with the same probe.
    let number: Int
    var all: [CheckedContinuation<Answer, Never>]
    /// Ends the probe's wait for a free slot.
    var timer: ResettableTimer?
  }
  private struct State {
    var turns = ProbeQueue()
    var askers: [ProbeRequest: Waiters] = [:]
    var lastNumber = 0
  }
  private let state = Mutex(State())
  private let reach: @Sendable (_ url: String, _ timeout: Duration) async throws -> Reachability

  /// - Parameter reach: runs the probe.
  init(_ reach: @escaping @Sendable (_ url: String, _ timeout: Duration) async throws -> Reachability) {
    self.reach = reach
  }

  /// - Parameter hasTenants: whether tokens are configured, so that each tenant has its own limit.
  /// - Throws: `ServiceError.tooManyProbes`, or the error of `reach`.
  func run(_ request: ProbeRequest, hasTenants: Bool) async throws -> Reachability {
    let answer: Answer = await withCheckedContinuation { continuation in
      let (admission, number) = state.withLock { state -> (ProbeQueue.Admission?, Int) in
        // The same probe is running or waiting.
        guard state.askers[request] == nil else {
          state.askers[request]?.all.append(continuation)
          return (nil, 0)
        }
        state.turns.mostOfTenant = hasTenants ? Limits.probesOfTenant.value : Limits.probes.value
        let admission = state.turns.submit(request)
        if admission != .refuse {
          state.lastNumber += 1
          state.askers[request] = Waiters(number: state.lastNumber, all: [continuation])
        }
        return (admission, state.lastNumber)
      }
      switch admission {
      case .start: start(request)
      case .wait: giveUpLater(request, number)
      case .refuse: continuation.resume(returning: .failure(ServiceError.tooManyProbes))
      case nil: break
      }
    }
    return try answer.get()
  }

  private func start(_ request: ProbeRequest) {
    Task { [self] in
      let answer: Answer
      do {
        answer = .success(try await reach(request.url, .seconds(request.timeout)))
      } catch {
        answer = .failure(error)
      }
      let (askers, next) = state.withLock { state in
        (state.askers.removeValue(forKey: request)?.all ?? [], state.turns.end(request.tenant))
      }
      for asker in askers { asker.resume(returning: answer) }
      for request in next { start(request) }
    }
  }

  private func giveUpLater(_ request: ProbeRequest, _ number: Int) {
    let timer = ResettableTimer { [self] in giveUp(request, number) }
    let isAsked = state.withLock { state in
      guard state.askers[request]?.number == number else { return false }
      state.askers[request]?.timer = timer
      return true
    }
    if isAsked { timer.set(after: .seconds(Limits.probeWaitSeconds.value)) }
  }

  private func giveUp(_ request: ProbeRequest, _ number: Int) {
    let askers = state.withLock { state -> Waiters? in
      guard state.askers[request]?.number == number, state.turns.cancel(request) else { return nil }
      return state.askers.removeValue(forKey: request)
    }
    for asker in askers?.all ?? [] { asker.resume(returning: .failure(ServiceError.tooManyProbes)) }
  }
}
