/// Faults of Ferry that worlds have found and that are not mended yet. Worlds look away where they are spared, or nothing else would be
/// found behind them.
package struct Known: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A verb that comes again while the first one's commit waits is answered with what is not committed: cancel, cancel; invalidate,
  /// invalidate.
  package static let repeatedVerbsTellTooEarly = Known(rawValue: 1)
  /// A begin date that is set when the task has begun is waited for, and told: resume, began, patch, the date.
  package static let datesComeAfterTheBegin = Known(rawValue: 2)
  /// A service and a worker that die together go on from another phase than was told last, and tell "transferring" twice.
  package static let phasesAreLostWithBoth = Known(rawValue: 4)
  /// A suspended POST of a session that the service carries out is sent anew by the next service, and no retry is counted.
  package static let suspendedAreSentAgain = Known(rawValue: 8)

  /// A data task that is being cancelled asks about its response all the same, and becomes a download.
  package static let cancelledBecomeDownloads = Known(rawValue: 16)
  /// An upload may become a download, which no delegate expects.
  package static let uploadsBecomeDownloads = Known(rawValue: 32)

  /// Tasks that outlive their service: one that waited for its date, or for a network, tells that again; phases of background tasks
  /// that were told last are forgotten.
  package static let survivorsForgetWhatTheyTold = Known(rawValue: 64)

  package static let all: Known = [
    .survivorsForgetWhatTheyTold,
    .repeatedVerbsTellTooEarly, .datesComeAfterTheBegin, .phasesAreLostWithBoth, .suspendedAreSentAgain,
    .cancelledBecomeDownloads, .uploadsBecomeDownloads,
  ]
}
