internal import TransferModel

/// The claim of a download on the bytes that an earlier download left. A pure state machine; the transfer loop accesses the files.
struct DownloadClaim {
  private enum Phase {
    /// The bytes still have the earlier task's key.
    case untried
    /// The bytes have this task's key and are unchanged.
    case held
    /// The claim failed because the bytes are claimed by another task or too few, or the bytes were given back.
    case refused
    /// The body's file continues them.
    case used
  }

  /// `nil` for a download from its start.
  let point: DownloadPoint?
  private var phase = Phase.untried

  init(_ point: DownloadPoint?) { self.point = point }

  // MARK: The request

  /// The bytes to claim before the request is sent; `nil` if there are none or the claim was tried.
  var wanted: DownloadPoint? { phase == .untried ? point : nil }

  /// Records whether the claim succeeded.
  mutating func noteResult(_ hasSucceeded: Bool) {
    guard wanted != nil else { return }
    phase = hasSucceeded ? .held : .refused
  }

  /// Marks the claimed bytes as part of this task's body.
  mutating func use() { if phase == .held { phase = .used } }

  // MARK: The end

  /// The steps for the claimed bytes when the task ends.
  struct ReleaseAction: Equatable {
    enum Files: Equatable {
      case nothing
      case giveBack(DownloadPoint)
      /// Delete the bytes, which belong to another version.
      case drop
    }
    var files = Files.nothing
    /// The resume data that stays valid.
    var keptPoint: DownloadPoint?
  }

  /// - Parameters:
  ///   - isReplaced: Whether other bytes replace the claimed ones, or none can be joined to them.
  ///   - hasFailed: Whether the task ends with an error.
  func atEnd(isReplaced: Bool, hasFailed: Bool) -> ReleaseAction {
    guard let point, phase == .held || phase == .untried else { return ReleaseAction() }
    let isHeld = phase == .held
    return ReleaseAction(
      files: isHeld ? (isReplaced ? .drop : .giveBack(point)) : .nothing,
      keptPoint: hasFailed && !(isHeld && isReplaced) ? point : nil)
  }

  /// Ends the claim on bytes that are being given back or deleted.
  mutating func release() { if phase == .held { phase = .refused } }
}
