internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// The cache's part in a running request. Pure.
struct CacheTransaction: Equatable {
  /// The request in the form that the cache uses.
  let request: CacheRequest
  /// The stored response that the origin's response confirms or completes.
  var candidate: CachedResponse?
  /// Whether the candidate is partial and the rest is requested. The task does not see the partial responses.
  var completesCandidate = false
  /// The error with which the request ended before the rest was complete.
  var failure: TransferError?
  /// The header fields that the request has for the cache: conditions, or a range.
  var fields: [HTTPHeaders.Field] = []
  /// The stored response that answers in place of the origin's.
  var answer: CachedResponse?

  init(_ request: CacheRequest) { self.request = request }

  // MARK: The response's head

  /// The effect of a response's head on the stored response.
  enum HeadEffect: Equatable {
    /// The response is the task's.
    case pass
    /// The response is the task's, and the stored response is no longer valid.
    case replaced(CachedResponse)
    /// The response is the task's, and the partial response stays as before.
    case incomplete
    /// The response has the rest of the stored part. The task gets the whole of both.
    case rest
    /// The stored response is useless: delete it, and send the request as if nothing were cached.
    case mismatched(CachedResponse)
    /// The stored response answers, with these fields. `isStorable` says whether to store them.
    case confirmed(CachedResponse, isStorable: Bool)
    /// The origin has failed: a stale response answers (RFC 5861 §4).
    case stale(CachedResponse)

    /// Whether the origin's response is the task's.
    var passesAnswer: Bool {
      switch self {
      case .pass, .replaced, .incomplete: true
      case .rest, .mismatched, .confirmed, .stale: false
      }
    }
  }

  func handle(_ head: CacheResponseHead, at now: @autoclosure () -> Timestamp) -> HeadEffect {
    guard let candidate else { return .pass }
    guard !completesCandidate else {
      switch head.status {
      case 206 where Storability.permits(request, head): return .rest
      case 200..<300 where RangeJoin.isPart(head.headers): return .mismatched(candidate)
      // A request with only If-Range has no condition that a 304 could answer.
      case 206, 304, 416: return .mismatched(candidate)
      default: return .incomplete
      }
    }
    switch Revalidation.outcome(of: head, for: candidate, request: request) {
    case .confirmed(let updated):
      return .confirmed(updated, isStorable: Storability.permits(request, head))
    case .mismatched: return .mismatched(candidate)
    case .replaced:
      // A response that is not stored leaves the stored one valid, unless its status replaces it.
      let isReplaced = (200...299).contains(head.status) || [404, 410].contains(head.status)
      return isReplaced ? .replaced(candidate) : .pass
    case .failed: return answerOnError(status: head.status, at: now()).map { .stale($0) } ?? .pass
    }
  }

  /// Returns the stale response that may answer if the origin fails (RFC 5861 §4).
  /// - Parameter status: The response's status; `nil` if there was no response.
  func answerOnError(status: Int?, at now: Timestamp) -> CachedResponse? {
    guard let candidate, !completesCandidate,
      Revalidation.mayServeStaleOnError(candidate, for: request, status: status, at: now)
    else { return nil }
    return candidate
  }

  // MARK: The end of the request

  /// The source of the task's response after the request has ended.
  enum Source: Equatable {
    case origin
    case stored(CachedResponse)
    /// The stored part and the received part.
    case both(CachedResponse)
  }

  /// - Parameters:
  ///   - status: The response's status; `nil` if there was no response.
  ///   - error: The error with which the request ended on the wire.
  ///   - hasResponse: Whether the task was shown a response.
  func source(status: Int?, error: TransferError?, hasResponse: Bool, at now: Timestamp) -> Source {
    if let answer { return .stored(answer) }
    if completesCandidate, let candidate, status == 206 { return .both(candidate) }
    // A missing or incomplete response allows a stale one.
    guard error?.isOfNetwork == true, !hasResponse else { return .origin }
    return answerOnError(status: nil, at: now).map { .stored($0) } ?? .origin
  }
}

extension TransferError {
  /// Whether the origin could not be reached, or the connection failed.
  var isOfNetwork: Bool {
    switch reason {
    case .url(.timedOut), .url(.cannotFindHost), .url(.cannotConnectToHost), .url(.networkConnectionLost),
      .url(.dnsLookupFailed), .url(.notConnectedToInternet), .url(.badServerResponse):
      true
    default: false
    }
  }
}
