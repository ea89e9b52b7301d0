internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// What the session's cache has to do with a request that is on its way. Pure.
struct CacheUse: Equatable {
  /// As the cache sees it.
  let request: CacheRequest
  /// Stored, and asked about or completed by what comes from the origin.
  var candidate: CachedResponse?
  /// The candidate is there in part: the rest is on its way, and nobody is shown that.
  var completesCandidate = false
  /// How the wire ended before all of the rest came.
  var failure: TransferError?
  /// What the request carries on its account.
  var fields: [HTTPHeaders.Field] = []
  /// Answers in place of what the origin says.
  var answer: CachedResponse?

  init(_ request: CacheRequest) { self.request = request }

  // MARK: A head

  /// What the head of an answer means for what is stored.
  enum Hearing: Equatable {
    /// The answer is the task's.
    case pass
    /// So it is, and what is stored is not right any more.
    case replaced(CachedResponse)
    /// So it is; what was to be completed is as it was.
    case incomplete
    /// The rest of what is stored: nobody is shown a part, the whole is made of both.
    case rest
    /// What is stored is of no use: it goes, and the request goes out once more as if there were nothing.
    case mismatched(CachedResponse)
    /// What is stored answers, with these fields; whether they are to be kept.
    case confirmed(CachedResponse, isStorable: Bool)
    /// The origin fails: something stale answers (RFC 5861 §4).
    case stale(CachedResponse)

    /// Whether the answer is anybody's.
    var passesAnswer: Bool {
      switch self {
      case .pass, .replaced, .incomplete: true
      case .rest, .mismatched, .confirmed, .stale: false
      }
    }
  }

  func hear(_ head: CacheResponseHead, at now: @autoclosure () -> Timestamp) -> Hearing {
    guard let candidate else { return .pass }
    guard !completesCandidate else {
      switch head.status {
      case 206 where Storability.permits(request, head): return .rest
      case 200..<300 where RangeJoin.isPart(head.headers): return .mismatched(candidate)
      // 304 answers no condition of a request that has only If-Range.
      case 206, 304, 416: return .mismatched(candidate)
      default: return .incomplete
      }
    }
    switch Revalidation.outcome(of: head, for: candidate, request: request) {
    case .confirmed(let updated):
      return .confirmed(updated, isStorable: Storability.permits(request, head))
    case .mismatched: return .mismatched(candidate)
    case .replaced:
      // What is not stored may be right still: what was stored is not.
      let isReplaced = (200...299).contains(head.status) || [404, 410].contains(head.status)
      return isReplaced ? .replaced(candidate) : .pass
    case .failed: return answerOnError(status: head.status, at: now()).map { .stale($0) } ?? .pass
    }
  }

  /// What answers, though stale, where the origin fails (RFC 5861 §4).
  /// - Parameter status: nil where there is no answer.
  func answerOnError(status: Int?, at now: Timestamp) -> CachedResponse? {
    guard let candidate, !completesCandidate,
      Revalidation.mayServeStaleOnError(candidate, for: request, status: status, at: now)
    else { return nil }
    return candidate
  }

  // MARK: The end of the wire

  /// What the task is answered with, once the wire is done with its request.
  enum Source: Equatable {
    case origin
    case stored(CachedResponse)
    /// What is stored, and what came of the rest.
    case both(CachedResponse)
  }

  /// - Parameters:
  ///   - status: of the answer, where there is one.
  ///   - error: how the wire ended.
  ///   - hasResponse: the task was shown an answer.
  func source(status: Int?, error: TransferError?, hasResponse: Bool, at now: Timestamp) -> Source {
    if let answer { return .stored(answer) }
    if completesCandidate, let candidate, status == 206 { return .both(candidate) }
    // Nothing came, or not all: something stale may do.
    guard error?.isOfNetwork == true, !hasResponse else { return .origin }
    return answerOnError(status: nil, at: now).map { .stored($0) } ?? .origin
  }
}

extension TransferError {
  /// The origin could not be reached, or not to the end.
  var isOfNetwork: Bool {
    switch reason {
    case .url(.timedOut), .url(.cannotFindHost), .url(.cannotConnectToHost), .url(.networkConnectionLost),
      .url(.dnsLookupFailed), .url(.notConnectedToInternet), .url(.badServerResponse):
      true
    default: false
    }
  }
}
