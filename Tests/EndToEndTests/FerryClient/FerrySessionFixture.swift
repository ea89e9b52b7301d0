import EventLoop
import FerryClient
import Foundation
import Synchronization
import TestSupport

/// A service and an origin for programs that use FerryClient.
final class FerrySessionFixture: @unchecked Sendable {
  // Unchecked: the process is used by one test at a time.
  let ferry: FerryProcess
  let origin = ScenarioOrigin.make()
  private let sessions = Mutex<[FerrySession]>([])

  /// Uses the suite's service.
  init() throws { ferry = try .ofSuite() }
  /// Uses a service of its own.
  init(options: [String]) throws { ferry = try FerryProcess(options: options) }
  deinit { for session in sessions.withLock({ $0 }) { session.invalidateAndCancel() } }

  /// Returns a URL of the origin.
  func url(_ path: String) -> URL { URL(string: origin.url + path)! }

  /// Returns a configuration for the service. It has no cache, unless the test needs one.
  func configuration(_ kind: FerrySessionConfiguration = .default) -> FerrySessionConfiguration {
    kind.server = FerryServer(url: "http://127.0.0.1:\(ferry.port)")
    kind.urlCache = nil
    return kind
  }

  /// Creates a session, which ends with the fixture.
  func session(
    _ delegate: (any FerrySessionDelegate)? = nil, _ configuration: FerrySessionConfiguration? = nil,
    queue: FerryDelegateQueue? = nil
  ) -> FerrySession {
    let session = FerrySession(
      configuration: configuration ?? self.configuration(), delegate: delegate, delegateQueue: queue)
    sessions.withLock { $0.append(session) }
    return session
  }
}

/// A delegate that records its calls, in order.
class CallRecorder: FerrySessionDelegate, @unchecked Sendable {
  struct Record: Sendable {
    var calls: [String] = []
    var data = Data()
    var file: Data?
    var error: FerryError?
    var response: HTTPFerryResponse?
    var written: Int64 = 0
    var sent: Int64 = 0
    var metrics: FerrySessionTaskMetrics?
    var download: FerrySessionDownloadTask?
    var challenges: [String] = []
  }
  private let record = Mutex(Record())
  private let ends = Mutex<(count: Int, waiters: [(Int, Waiter)])>((0, []))
  var decisions: FerryDecisions { .all }

  var result: Record { record.withLock { $0 } }
  var calls: [String] { result.calls }
  func note(_ call: String, _ change: (inout Record) -> Void = { _ in }) {
    record.withLock { record in
      // Repeated progress counts as one call.
      if record.calls.last != call || !["data", "wrote", "sent"].contains(call) { record.calls.append(call) }
      change(&record)
    }
  }
  func noteEnd() {
    let waiters = ends.withLock { ends in
      ends.count += 1
      defer { ends.waiters.removeAll { $0.0 <= ends.count } }
      return ends.waiters.filter { $0.0 <= ends.count }.map(\.1)
    }
    for waiter in waiters { waiter.resume() }
  }
  /// Waits for this number of tasks' and sessions' ends.
  func end(_ count: Int = 1) async {
    let waiter = Waiter()
    let isWaiting = ends.withLock { ends in
      guard ends.count < count else { return false }
      ends.waiters.append((count, waiter))
      return true
    }
    if isWaiting { await waiter.wait() }
  }

  func urlSession(_ session: FerrySession, didBecomeInvalidWithError error: (any Error)?) {
    note("invalid") { $0.error = error.map { $0 as? FerryError } ?? $0.error }
    noteEnd()
  }
}

/// A recorder of the calls of tasks.
class TaskRecorder: CallRecorder, FerrySessionTaskDelegate, @unchecked Sendable {
  /// The next request of a redirect.
  var redirect: @Sendable (FerryRequest) -> FerryRequest? = { $0 }
  var login: FerryCredential?
  var body: FerryBodyStream?

  func urlSession(_ session: FerrySession, didCreateTask task: FerrySessionTask) { note("created") }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerryRequest?) -> Void
  ) {
    note("redirect \(response.statusCode)")
    completionHandler(redirect(request))
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void
  ) {
    note("challenge") { $0.challenges.append(challenge.protectionSpace.authenticationMethod) }
    guard let login, challenge.previousFailureCount == 0 else {
      return completionHandler(.performDefaultHandling, nil)
    }
    completionHandler(.useCredential, login)
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (FerryBodyStream?) -> Void
  ) {
    note("body")
    completionHandler(body)
  }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) { note("sent") { $0.sent = totalBytesSent } }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didFinishCollecting metrics: FerrySessionTaskMetrics
  ) { note("metrics") { $0.metrics = metrics } }
  func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) {
    note("complete") { $0.error = error as? FerryError }
    noteEnd()
  }
}

/// A recorder of the calls of data tasks.
class DataRecorder: TaskRecorder, FerrySessionDataDelegate, @unchecked Sendable {
  var disposition = FerrySession.ResponseDisposition.allow

  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse,
    completionHandler: @escaping @Sendable (FerrySession.ResponseDisposition) -> Void
  ) {
    note("response") { $0.response = response as? HTTPFerryResponse }
    completionHandler(disposition)
  }
  func urlSession(_ session: FerrySession, dataTask: FerrySessionDataTask, didReceive data: Data) {
    note("data") { $0.data += data }
  }
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didBecome downloadTask: FerrySessionDownloadTask
  ) { note("download") { $0.download = downloadTask } }
  func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask,
    willCacheResponse proposedResponse: CachedFerryResponse,
    completionHandler: @escaping @Sendable (CachedFerryResponse?) -> Void
  ) {
    note("cache")
    completionHandler(proposedResponse)
  }
}

/// A recorder of the calls of data tasks and downloads.
final class FullRecorder: DataRecorder, FerrySessionDownloadDelegate, @unchecked Sendable {
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didFinishDownloadingTo location: URL
  ) { note("finished") { $0.file = try? Data(contentsOf: location) } }
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) { note("wrote") { $0.written = totalBytesWritten } }
  func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) { note("resumed") }
}
