/// A received body on its way to the task's destination. It is stored before the file gets its name, so that a service that crashes
/// meanwhile leaves its successor all that it needs.
package struct PendingPlacement: Sendable, Equatable {
  /// The outcome of the transfer. The task ends with it, or with the error of the destination.
  package var outcome: TransferOutcome
  /// The mark of the temporary file. From the commit of the mark on, the file may have its final name.
  package var mark: FileMark?

  package init(outcome: TransferOutcome, mark: FileMark? = nil) {
    self.outcome = outcome
    self.mark = mark
  }
}
