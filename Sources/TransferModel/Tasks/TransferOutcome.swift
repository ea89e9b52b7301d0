/// The outcome of a transfer.
package struct TransferOutcome: Sendable, Equatable {
  package enum Body: Sendable, Equatable {
    case memory([UInt8])
    /// A file on disk, named by the task's id and the outcome's stamp.
    case file

    package var isFile: Bool { if case .file = self { true } else { false } }
  }
  package var error: TransferError?
  package var currentRequest: TransferRequest
  package var response: TransferResponse?
  package var progress: TaskProgress
  package var body: Body?
  /// The writer of the file; `nil` if the file's name is the task's id alone.
  package var blob: BlobStamp?
  /// The partial body, which is kept for resume data.
  package var partial: ResumePoint?
  package var size: Int64 = 0
  /// Lower-case hexadecimal.
  package var sha256 = ""
  /// The file at the task's destination, which has the body; `nil` if Ferry stores the body.
  package var placed: PlacedFile?
  package var transactions: [TransactionMetrics]
  package var endedAt: Timestamp

  package init(
    error: TransferError?, currentRequest: TransferRequest, response: TransferResponse?,
    progress: TaskProgress,
    transactions: [TransactionMetrics], endedAt: Timestamp
  ) {
    self.error = error
    self.currentRequest = currentRequest
    self.response = response
    self.progress = progress
    self.transactions = transactions
    self.endedAt = endedAt
  }
}
