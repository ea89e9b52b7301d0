internal import TransferModel

/// What an earlier download left, and this one may go on from. Pure: the files are the worker's.
struct DownloadClaim {
  private enum Phase {
    /// The earlier bytes lie under the earlier task's name.
    case untried
    /// They are this task's, and untouched.
    case held
    /// They are not: somebody else has them, or there are too few.
    case refused
    /// The body's file goes on with them.
    case used
  }

  /// nil: a download from its start.
  let point: DownloadPoint?
  private var phase = Phase.untried
  /// The byte from which on the rest is asked for, and then received.
  private(set) var offset: Int64?

  init(_ point: DownloadPoint?) { self.point = point }

  // MARK: The request

  /// What is to be claimed before the request goes out; nil where nothing is, or not again.
  var wanted: DownloadPoint? { phase == .untried ? point : nil }

  /// The claim was tried.
  mutating func tried(_ hasSucceeded: Bool) {
    guard let wanted else { return }
    phase = hasSucceeded ? .held : .refused
    offset = hasSucceeded ? wanted.partial.offset : nil
  }

  /// A request goes out: what is not held any more cannot be gone on from.
  mutating func willSend() { if phase == .refused || phase == .used { offset = nil } }

  // MARK: The answer

  /// What an answer is for a download that was to go on.
  enum Verdict: Equatable {
    /// Like any other.
    case take
    /// All of it comes anew.
    case restart
    case goOn(offset: Int64, total: Int64)
    /// It is of no use: the whole is asked for.
    case askForWhole
  }

  mutating func meet(_ head: ResponseHead) -> Verdict {
    guard let point else { return .take }
    let whole: Verdict = (200..<300).contains(head.status) ? .restart : .take
    guard let wanted = offset else { return whole }
    switch ResumeRules.judge(head, wanted: wanted, validator: point.partial.validator) {
    case .goesOn(let total): return .goOn(offset: wanted, total: total)
    case .whole:
      offset = nil
      return whole
    case .useless:
      offset = nil
      return .askForWhole
    case .other:
      offset = nil
      return .take
    }
  }

  /// The file is the body's from here on.
  mutating func use() { if phase == .held { phase = .used } }

  // MARK: The end

  /// What becomes of what was claimed when the task ends.
  struct Return: Equatable {
    enum Files: Equatable {
      case nothing
      case giveBack(DownloadPoint)
      /// It is of another version.
      case drop
    }
    var files = Files.nothing
    /// The resume data stays good.
    var keeps: DownloadPoint?
  }

  /// - Parameters:
  ///   - status: of the task's answer.
  ///   - hasFailed: it ends with an error.
  func atEnd(status: Int?, hasFailed: Bool) -> Return {
    guard let point, phase == .held || phase == .untried else { return Return() }
    let isHeld = phase == .held
    let isOfNoUse = isHeld && (200..<300).contains(status ?? 0)
    return Return(
      files: isHeld ? (isOfNoUse ? .drop : .giveBack(point)) : .nothing,
      keeps: hasFailed && !isOfNoUse ? point : nil)
  }

  /// It is not this task's any more.
  mutating func letGo() { if phase == .held { phase = .refused } }
}
