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

  init(_ point: DownloadPoint?) { self.point = point }

  // MARK: The request

  /// What is to be claimed before the request goes out; nil where nothing is, or not again.
  var wanted: DownloadPoint? { phase == .untried ? point : nil }

  /// The claim was tried.
  mutating func tried(_ hasSucceeded: Bool) {
    guard wanted != nil else { return }
    phase = hasSucceeded ? .held : .refused
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
  ///   - isReplaced: other bytes take the place of the claimed ones, or none can be joined to them.
  ///   - hasFailed: the task ends with an error.
  func atEnd(isReplaced: Bool, hasFailed: Bool) -> Return {
    guard let point, phase == .held || phase == .untried else { return Return() }
    let isHeld = phase == .held
    return Return(
      files: isHeld ? (isReplaced ? .drop : .giveBack(point)) : .nothing,
      keeps: hasFailed && !(isHeld && isReplaced) ? point : nil)
  }

  /// It is not this task's any more.
  mutating func letGo() { if phase == .held { phase = .refused } }
}
