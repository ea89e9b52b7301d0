internal import TransferModel

/// Compares a transfer's response with the requirements of its client. Pure.
struct RequirementCheck {
  private let requirements: ResponseRequirements?
  /// Whether a resumed body had another digest, so that the whole body is fetched again. Another mismatch ends the task.
  private(set) var hasStartedAgain = false

  init(_ requirements: ResponseRequirements?) { self.requirements = requirements }

  /// The body to expect of a response with this status; `nil` if any body is accepted.
  private func expected(_ status: Int) -> ExpectedBody? {
    (200..<300).contains(status) ? requirements?.expected : nil
  }

  /// Returns the error of a response whose announced size is wrong; `nil` if the body may be received.
  /// - Parameter total: The bytes of the whole body; -1 if unknown.
  func headError(status: Int, total: Int64, url: String) -> TransferError? {
    total < 0 ? nil : expected(status)?.sizeError(total, url: url)
  }

  /// The largest body to receive: a larger one ends the transfer.
  func maximumSize(status: Int, limit: Int64) -> Int64 {
    min(limit, expected(status)?.size ?? limit)
  }

  /// Returns the error with which a transfer ends.
  /// - Parameters:
  ///   - error: The error of the transfer itself.
  ///   - excess: Whether the body was refused because it has too many bytes.
  func endError(
    _ error: TransferError?, status: Int?, size: Int64, excess: (isTooLarge: Bool, limit: Int64), url: String
  ) -> TransferError? {
    guard let requirements, let status else { return error }
    let expected = expected(status)
    guard error == nil else {
      let isExcess = excess.isTooLarge && error?.reason == .ferry(.bodyTooLarge)
      guard isExcess, let expected, expected.size ?? .max < excess.limit else { return error }
      return expected.excessError(url: url)
    }
    return requirements.statusError(status, url: url) ?? expected?.sizeError(size, url: url)
  }

  enum DigestAction: Equatable {
    case accept
    /// Fetch the whole body from its first byte: the kept bytes may be the wrong ones.
    case startAgain
    case fail(TransferError)
  }

  /// - Parameter isResumed: Whether the body continues bytes of an earlier transfer.
  mutating func digestAction(_ sha256: String, status: Int?, isResumed: Bool, url: String) -> DigestAction {
    guard let error = expected(status ?? 0)?.digestError(sha256, url: url) else { return .accept }
    guard isResumed, !hasStartedAgain else { return .fail(error) }
    hasStartedAgain = true
    return .startAgain
  }
}
