/// How a transfer ended.
package struct TransferOutcome: Sendable, Codable {
  package enum Body: Sendable {
    case memory([UInt8])
    /// Durable, under the task's name and the outcome's stamp.
    case file

    package var isFile: Bool { if case .file = self { true } else { false } }
  }
  package var error: TransferError?
  package var currentRequest: TransferRequest
  package var response: TransferResponse?
  package var progress: TaskProgress
  package var body: Body?
  /// Who has written it where it is a file; nil: it is under the task's name alone.
  package var blob: BlobStamp?
  /// What was kept for resume data.
  package var partial: ResumePoint?
  package var size: Int64 = 0
  /// Lower-case hexadecimal.
  package var sha256 = ""
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

/// As it is handed on within the service: bytes as base64; a file only says that it is one.
extension TransferOutcome.Body: Codable {
  /// No base64.
  private static let fileMark = "(file)"

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    if text == Self.fileMark {
      self = .file
    } else if let bytes = Base64.decode(text) {
      self = .memory(bytes)
    } else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .memory(let bytes): try container.encode(Base64.encode(bytes))
    case .file: try container.encode(Self.fileMark)
    }
  }
}
