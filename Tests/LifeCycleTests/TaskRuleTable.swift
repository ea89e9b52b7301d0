import LifeCycle
import TransferModel

/// Simple rules for a task's events, each one by itself. They are weaker than the automaton, so they must hold for every life that it
/// accepts.
struct TaskRuleTable {
  let circumstances: TaskTraits
  let words: [TaskSymbol]

  /// The names of the broken rules.
  var broken: [String] {
    let rules: [(String, Bool)] = [
      ("created first and once", isBorn), ("no events after the end", endsOnce),
      ("metrics", hasMetricsAtTheEnd),
      ("a lifecycle", followsTaskLifecycle), ("no progress until resumed", isSilentUntilResumed),
      ("the file", tellsItsFile), ("background", keepsToItsSession), ("kind", keepsToItsKind),
      ("questions", asksInItsPhase), ("order", hasOrder), ("once", tellsOnce), ("cancelled", isCancelled),
      ("a response", hasAResponse),
    ]
    return rules.filter { !$0.1 }.map(\.0)
  }

  private func places(_ isMeant: (TaskSymbol) -> Bool) -> [Int] {
    words.indices.filter { isMeant(words[$0]) }
  }

  private func isState(_ word: TaskSymbol) -> Bool { if case .state = word { true } else { false } }
  private func isCreation(_ word: TaskSymbol) -> Bool { if case .created = word { true } else { false } }
  private func isEnd(_ word: TaskSymbol) -> Bool { if case .completed = word { true } else { false } }
  private func isCall(_ word: TaskSymbol, _ calls: DelegateCall...) -> Bool {
    if case .call(let call, _) = word { calls.contains(call) } else { false }
  }

  private var isBorn: Bool { words.isEmpty || places(isCreation) == [0] }

  private var endsOnce: Bool {
    places { isEnd($0) || $0 == .becameDownload }.allSatisfy { $0 == words.count - 1 }
  }

  private var hasMetricsAtTheEnd: Bool {
    places { $0 == .metrics }.allSatisfy { $0 + 1 == words.count || isEnd(words[$0 + 1]) }
      && places(isEnd).allSatisfy { $0 > 0 && words[$0 - 1] == .metrics }
  }

  private var followsTaskLifecycle: Bool {
    var lifecycle = TaskLifecycle()
    for case .state(let state, let phase) in words {
      guard (phase != nil) == (state == .running) else { return false }
      switch state {
      case .running: if lifecycle.state != .running, lifecycle.resume() != .run { return false }
      case .suspended: if lifecycle.suspend() != .pause { return false }
      case .canceling: if lifecycle.cancel() != .cancel { return false }
      case .completed: return false
      }
    }
    let states = words.filter(isState)
    return zip(states, states.dropFirst()).allSatisfy { $0 != $1 }
  }

  private var isSilentUntilResumed: Bool {
    if circumstances.replacesDataTask { return true }
    let first = places { if case .state(.running, _) = $0 { true } else { false } }.first ?? words.count
    return words[..<first].allSatisfy {
      isCreation($0) || $0 == .canceling || $0 == .metrics || $0 == .cancelled || isCancelledEnd($0)
    }
  }

  private func isCancelledEnd(_ word: TaskSymbol) -> Bool {
    if case .completed(let end) = word { end.result == .cancelled } else { false }
  }

  private var tellsItsFile: Bool {
    let told = places { $0 == .finishedDownloading }
    guard told.count < 2, told.allSatisfy({ $0 + 1 == words.count || words[$0 + 1] == .metrics }) else {
      return false
    }
    guard case .completed(let end) = words.last else { return true }
    return (end.result == .success && circumstances.kind == .download) == !told.isEmpty
      && (end.hasBody ? circumstances.mayHaveBody(end.result) : end.result != .success)
  }

  private var keepsToItsSession: Bool {
    let phases = words.compactMap { if case .state(_, let phase) = $0 { phase } else { nil } }
    guard circumstances.sessionType == .background else {
      return circumstances.mayRetry || !phases.contains(.waitingToRetry)
    }
    return !words.contains {
      isCall($0, .redirection, .caching, .newBodyStream) || $0 == .waitsForConnectivity
        || (circumstances.kind == .upload && isCall($0, .response))
    }
  }

  private var keepsToItsKind: Bool {
    words.allSatisfy { word in
      switch word {
      case .created(let kind): kind == circumstances.kind
      case .finishedDownloading, .resumedAtOffset, .progress(.wroteData): circumstances.kind == .download
      case .progress(.receivedData), .call(.response, _), .call(.caching, _): circumstances.kind != .download
      case .becameDownload: circumstances.kind != .download
      default: true
      }
    }
  }

  /// A running task reports the phase right before the decision, and afterwards only states and its end.
  private var asksInItsPhase: Bool {
    var state = TaskState.suspended
    for (index, word) in words.enumerated() {
      if case .state(let next, _) = word { state = next }
      guard case .call(let call, let asks) = word else { continue }
      guard asks == circumstances.asked.contains(TaskTraits.Calls(call)) else { return false }
      if asks, state == .canceling { return false }
      guard asks, state == .running else { continue }
      guard index > 0, words[index - 1] == .deciding else { return false }
      guard index + 1 < words.count else { continue }
      let next = words[index + 1]
      var isProgress = false
      if case .progress = next { isProgress = true }
      guard isState(next) || next == .metrics || next == .answerRejected || isProgress else { return false }
    }
    return true
  }

  private var hasOrder: Bool {
    var isAnswered = circumstances.replacesDataTask
    var state = circumstances.replacesDataTask ? TaskState.suspended : .running
    for word in words {
      if case .state(let next, _) = word {
        if state == .suspended, next == .running, circumstances.sessionType != .ephemeral {
          isAnswered = false
        }
        state = next
      }
      switch word {
      case .state(.running, .waitingToRetry): isAnswered = false
      case .state(.running, .queued) where circumstances.sessionType == .background: isAnswered = false
      case .call(.response, _): isAnswered = true
      // A new worker restarts the attempts, without an event.
      case .resumedAtOffset: isAnswered = isAnswered || circumstances.sessionType != .background
      case .informational, .waitsForConnectivity: if isAnswered { return false }
      default:
        if isCall(word, .redirection, .taskChallenge, .sessionChallenge, .newBodyStream), isAnswered {
          return false
        }
      }
    }
    return true
  }

  private var tellsOnce: Bool {
    places { $0 == .waitsForConnectivity }.count < 2
      && (places { $0 == .delayed }.count < 2)
  }

  private var isCancelled: Bool {
    guard words.contains(where: isEnd) else { return true }
    return words.contains(.canceling) == words.contains(where: isCancelledEnd)
  }

  private var hasAResponse: Bool {
    guard case .completed(let end) = words.last, end.result == .success, circumstances.kind != .download,
      circumstances.kind != .upload || circumstances.sessionType != .background
    else { return true }
    return words.contains { isCall($0, .response) } && end.hasResponse
  }
}
