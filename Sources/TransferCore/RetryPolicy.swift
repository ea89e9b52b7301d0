internal import HTTPDates
package import TransferModel

/// The rule that decides whether an attempt ends the task or is followed by another attempt.
///
/// Background sessions retry after every network failure until `timeoutIntervalForResource` has passed (Apple, "Downloading files in the
/// background"). Ferry also retries if an origin reports that it is busy. Other sessions
/// retry by the same rule, if a client asks for that.
package struct RetryPolicy: Sendable {
  /// An attempt that has ended.
  package struct Attempt: Sendable {
    /// `nil` if a whole response arrived.
    package var error: TransferError?
    package var status: Int?
    /// The response's `Retry-After` (RFC 9110 §10.2.3), unparsed.
    package var retryAfter: String?
    /// The number of attempts so far, this one included.
    package var number: Int
    /// The number of failed attempts since one got further than all earlier ones. The backoff grows with it.
    package var failures: Int

    /// - Parameter failures: `nil` if all attempts failed.
    package init(
      error: TransferError? = nil, status: Int? = nil, retryAfter: String? = nil, number: Int,
      failures: Int? = nil
    ) {
      self.error = error
      self.status = status
      self.retryAfter = retryAfter
      self.number = number
      self.failures = failures ?? number
    }
  }

  package enum NextStep: Sendable, Hashable {
    /// The task ends with the outcome of the attempt.
    case end
    /// Another attempt begins after this many seconds.
    case retry(after: Double)
    /// The next attempt would begin too late. The task ends with `timedOut` after this many seconds.
    case timeout(after: Double)
  }

  /// Seconds. No backoff grows beyond this limit. A configured backoff above the limit stays constant.
  package static let maximumBackoff = 300.0
  /// The random share that is added to `Retry-After`, so that clients that were refused together do not return together.
  private static let spread = 0.1

  /// Seconds. If at least this much time is left and the backoff is longer, another attempt begins within the time left.
  private static let shortestRest = 1.0

  private let backoff: Double
  private let maximumAttempts: Int
  private let timeout: Double
  private let configuration: RetryConfiguration

  /// - Parameters:
  ///   - configuration: `nil` for the defaults of background sessions.
  ///   - timeoutIntervalForResource: seconds from the first attempt's start.
  package init(configuration: RetryConfiguration?, timeoutIntervalForResource: Double) {
    let configuration = configuration ?? RetryConfiguration()
    self.configuration = configuration
    backoff = configuration.backoff
    maximumAttempts = configuration.maximumAttempts ?? .max
    timeout = timeoutIntervalForResource
  }

  /// - Parameters:
  ///   - firstStart: the start of the first attempt.
  ///   - jitter: a random number, 0 to less than 1.
  package func next(after attempt: Attempt, firstStart: Timestamp, now: Timestamp, jitter: Double) -> NextStep
  {
    let isBusy = attempt.status.map(configuration.retries(status:)) ?? false
    // The task may not accept the status, but a retry comes first.
    let error = attempt.error?.reason == .ferry(.httpStatus) ? nil : attempt.error
    let isWanted = error.map(Self.isPassing) ?? isBusy
    guard isWanted, attempt.number < maximumAttempts else { return .end }
    // If the wall clock was set back, the time left is still at most the whole interval.
    let remaining = timeout - max(0, now.since(firstStart))
    let asked = isBusy ? attempt.retryAfter.flatMap { RetryAfter.seconds($0, now: now) } : nil
    let (earliest, latest) = asked.map { ($0, $0 + $0 * Self.spread) } ?? backoff(after: attempt.failures)
    guard earliest < remaining else {
      if asked == nil, remaining >= Self.shortestRest { return .retry(after: remaining / 2) }
      // If no other attempt is possible, the client gets the response that arrived.
      return error == nil ? .end : .timeout(after: max(0, remaining))
    }
    let wait = earliest + (min(latest, remaining) - earliest) * jitter
    return .retry(after: min(wait, remaining.nextDown))
  }

  /// Returns whether a response with this status may be followed by another attempt.
  /// - Parameter number: the number of attempts so far.
  package func mayRetry(status: Int, number: Int) -> Bool {
    number < maximumAttempts && configuration.retries(status: status)
  }

  /// Returns the range of the backoff: from half of it to all of it. The backoff doubles with each failure.
  private func backoff(after failures: Int) -> (earliest: Double, latest: Double) {
    let limit = max(backoff, Self.maximumBackoff)
    // The shortest backoff is a millisecond, so more than 63 doublings change nothing.
    let full = (1..<min(max(1, failures), 64)).reduce(backoff) { full, _ in min(full * 2, limit) }
    return (full / 2, full)
  }
}

extension RetryPolicy {
  /// The policy of a task; `nil` if its first failure ends it.
  ///
  /// Outside background sessions a client must ask for retries. The session's rules then apply to idempotent requests (RFC 9110 §9.2.2), and
  /// the task's own to any request whose body can be sent again.
  package init?(of task: TransferTask, in session: borrowing TransferSession) {
    var configuration = task.preferences.retry
    if session.type == .background {
      configuration = configuration ?? session.configuration.retry ?? RetryConfiguration()
    } else {
      let request = task.submittedRequest
      if request.body?.isStream == true { return nil }
      if request.isIdempotent { configuration = configuration ?? session.configuration.retry }
    }
    guard let configuration else { return nil }
    self.init(
      configuration: configuration,
      timeoutIntervalForResource: session.configuration.timeoutIntervalForResource)
  }
}

extension TransferOutcome {
  /// The furthest byte that the attempt reached, for the backoff.
  var reachedOffset: Int64 {
    partial?.download?.partial.offset ?? (partial == nil ? 0 : progress.countOfBytesSent)
  }

  /// Whether the origin responded with a status that fails the attempt. The bytes on disk are then unchanged.
  var isRefusedByStatus: Bool { error == nil || error?.reason == .ferry(.httpStatus) }

  /// The reason for another attempt: the error, or the status with which the origin refused the request.
  var retryReason: TransferError {
    if let error, !isRefusedByStatus { return error }
    let status = response?.status ?? 0
    var error = TransferError(
      .badServerResponse, "the origin responded with status \(status)", failingURL: currentRequest.url)
    error.status = status
    return error
  }
}

// MARK: Temporary failures

extension RetryPolicy {
  /// Returns whether the same request may succeed later.
  package static func isPassing(_ error: TransferError) -> Bool {
    switch error.reason {
    case .url(let code): isPassing(code)
    case .ferry(let code): isPassing(code)
    }
  }

  package static func isPassing(_ code: URLErrorCode) -> Bool {
    switch code {
    // A failure of the network, of a name server, or of the route to the host. Background sessions exist for these.
    case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
      .notConnectedToInternet, .resourceUnavailable:
      true
    // The available class of network is not allowed. Another network may become available.
    case .dataNotAllowed: true
    // The handshake broke off. Rejected certificates have codes of their own.
    case .secureConnectionFailed: true
    // The response was cut short or missing, as happens when an origin or a proxy restarts.
    case .badServerResponse, .zeroByteResource: true
    // This machine's disk is full, or no descriptors are left. Both may change, and the bytes can be fetched again.
    case .cannotWriteToFile, .cannotCreateFile, .cannotCloseFile, .cannotMoveFile: true

    // Rarely a network failure. The usual cause is an unusable setting.
    case .unknown: false
    // A client or a delegate cancelled the task.
    case .cancelled, .userCancelledAuthentication: false
    // The request itself is invalid.
    case .badURL, .unsupportedURL, .appTransportSecurityRequiresSecureConnection, .dataLengthExceedsMaximum:
      false
    // The origin answered, and would answer the same again.
    case .httpTooManyRedirects, .redirectToNonExistentLocation, .cannotParseResponse, .cannotDecodeRawData,
      .cannotDecodeContentData, .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete:
      false
    // Authentication or trust failed. Someone must change a credential or a certificate.
    case .userAuthenticationRequired, .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired:
      false
    // The request body is gone, or cannot be read.
    case .requestBodyStreamExhausted, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile,
      .cannotOpenFile, .cannotRemoveFile:
      false
    // The task may load from the cache only.
    case .cannotLoadFromNetwork: false
    }
  }

  package static func isPassing(_ code: FerryErrorCode) -> Bool {
    switch code {
    // Rules and limits of this service, including the limit of attempts.
    case .destinationNotPermitted, .quotaExceeded, .bodyTooLarge, .attemptLimitReached: false
    // The origin would send the same again. `next` decides about statuses.
    case .contentMismatch, .httpStatus: false
    // The operator or the client must change something at the destination.
    case .destinationFailed: false
    }
  }
}
