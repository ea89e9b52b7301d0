internal import HTTPDates
package import TransferModel

/// What follows an attempt of a background session's task: its end, or another attempt.
///
/// Background sessions try again after every failure of the network until `timeoutIntervalForResource` has passed
/// (Apple, "Downloading files in the background"). Ferry does so as well where an origin says that it is busy.
package struct RetryPolicy: Sendable {
  /// What is known of an attempt that has ended.
  package struct Attempt: Sendable {
    /// Nil where there was a whole response.
    package var error: TransferError?
    package var status: Int?
    /// The response's `Retry-After` (RFC 9110 §10.2.3), as it came.
    package var retryAfter: String?
    /// Attempts so far, this one included.
    package var number: Int
    /// Those of them that failed since one got further than those before it: the backoff goes by these.
    package var failures: Int

    /// - Parameter failures: nil: all of them.
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

  package enum Next: Sendable, Hashable {
    /// The task ends as the attempt did.
    case end
    /// Another attempt, so many seconds from now.
    case retry(after: Double)
    /// The next attempt would begin too late: the task ends with `timedOut`, so many seconds from now.
    case timeout(after: Double)
  }

  /// Seconds; no backoff grows beyond it. One that begins beyond it does not grow.
  package static let maximumBackoff = 300.0
  /// Of what `Retry-After` says, so that those who were sent away together do not come back together.
  private static let spread = 0.1

  /// Seconds that must be left for another attempt where the backoff is longer than what is left.
  private static let shortestRest = 1.0

  private let backoff: Double
  private let maximumAttempts: Int
  private let timeout: Double

  /// - Parameters:
  ///   - configuration: nil: what background sessions do by themselves.
  ///   - timeoutIntervalForResource: seconds from the first attempt's start.
  package init(configuration: RetryConfiguration?, timeoutIntervalForResource: Double) {
    let configuration = configuration ?? RetryConfiguration()
    backoff = configuration.backoff
    maximumAttempts = configuration.maximumAttempts ?? .max
    timeout = timeoutIntervalForResource
  }

  /// - Parameters:
  ///   - firstStart: of the first attempt.
  ///   - jitter: a random number, 0 to less than 1.
  package func next(after attempt: Attempt, firstStart: Timestamp, now: Timestamp, jitter: Double) -> Next {
    let isBusy = attempt.status.map(Self.isPassing(status:)) ?? false
    let isWanted = attempt.error.map(Self.isPassing) ?? isBusy
    guard isWanted, attempt.number < maximumAttempts else { return .end }
    // A clock that was set back gives nobody more time than the whole.
    let remaining = timeout - max(0, now.since(firstStart))
    let asked = isBusy ? attempt.retryAfter.flatMap { RetryAfter.seconds($0, now: now) } : nil
    let (earliest, latest) = asked.map { ($0, $0 + $0 * Self.spread) } ?? backoff(after: attempt.failures)
    guard earliest < remaining else {
      if asked == nil, remaining >= Self.shortestRest { return .retry(after: remaining / 2) }
      // A response is shown as it is rather than put aside for an attempt that cannot be.
      return attempt.error == nil ? .end : .timeout(after: max(0, remaining))
    }
    let wait = earliest + (min(latest, remaining) - earliest) * jitter
    return .retry(after: min(wait, remaining.nextDown))
  }

  /// Between half and all of what doubles with each failure.
  private func backoff(after failures: Int) -> (earliest: Double, latest: Double) {
    let limit = max(backoff, Self.maximumBackoff)
    // Doublings beyond these change nothing, as the shortest backoff is a millisecond.
    let full = (1..<min(max(1, failures), 64)).reduce(backoff) { full, _ in min(full * 2, limit) }
    return (full / 2, full)
  }
}

extension TransferOutcome {
  /// Why another attempt follows: the error, or the status with which the origin sent the request away.
  var retryReason: TransferError {
    if let error { return error }
    let status = response?.status ?? 0
    var error = TransferError(
      .badServerResponse, "the origin answered with status \(status)", failingURL: currentRequest.url)
    error.status = status
    return error
  }
}

// MARK: What passes

extension RetryPolicy {
  /// Too Many Requests (RFC 6585 §4) and Service Unavailable (RFC 9110 §15.6.4) say that later it may be otherwise.
  package static func isPassing(status: Int) -> Bool { status == 429 || status == 503 }

  /// Whether the same request may succeed later.
  package static func isPassing(_ error: TransferError) -> Bool {
    switch error.reason {
    case .url(let code): isPassing(code)
    case .ferry(let code): isPassing(code)
    }
  }

  package static func isPassing(_ code: URLErrorCode) -> Bool {
    switch code {
    // The network, a name server, or the way to the host: what a background session is for.
    case .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
      .notConnectedToInternet, .resourceUnavailable:
      true
    // The class of network that is there may not be used; another may come.
    case .dataNotAllowed: true
    // The handshake broke off; where a certificate was judged, the code is one of its own.
    case .secureConnectionFailed: true
    // The answer was cut short, or was none: an origin, or a proxy, that is being restarted answers so.
    case .badServerResponse, .zeroByteResource: true
    // This machine's disk is full, or has no descriptors left: that changes, and the bytes can be had again.
    case .cannotWriteToFile, .cannotCreateFile, .cannotCloseFile, .cannotMoveFile: true

    // Not known to be the network's; what leads here is mostly a setting that cannot be used.
    case .unknown: false
    // Somebody wanted it to end.
    case .cancelled, .userCancelledAuthentication: false
    // The request is wrong, and stays so.
    case .badURL, .unsupportedURL, .appTransportSecurityRequiresSecureConnection, .dataLengthExceedsMaximum:
      false
    // The origin answered, and would answer the same.
    case .httpTooManyRedirects, .redirectToNonExistentLocation, .cannotParseResponse, .cannotDecodeRawData,
      .cannotDecodeContentData, .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete:
      false
    // It is a question of who asks, or of whom one trusts: somebody has to change that.
    case .userAuthenticationRequired, .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired:
      false
    // The body that is to be sent is gone, or cannot be read.
    case .requestBodyStreamExhausted, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile,
      .cannotOpenFile, .cannotRemoveFile:
      false
    // The task may load from the cache only.
    case .cannotLoadFromNetwork: false
    }
  }

  package static func isPassing(_ code: FerryErrorCode) -> Bool {
    switch code {
    // Rules and limits of this service; that of attempts above all.
    case .destinationNotPermitted, .quotaExceeded, .bodyTooLarge, .attemptLimitReached: false
    }
  }
}
