public import FoundationEssentials

/// The kinds of decisions that a delegate makes. Ferry's own addition.
///
/// A decision costs one more request to the service. A delegate that leaves some of its methods out should leave their decisions out, too.
public struct FerryDecisions: OptionSet, Sendable {
  /// The bits.
  public let rawValue: Int
  /// Creates a set of its bits.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// NTLM, Negotiate, client certificates, and trust in servers.
  public static let sessionChallenges = FerryDecisions(rawValue: 1)
  /// Basic and Digest logins, and those of SOCKS proxies.
  public static let taskChallenges = FerryDecisions(rawValue: 2)
  /// Redirects.
  public static let redirects = FerryDecisions(rawValue: 4)
  /// Responses of data and upload tasks.
  public static let responses = FerryDecisions(rawValue: 8)
  /// Responses that may be stored in the cache.
  public static let caching = FerryDecisions(rawValue: 16)
  /// Requests whose `earliestBeginDate` has come.
  public static let delayedRequests = FerryDecisions(rawValue: 32)
  /// All decisions.
  public static let all = FerryDecisions(rawValue: 63)
}

/// The receiver of a session's events. `URLSessionDelegate` in Apple's URLSession.
public protocol FerrySessionDelegate: AnyObject, Sendable {
  /// The decisions that the delegate makes, of those that its protocols have. All by default. Ferry's own addition.
  var decisions: FerryDecisions { get }

  /// The session has ended. This is its last call.
  func urlSession(_ session: FerrySession, didBecomeInvalidWithError error: (any Error)?)

  /// A server asks for a credential at the level of connections. Without this method, the task's method decides.
  func urlSession(
    _ session: FerrySession, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void)

  /// The async form of the method with a completion handler. It is called if the delegate lacks that method.
  func urlSession(
    _ session: FerrySession, didReceive challenge: FerryAuthenticationChallenge
  ) async -> (FerrySession.AuthChallengeDisposition, FerryCredential?)

  /// All tasks of a background session have ended, and their events were delivered.
  func urlSessionDidFinishEvents(forBackgroundURLSession session: FerrySession)
}

extension FerrySessionDelegate {
  /// All decisions.
  public var decisions: FerryDecisions { .all }
  /// Does nothing.
  public func urlSession(_ session: FerrySession, didBecomeInvalidWithError error: (any Error)?) {}
  /// Calls the async form.
  public func urlSession(
    _ session: FerrySession, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void
  ) {
    Task {
      let (disposition, credential) = await urlSession(session, didReceive: challenge)
      completionHandler(disposition, credential)
    }
  }
  /// Leaves the challenge to the task's method.
  public func urlSession(
    _ session: FerrySession, didReceive challenge: FerryAuthenticationChallenge
  ) async -> (FerrySession.AuthChallengeDisposition, FerryCredential?) {
    (.performDefaultHandling, .unimplemented)
  }
  /// Does nothing.
  public func urlSessionDidFinishEvents(forBackgroundURLSession session: FerrySession) {}
}

/// The receiver of a task's events. `URLSessionTaskDelegate` in Apple's URLSession.
public protocol FerrySessionTaskDelegate: FerrySessionDelegate {
  /// The task was created. The call precedes the return of the method that creates it, on the same thread.
  func urlSession(_ session: FerrySession, didCreateTask task: FerrySessionTask)

  /// The time of a task with an `earliestBeginDate` has come.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, willBeginDelayedRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerrySession.DelayedRequestDisposition, FerryRequest?) -> Void)

  /// The async form of the method with a completion handler. It is called if the delegate lacks that method.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, willBeginDelayedRequest request: FerryRequest
  ) async -> (FerrySession.DelayedRequestDisposition, FerryRequest?)

  /// The task waits for a usable network.
  func urlSession(_ session: FerrySession, taskIsWaitingForConnectivity task: FerrySessionTask)

  /// The origin redirects. The answer is the next request, or `nil` to end with this response.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerryRequest?) -> Void)

  /// The async form of the method with a completion handler. It is called if the delegate lacks that method.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest
  ) async -> FerryRequest?

  /// A server asks for a credential.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void)

  /// The async form of the method with a completion handler. It is called if the delegate lacks that method.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge
  ) async -> (FerrySession.AuthChallengeDisposition, FerryCredential?)

  /// A streamed upload needs its body, for the first time or again.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (FerryBodyStream?) -> Void)

  /// The async form of the method with a completion handler. It is called if the delegate lacks that method.
  func urlSession(
    _ session: FerrySession, needNewBodyStreamForTask task: FerrySessionTask
  ) async -> FerryBodyStream?

  /// A part of the body was sent. All counts are bytes.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64)

  /// A 1xx response has arrived.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    didReceiveInformationalResponse response: HTTPFerryResponse)

  /// The metrics of the task are complete.
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didFinishCollecting metrics: FerrySessionTaskMetrics)

  /// The task has ended. This is its last call. A status of 400 or more is no error.
  func urlSession(_ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?)
}

/// The receiver of the responses of data and upload tasks. `URLSessionDataDelegate` in Apple's URLSession.
public protocol FerrySessionDataDelegate: FerrySessionTaskDelegate {
  /// The response has arrived; its body follows after the answer.
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse,
    completionHandler: @escaping @Sendable (FerrySession.ResponseDisposition) -> Void)

  /// The async form of the method with a completion handler. It is called if the delegate lacks that method.
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse
  ) async -> FerrySession.ResponseDisposition

  /// The task continues as a download. The data task has no further calls.
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didBecome downloadTask: FerrySessionDownloadTask)

  /// A part of the body has arrived.
  func urlSession(_ session: FerrySession, dataTask: FerrySessionDataTask, didReceive data: Data)

  /// The session may store the response. The answer `nil` stores nothing.
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask,
    willCacheResponse proposedResponse: CachedFerryResponse,
    completionHandler: @escaping @Sendable (CachedFerryResponse?) -> Void)

  /// The async form of the method with a completion handler. It is called if the delegate lacks that method.
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask,
    willCacheResponse proposedResponse: CachedFerryResponse
  ) async -> CachedFerryResponse?
}

/// The receiver of downloads. `URLSessionDownloadDelegate` in Apple's URLSession.
public protocol FerrySessionDownloadDelegate: FerrySessionTaskDelegate {
  /// The file is complete. Move it or open it before the method returns; then it is deleted.
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didFinishDownloadingTo location: URL)

  /// The service has written a part of the file. All counts are bytes.
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)

  /// The download continues at this byte.
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64)
}
