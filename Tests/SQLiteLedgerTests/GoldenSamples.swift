import Crypto
import Foundation
import HTTPCookies
import HTTPFields
import JSON
import Ledger
import LedgerConformance

@testable import SQLiteLedger
@testable import TransferModel
import Records

/// The values in the golden documents, one of each kind.
struct GoldenSamples {
  static let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
  static let time = Timestamp(microseconds: 1_800_000_000_123_456)

  static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }

  var configuration: SessionConfiguration {
    var sample = SessionConfiguration()
    sample.requestCachePolicy = .reloadIgnoringLocalCacheData
    sample.timeoutIntervalForRequest = 12.5
    sample.timeoutIntervalForResource = 3600
    sample.httpMaximumConnectionsPerHost = 3
    sample.httpShouldUsePipelining = true
    sample.httpShouldSetCookies = false
    sample.httpCookieAcceptPolicy = .never
    sample.httpAdditionalHeaders = HTTPHeaders([
      .init(name: "Authorization", value: "Bearer golden"), .init(name: "X-Plain", value: "sealed:not"),
    ])
    sample.secretHeaderFields = ["X-Plain"]
    sample.tlsMinimumSupportedProtocolVersion = .v11
    sample.tlsMaximumSupportedProtocolVersion = .v12
    sample.tlsAdditionalRootCertificates = "-----BEGIN CERTIFICATE-----"
    sample.tlsPinnedPublicKeys = [PinnedHost(pattern: "*.a.test", keys: [[UInt8](repeating: 9, count: 32)])]
    sample.proxies.http = .init(
      server: ProxyServer(kind: .http, host: "p.test", port: 3128),
      credential: Credential(user: "alice", password: "p:w@d"))
    sample.proxies.https = .init(server: ProxyServer(kind: .http, host: "::1", port: 8080), credential: nil)
    sample.proxies.socks5 = .init(
      server: ProxyServer(kind: .socks5, host: "s.test", port: 1080), credential: nil)
    sample.proxies.noProxy = ProxyExceptions(["*.b.test", "10.0.0.0/8"].compactMap { ProxyException($0) })
    sample.urlCache = CacheCapacities(memoryCapacity: 1, diskCapacity: 2)
    sample.urlCredentialStorage = false
    sample.waitsForConnectivity = true
    sample.networkAccess.allowsCellularAccess = false
    sample.networkAccess.allowsExpensiveNetworkAccess = false
    sample.networkAccess.allowsConstrainedNetworkAccess = false
    sample.isDiscretionary = true
    sample.sessionSendsLaunchEvents = false
    sample.retry = RetryConfiguration()
    sample.retry?.maximumAttempts = 4
    sample.retry?.backoff = 2.5
    sample.maximumBytesPerSecond = 1000
    sample.bodyRetention = 60
    sample.allowsInsecureRedirects = true
    return sample
  }

  var delegate: SessionDelegate {
    var sample = SessionDelegate()
    sample.sessionChallenges = .ask
    sample.taskChallenges = .default
    sample.asksForRedirects = true
    sample.asksForResponses = true
    sample.asksForCaching = true
    sample.asksForDelayedRequests = true
    sample.decisionTimeout = 7.5
    sample.webhook = Webhook(url: "http://a.test/hook", secret: "whsec_Z29sZGVuZ29sZGVuZ29sZGVuZ29sZGVu")
    sample.events = [.taskDidComplete, .taskDidReceiveChallenge]
    sample.webhookAnswers = true
    return sample
  }

  var session: TransferSession {
    var sample = TransferSession(
      id: Self.id(1), createdAt: Self.time, description: "a \"session\"", configuration: configuration,
      delegate: delegate, tenant: Tenant(name: "t1"))
    sample.state = .invalidating
    return sample
  }

  /// A session with the members that only background sessions have.
  var background: TransferSession {
    var sample = TransferSession(
      id: Self.id(2), type: .background, createdAt: Self.time, description: nil,
      configuration: SessionConfiguration(),
      delegate: SessionDelegate(), identifier: "com.example.a")
    sample.owesFinishedEvents = true
    return sample
  }

  var groupCounts: GroupCounts {
    var counts = GroupCounts()
    (counts.succeeded, counts.failed, counts.cancelled) = (3, 2, 1)
    (counts.countOfBytesSent, counts.countOfBytesReceived) = (5, 1 << 40)
    return counts
  }

  var tags: TaskTags {
    TaskTags(group: "import-2026-11", labels: [TaskLabel(key: "customer", value: "17")])
  }

  var named: NamedConfiguration {
    NamedConfiguration(
      name: ConfigurationName(tenant: .default, text: "golden"), configuration: configuration,
      createdAt: Self.time,
      updatedAt: Self.time.adding(seconds: 1))
  }

  var request: TransferRequest {
    var sample = TransferRequest(
      url: "http://a.test/?q=sealed:x", method: "POST",
      headers: HTTPHeaders([
        .init(name: "Authorization", value: "Bearer golden"), .init(name: "Accept", value: "a/b"),
      ]), body: .data([0, 1, 255]), timeoutInterval: 2.5)
    sample.cachePolicy = .returnCacheDataElseLoad
    sample.httpShouldHandleCookies = false
    sample.mainDocumentURL = "http://b.test/"
    sample.networkAccess.allowsCellularAccess = false
    sample.credential = Credential(user: "alice", password: "golden")
    sample.secretHeaderFields = ["X-Plain"]
    return sample
  }

  var task: TransferTask {
    var specification = TaskSpecification(kind: .download, request: request)
    specification.priority = 0.75
    specification.description = "täsk"
    specification.completion = Webhook(url: "http://a.test/done", secret: "whsec_golden")
    specification.earliestBeginDate = Self.time.adding(seconds: 9)
    specification.maximumBytesPerSecond = 4096
    specification.resumePoint = point
    specification.hasInvalidResumeData = true
    specification.isAwaited = true
    var sample = TransferTask(
      id: Self.id(3), sessionID: Self.id(1), taskIdentifier: 5, createdAt: Self.time,
      specification: specification)
    sample.lifecycle = TaskLifecycle(state: .completed, suspendCount: 0)
    sample.currentRequest = request
    sample.currentRequest.url = "http://c.test/"
    sample.currentRequest.method = "PUT"
    sample.currentRequest.body = .data([7, 0, 255])
    sample.response = TransferResponse(
      url: "http://c.test/", status: 404,
      headers: HTTPHeaders([
        .init(name: "Content-Type", value: "text/html; charset=utf-8"),
        .init(name: "Set-Cookie", value: "a=golden"),
      ]), expectedContentLength: 5, httpVersion: "HTTP/2")
    sample.response?.fromCache = true
    sample.error = TransferError(
      .networkConnectionLost, "gone", failingURL: "http://c.test/",
      underlying: .init(library: "libcurl", code: 56))
    sample.error?.networkUnavailableReason = "cellular"
    sample.error?.resumeDataAvailable = true
    sample.progress.countOfBytesSent = 3
    sample.progress.countOfBytesExpectedToSend = 3
    sample.progress.countOfBytesReceived = 4
    sample.progress.countOfBytesExpectedToReceive = 5
    sample.retryCount = 2
    sample.partial = point
    sample.partialExpiresAt = Self.time.adding(seconds: 60)
    sample.downloadTask = Self.id(4)
    sample.body = TaskBody(size: 5, sha256: "ab", expiresAt: Self.time.adding(seconds: 70))
    sample.firstAttempt = .started(Self.time.adding(seconds: 1))
    sample.completedAt = Self.time.adding(seconds: 2)
    return sample
  }

  private var point: ResumePoint {
    ResumePoint(
      partial: PartialBody(offset: 4, total: 5, validator: "\"v\""), source: Self.id(9))
  }

  var metrics: TaskMetrics {
    var transaction = TransactionMetrics()
    transaction.url = "http://a.test/?token=golden"
    transaction.method = "POST"
    transaction.status = 404
    transaction.fetchStart = Self.time
    return TaskMetrics(start: Self.time, end: Self.time.adding(seconds: 2), transactions: [transaction])
  }

  var credential: StoredCredential {
    StoredCredential(
      session: Self.id(1),
      space: ProtectionSpace(
        host: "a.test", port: 443, protocolName: "https", realm: "r", authenticationMethod: .httpBasic,
        isProxy: true),
      credential: Credential(user: "alice", password: "golden", persistence: .permanent))
  }

  var certificate: StoredCredential {
    StoredCredential(
      session: Self.id(1),
      space: ProtectionSpace(
        host: "b.test", port: 443, protocolName: "https", authenticationMethod: .clientCertificate),
      credential: Credential(.certificate("CERT", privateKey: "KEY"), persistence: .permanent))
  }

  var cookie: Cookie {
    Cookie(
      name: "n", value: "golden", domain: "a.test", isHostOnly: false, path: "/p", expiresDate: Self.time,
      isSecure: true, isHTTPOnly: true, sameSite: .strict, created: Self.time, lastAccess: Self.time)
  }

  var delivery: WebhookDelivery {
    var sample = WebhookDelivery(
      id: Self.id(6), tenant: session.tenant, sessionID: Self.id(1), taskID: Self.id(3),
      type: .taskDidComplete, destination: WebhookDelivery.sampleDestination,
      webhook: Webhook(url: "http://a.test/done", secret: "whsec_golden"),
      payload: Array(#"{"type":"task.didComplete","data":{"headers":{"Set-Cookie":"a=golden"}}}"#.utf8),
      createdAt: Self.time, order: .none, decisionID: Self.id(7))
    sample.restore([DeliveryAttempt(at: Self.time, status: 500, error: "no")], count: 2)
    sample.schedulePlace = 2
    return sample
  }

  /// A delivery with all members of an attempt.
  var attempted: WebhookDelivery {
    var sample = delivery
    sample.restore(
      [DeliveryAttempt(at: Self.time, status: 500, latency: 0.25, reply: "no", error: "no")], count: 1)
    return sample
  }

  var endpoint: WebhookEndpoint {
    var settings = WebhookEndpoint.Settings(url: "http://a.test/hook?token=golden")
    settings.description = "d"
    settings.events = [.taskDidComplete, .taskDidCreate]
    settings.order = .none
    settings.headers.append("X-Token", "golden")
    settings.signature = .v1a
    settings.maximumConcurrency = 3
    settings.maximumPerSecond = 2.5
    var sample = WebhookEndpoint(
      id: Self.id(8), tenant: session.tenant, createdAt: Self.time, settings: settings,
      keys: [
        SigningKey(.v1a, [1, 2], publicKey: [3]),
        SigningKey(.v1, [4], expiresAt: Self.time.adding(seconds: 9)),
      ])
    sample.disabledReason = "gone"
    sample.failingSince = Self.time
    sample.revision = 7
    return sample
  }

  var decision: Decision {
    var sample = Decision(
      id: Self.id(7), type: .taskWillPerformHTTPRedirection, sessionID: Self.id(1), taskID: Self.id(3),
      createdAt: Self.time,
      expiresAt: Self.time.adding(seconds: 60), defaultAnswer: "follow",
      arguments: Array(#"{"response":{"headers":{"Set-Cookie":"a=golden"}}}"#.utf8))
    sample.state = .answered
    sample.answer = Array(#"{"request":{"url":"http://a.test/?token=golden"}}"#.utf8)
    sample.answerTag = [1, 2, 3]
    return sample
  }

  var reply: IdempotentReply {
    IdempotentReply(
      key: IdempotencyKey(tenant: .default, text: "k"), digest: [1, 2], status: 201,
      contentType: "application/json", location: "/v1/x",
      body: Array(#"{"headers":{"X-Custom":"golden"}}"#.utf8), createdAt: Self.time)
  }

  var event: TransferEvent {
    TransferEvent(
      .dataTaskDidReceiveResponse, at: Self.time, session: Self.id(1), task: Self.id(3),
      .response(
        task.response
          ?? TransferResponse(
            url: "", status: 0, headers: HTTPHeaders(), expectedContentLength: 0, httpVersion: "")))
  }

  var file: StoredFile {
    StoredFile(
      id: Self.id(8), tenant: .default, createdAt: Self.time, size: 3, sha256: "ab", contentType: "a/b",
      fromTask: Self.id(3))
  }

  /// Changes that store all samples.
  var changes: [LedgerChange] {
    var first = LedgerChange()
    first.sessions = [session, background]
    first.lastIdentifiers = [session.id: 5]
    first.createdTasks = [task]
    first.configurations = [named]
    first.credentials = [credential, certificate]
    first.cookies = [(session.id, .stored(cookie))]
    first.newDeliveries = [delivery]
    first.newDecisions = [decision]
    first.newFiles = [file]
    first.replaceReply(reply, about: nil)
    first.events = [event]
    first.tags = [task.id: tags]
    var second = LedgerChange()
    var ended = task
    ended.metrics = metrics
    second.updatedTasks = [ended]
    second.settledDecisions = [SettledDecision(decision)]
    second.updatedDeliveries = [delivery]
    return [first, second]
  }
}
