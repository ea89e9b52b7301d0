import Addresses
import HTTPCookies
import HTTPFields
import TransferCore
import TransferEngine
import TransferModel

@testable import TransferService

/// One sample of everything that the service and the worker exchange.
enum WorkerSamples {
  static let time = Timestamp(microseconds: 1_800_000_000_123_457)
  static let task = TaskID(at: time, random: (3, .max))
  static let session = SessionID(at: time, random: (5, 7))

  static let space = ProtectionSpace(
    host: "a.test", port: 443, protocolName: "https", realm: "räum \"1\"", authenticationMethod: .httpDigest,
    isProxy: true)
  static let password = Credential(user: "älice", password: "p\"w\\ \u{1F600}", persistence: .permanent)
  static let certificate = Credential(
    .certificate("-----BEGIN", privateKey: "key\nof it"), persistence: .forSession)
  static let point = ResumePoint(
    partial: PartialBody(offset: 1 << 40, total: -1, validator: "\"etag\""), source: task)

  static let request: TransferRequest = {
    var headers = HTTPHeaders()
    headers.append("Accept", "a/b")
    headers.append("Authorization", "Bearer secret")
    headers.append("accept", "c/d")
    var request = TransferRequest(
      url: "http://a.test/ä?q=1", method: "PATCH", headers: headers, timeoutInterval: 0.1)
    request.cachePolicy = .reloadIgnoringLocalCacheData
    request.httpShouldHandleCookies = false
    request.mainDocumentURL = "http://main.test/"
    request.networkAccess.allowsExpensiveNetworkAccess = false
    request.credential = password
    return request
  }()

  static let response: TransferResponse = {
    var headers = HTTPHeaders()
    headers.append("Set-Cookie", "a=1")
    headers.append("Set-Cookie", "b=2")
    var response = TransferResponse(
      url: "http://a.test/", status: 503, headers: headers, expectedContentLength: -1, httpVersion: "HTTP/2")
    response.fromCache = true
    return response
  }()

  static let progress: TaskProgress = {
    var progress = TaskProgress()
    (progress.countOfBytesSent, progress.countOfBytesExpectedToSend) = (1, 2)
    (progress.countOfBytesReceived, progress.countOfBytesExpectedToReceive) = (.max, -1)
    return progress
  }()

  static func challenge(_ error: URLErrorCode?) -> AuthenticationChallenge {
    var challenge = AuthenticationChallenge(space)
    challenge.proposedCredential = password
    challenge.previousFailureCount = 2
    challenge.failureResponse = response
    challenge.distinguishedNames = ["CN=ä", ""]
    challenge.serverTrust = ServerTrust(
      certificates: ["-----BEGIN\nä", "second"].map { pem in
        ServerTrust.Certificate(
          pem: pem, subject: "CN=a", issuer: "CN=b", notBefore: Timestamp(seconds: -1), notAfter: time,
          sha256: "aa", publicKeySHA256: "bb")
      }, error: error, message: "nobody knows it")
    return challenge
  }

  static let errors: [TransferError] = {
    var full = TransferError(
      .cannotConnectToHost, "no \"way\"", failingURL: "http://a/",
      underlying: .init(library: "libcurl", code: 7))
    full.resumeDataAvailable = true
    full.networkUnavailableReason = "cellular"
    return [
      full, TransferError(.cancelled, ""),
      TransferError(.destinationNotPermitted, "no", failingURL: "http://a", rule: "loopback"),
    ] + URLErrorCode.allCases.map { TransferError($0, "\($0)") }
      + FerryErrorCode.allCases.map { TransferError($0, "\($0)") }
  }()

  static let outcome: TransferOutcome = {
    var metrics = TransactionMetrics()
    (metrics.url, metrics.method, metrics.status) = ("http://a/", "GET", 200)
    (metrics.fetchStart, metrics.domainLookupStart, metrics.responseEnd) = (time, time, time)
    (metrics.networkProtocolName, metrics.isReusedConnection) = ("h2", true)
    (metrics.localAddress, metrics.localPort) = ("::1", 65_535)
    metrics.networkClasses = [.cellular, .constrained]
    (metrics.negotiatedTLSProtocolVersion, metrics.negotiatedTLSCipherSuite) = (
      "TLSv1.3", "TLS_AES_128_GCM_SHA256"
    )
    metrics.countOfRequestBodyBytesBeforeEncoding = 3
    metrics.countOfResponseBodyBytesAfterDecoding = .max
    var outcome = TransferOutcome(
      error: errors[0], currentRequest: request, response: response, progress: progress,
      transactions: [metrics, TransactionMetrics()], endedAt: time)
    (outcome.partial, outcome.size, outcome.sha256) = (point, 1 << 40, "ab")
    outcome.body = .memory([0, 255])
    return outcome
  }()

  static let cookie = Cookie(
    name: "n", value: "v;\"", domain: "a.test", isHostOnly: true, path: "/p", expiresDate: time,
    isSecure: true, isHTTPOnly: true, sameSite: .unrestricted, created: time, lastAccess: time)
  static let cookies: [CookieJar.Change] = [.stored(cookie), .removed(cookie.key)]

  static let commands: [BackgroundCommand] =
    [.submit(task)] + taskCommands.map { .task(task, $0) } + sessionCommands.map { .session($0) }
    + [.task(task, .retryNow), .task(task, .changeRequest(requestChange))]

  private static let requestChange = RequestChange(
    url: "http://a.test/new?a=1", headers: HTTPHeaders([.init(name: "X-A", value: "1")]), credential: password
  )

  static let taskCommands: [TaskCommand] = [
    .suspend, .resume, .cancel(keepsPartial: true), .cancel(keepsPartial: false),
    .answer(.challenge(.useCredential(password)), question: 7),
    .answer(.challenge(.useCredential(certificate)), question: 1),
    .answer(.challenge(.useNoCredential), question: 1), .answer(.challenge(.trust), question: 1),
    .answer(.challenge(.performDefaultHandling), question: 1),
    .answer(.challenge(.rejectProtectionSpace), question: 1), .answer(.byDefault, question: 2),
    .setPriority(0.1), .setLimit(bytesPerSecond: 1 << 40), .setLimit(bytesPerSecond: nil),
    .setBeginDate(time), .setBeginDate(nil),
  ]

  static let sessionCommands: [SessionCommand] = [
    .keepCredential(password, space), .keepCredential(certificate, space),
    .forgetCredentials([space, space]), .forgetCredentials([]), .setCookies([cookie]), .setCookies([]),
    .removeCookies(CookieFilter(path: "/p", name: "n")), .reset, .flush, .forget,
  ]

  /// The facts of background tasks, which the worker reports to the service.
  static let facts: [TransferFact] = [
    .began(task, at: time), .redirected(task, response, to: request, at: time),
    .notified(task, .informational(status: 103, headers: response.headers), at: time),
    .response(task, response, BodyReference(nil), at: time), .waitsForConnectivity(task, at: time),
    .asked(task, 1, .challenge(challenge(nil), .taskDidReceiveChallenge), at: time),
    .asked(
      task, 2, .challenge(challenge(.serverCertificateUntrusted), .sessionDidReceiveChallenge), at: time),
    .resumed(task, offset: 0, expectedTotal: -1, at: time), .authenticated(task, space, password),
    .authenticated(task, space, certificate), .progress(task, progress, at: time), .ended(task, outcome),
  ]

  static let news: [WorkerReport] =
    (facts + [.beganDelayed(task, at: time), .attemptReplaced(task, at: time)] + retries + bodies).map {
      .fact($0)
    } + [.changedCookies(session, cookies), .refused(count: 3)]

  /// Every form of a body.
  static let bodies: [TransferFact] = {
    let bodies: [RequestContent] = [
      .data([0, 255]), .file(FileID(at: time, random: (8, 8)), size: 3), .stream,
    ]
    let redirected = bodies.map { body -> TransferFact in
      var request = TransferRequest(url: "http://a.test/", body: body)
      request.networkServiceType = .callSignaling
      request.secretHeaderFields = ["X-Key"]
      return .redirected(task, response, to: request, at: time)
    }
    var outcome = TransferOutcome(
      error: nil, currentRequest: TransferRequest(url: "http://a.test/"), response: nil, progress: progress,
      transactions: [], endedAt: time)
    outcome.body = .file
    outcome.partial = .upload(UploadPoint(resource: "http://a.test/uploads/1", source: task))
    return redirected + [.ended(task, outcome)]
  }()

  static let retryWait = RetryWait(
    lastError: TransferError(.timedOut, ""), nextAttemptAt: time.adding(seconds: 9))

  /// Failed attempts that are retried.
  static let retries: [TransferFact] = {
    var busy = TransferError(
      .badServerResponse, "the origin answered with status 503", failingURL: "http://a/")
    busy.status = 503
    return [busy, errors[0]].map {
      .willRetry(
        task, count: 3, at: time, wait: RetryWait(lastError: $0, nextAttemptAt: time.adding(seconds: 9)))
    }
  }()

  /// Work with a value for every member.
  static let state: WorkState = {
    var state = WorkState()
    (state.attempts, state.retries, state.failures, state.deaths, state.crashes) = (3, 2, 5, 1, 7)
    (state.furthest, state.decisionCount) = (3, 4)
    (state.isSuspended, state.hasBegun, state.isActive) = (true, true, true)
    (state.startedAt, state.retryAt) = (time, Timestamp(microseconds: .max))
    (state.retryDelay, state.partial) = (0.1, point)
    (state.request, state.cancellation) = (request, .keepingPartial)
    state.openChallenge = ChallengeIdentity(challenge(.serverCertificateUntrusted))
    state.answers = [
      AnsweredChallenge(challenge: ChallengeIdentity(challenge(nil)), answer: .useCredential(password))
    ]
    return state
  }()

  /// Returns the credential, which descriptions leave out.
  static func secrets(of command: BackgroundCommand) -> Credential? {
    switch command {
    case .task(_, .answer(.challenge(.useCredential(let credential)), _)),
      .session(.keepCredential(let credential, _)):
      credential
    default: nil
    }
  }

  static func secrets(of news: WorkerReport) -> Credential? {
    switch news {
    case .fact(.authenticated(_, _, let credential)): credential
    case .fact(.asked(_, _, .challenge(let challenge, _), _)): challenge.proposedCredential
    case .fact(.redirected(_, _, let request, _)): request.credential
    case .fact(.ended(_, let outcome)): outcome.currentRequest.credential
    default: nil
    }
  }

  /// The exhaustive switch makes the compiler demand a name for each new case. The samples must then contain the case.
  static func name(_ command: BackgroundCommand) -> String {
    switch command {
    case .submit: "submit"
    case .task(_, let command): name(command)
    case .session(let command): name(command)
    }
  }

  private static func name(_ command: TaskCommand) -> String {
    switch command {
    case .suspend: "suspend"
    case .resume: "resume"
    case .cancel: "cancel"
    case .answer: "answer"
    case .setPriority: "setPriority"
    case .setLimit: "setLimit"
    case .setBeginDate: "setBeginDate"
    case .changeRequest: "changeRequest"
    case .retryNow: "retryNow"
    }
  }

  private static func name(_ command: SessionCommand) -> String {
    switch command {
    case .keepCredential: "keepCredential"
    case .forgetCredentials: "forgetCredentials"
    case .setCookies: "setCookies"
    case .removeCookies: "removeCookies"
    case .reset: "reset"
    case .flush: "flush"
    case .forget: "forget"
    }
  }

  static func name(_ news: WorkerReport) -> String {
    switch news {
    case .fact(let fact): name(fact)
    case .changedCookies: "changedCookies"
    case .refused: "refused"
    }
  }

  private static func name(_ fact: TransferFact) -> String {
    switch fact {
    case .began: "began"
    case .redirected: "redirected"
    case .notified: "notified"
    case .response: "response"
    case .accepted: "accepted"
    case .willCache: "willCache"
    case .waitsForConnectivity: "waitsForConnectivity"
    case .asked: "asked"
    case .resumed: "resumed"
    case .keptPartial: "keeps"
    case .authenticated: "authenticated"
    case .progress: "progress"
    case .ended: "ended"
    case .willRetry: "retries"
    case .beganDelayed: "beganDelayed"
    case .attemptReplaced: "wasTakenOver"
    }
  }
}
