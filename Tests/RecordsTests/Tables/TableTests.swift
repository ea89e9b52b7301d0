import Addresses
import HTTPCookies
import HTTPFields
import Testing
import TransferModel

@testable import Records

/// Writes and reads values of all types, with every member set.
@Suite struct TableTests {
  private static let time = Timestamp(microseconds: 1_800_000_000_123_457)
  private static let task = TaskID(at: time, random: (3, .max))
  private static let stamp = BlobStamp(epoch: 7, attempt: 2)
  private static let space = ProtectionSpace(
    host: "a.test", port: 443, protocolName: "https", realm: "räum", authenticationMethod: .httpDigest,
    isProxy: true)
  private static let credential = Credential(user: "älice", password: "p\"w", persistence: .permanent)
  private static let headers = HTTPHeaders([
    .init(name: "Set-Cookie", value: "a=1"), .init(name: "Set-Cookie", value: "b=2"),
    .init(name: "X", value: ""),
  ])

  private static let request: TransferRequest = {
    var request = TransferRequest(
      url: "http://a.test/ä", method: "PATCH", headers: headers, body: .data([0, 255]), timeoutInterval: 0.5)
    request.cachePolicy = .returnCacheDataElseLoad
    request.httpShouldHandleCookies = false
    request.mainDocumentURL = "http://b.test/"
    request.networkAccess.allowsCellularAccess = false
    request.networkServiceType = .video
    request.credential = Credential(user: "u", password: "p")
    request.secretHeaderFields = ["X"]
    return request
  }()

  private static let response: TransferResponse = {
    var response = TransferResponse(
      url: "http://a.test/", status: 503, headers: headers, expectedContentLength: 9, httpVersion: "HTTP/2")
    response.fromCache = true
    return response
  }()

  private static let error: TransferError = {
    var error = TransferError(
      .destinationNotPermitted, "no \"way\"", failingURL: "http://a/", rule: "loopback")
    error.underlying = .init(library: "libcurl", code: 7)
    error.networkUnavailableReason = "cellular"
    error.status = 503
    error.resumeDataAvailable = true
    return error
  }()

  private static let delegate: SessionDelegate = {
    var delegate = SessionDelegate()
    (delegate.sessionChallenges, delegate.taskChallenges) = (.ask, .default)
    (delegate.asksForRedirects, delegate.asksForResponses) = (true, true)
    (delegate.asksForCaching, delegate.asksForDelayedRequests) = (true, true)
    delegate.decisionTimeout = 2.5
    delegate.webhook = Webhook(url: "http://a.test/hook", secret: "whsec_AAAA")
    delegate.events = [.taskDidComplete]
    delegate.webhookAnswers = true
    return delegate
  }()

  private static let configuration: SessionConfiguration = {
    var one = SessionConfiguration()
    one.requestCachePolicy = .reloadIgnoringLocalCacheData
    (one.timeoutIntervalForRequest, one.timeoutIntervalForResource) = (12.5, 3600)
    (one.httpMaximumConnectionsPerHost, one.httpShouldUsePipelining) = (3, true)
    (one.httpShouldSetCookies, one.httpCookieAcceptPolicy) = (false, .never)
    (one.httpAdditionalHeaders, one.secretHeaderFields) = (headers, ["X"])
    (one.tlsMinimumSupportedProtocolVersion, one.tlsMaximumSupportedProtocolVersion) = (.v11, .v12)
    one.tlsAdditionalRootCertificates = "-----BEGIN"
    one.tlsPinnedPublicKeys = [PinnedHost(pattern: "*.a.test", keys: [[UInt8](repeating: 9, count: 32)])]
    one.proxies.http = ProxyConfiguration.Entry("http://alice:p%3Aw%40d@p.test:3128", .http)
    one.proxies.https = ProxyConfiguration.Entry("[::1]:8080", .http)
    one.proxies.socks5 = ProxyConfiguration.Entry("socks5://s.test", .socks5)
    one.proxies.noProxy = ProxyExceptions(["*.b.test", "10.0.0.0/8"].compactMap { ProxyException($0) })
    one.urlCache = CacheCapacities(memoryCapacity: 1, diskCapacity: 0)
    (one.urlCredentialStorage, one.waitsForConnectivity) = (false, true)
    one.networkAccess.allowsExpensiveNetworkAccess = false
    (one.allowsInsecureRedirects, one.networkServiceType) = (true, .voice)
    (one.isDiscretionary, one.sessionSendsLaunchEvents) = (true, false)
    one.retry = RetryConfiguration()
    one.retry?.maximumAttempts = 4
    (one.maximumBytesPerSecond, one.bodyRetention) = (1000, 60)
    return one
  }()

  private static let metrics: TransactionMetrics = {
    var one = TransactionMetrics()
    (one.url, one.method, one.status) = ("http://a/", "GET", 200)
    for (number, path) in [
      \TransactionMetrics.fetchStart, \.domainLookupStart, \.domainLookupEnd, \.connectStart,
      \.secureConnectionStart, \.secureConnectionEnd, \.connectEnd, \.requestStart, \.requestEnd,
      \.responseStart, \.responseEnd,
    ].enumerated() {
      one[keyPath: path] = time.adding(seconds: Double(number))
    }
    (one.networkProtocolName, one.isFromCache) = ("h2", true)
    (one.isReusedConnection, one.isProxyConnection) = (true, true)
    (one.localAddress, one.localPort, one.remoteAddress, one.remotePort) = ("::1", 1, "::2", 65_535)
    one.networkClasses = [.cellular, .constrained]
    (one.negotiatedTLSProtocolVersion, one.negotiatedTLSCipherSuite) = ("TLSv1.3", "TLS_X")
    (one.countOfRequestHeaderBytesSent, one.countOfRequestBodyBytesSent) = (1, 2)
    (one.countOfRequestBodyBytesBeforeEncoding, one.countOfResponseHeaderBytesReceived) = (3, 4)
    (one.countOfResponseBodyBytesReceived, one.countOfResponseBodyBytesAfterDecoding) = (5, .max)
    return one
  }()

  private static let cookie = Cookie(
    name: "n", value: "v;\"", domain: "a.test", isHostOnly: false, path: "/p", expiresDate: time,
    isSecure: true, isHTTPOnly: true, sameSite: .unrestricted, created: time,
    lastAccess: time.adding(seconds: 1))

  private static let placed = PlacedFile(
    file: "/a", mark: FileMark(inode: .max, size: 5, modifiedAt: .max))

  private static let outcome: TransferOutcome = {
    var one = TransferOutcome(
      error: nil, currentRequest: request, response: response, progress: TaskProgress(), transactions: [],
      endedAt: time)
    (one.body, one.blob) = (.file, stamp)
    (one.size, one.sha256) = (5, "ab")
    return one
  }()

  private func again<Value: Record>(_ value: Value) throws -> Value {
    try Document.read(Value.self, Document.write(value))
  }

  /// Fails if a member of the sample equals that of `blank`. A new member of a type must therefore be added to the sample and the table.
  private func check<Value: Record & Equatable>(_ sample: Value, _ blank: Value) throws {
    #expect(try again(sample) == sample)
    #expect(try again(blank) == blank)
    for (one, other) in zip(Mirror(reflecting: sample).children, Mirror(reflecting: blank).children) {
      #expect("\(one.value)" != "\(other.value)", "\(Value.self).\(one.label ?? "") is not in the sample")
    }
  }

  @Test func `every member is read as it was written`() throws {
    try check(Self.request, TransferRequest(url: "", method: "GET"))
    try check(
      Self.response,
      TransferResponse(
        url: "", status: 1, headers: HTTPHeaders(), expectedContentLength: -1, httpVersion: ""))
    try check(Self.error, TransferError(.cancelled, ""))
    try check(Self.delegate, SessionDelegate())
    try check(Self.configuration, SessionConfiguration())
    try check(Self.metrics, TransactionMetrics())
    try check(
      Self.cookie,
      Cookie(
        name: "", value: "", domain: "", isHostOnly: true, created: .init(seconds: 0),
        lastAccess: .init(seconds: 0)))
    try check(Self.space, ProtectionSpace(host: "", port: 0, protocolName: ""))
    try check(
      TaskBody(size: 5, sha256: "ab", expiresAt: Self.time, blob: Self.stamp, placed: Self.placed),
      TaskBody(size: 0, sha256: "", expiresAt: nil))
    try check(Self.placed, PlacedFile(file: "", mark: FileMark(inode: 0, size: 0, modifiedAt: 0)))
    try check(Self.placed.mark, FileMark(inode: 0, size: 0, modifiedAt: 0))
    try check(Destination(file: "/a", ifExists: .rename), Destination(file: ""))
  }

  @Test(
    arguments: [
      Credential(user: "", password: "", persistence: .none), credential,
      Credential(.certificate("-----BEGIN", privateKey: "key\nof it"), persistence: .forSession),
    ])
  func `credentials are read as they were written`(_ credential: Credential) throws {
    #expect(try again(credential) == credential)
    let stored = StoredCredential(session: .shared, space: Self.space, credential: credential)
    #expect(try again(stored) == stored)
  }

  @Test func `rows of another session are refused`() throws {
    let other = SessionID(high: 5, low: 7)
    let credential = StoredCredential(session: .shared, space: Self.space, credential: Self.credential)
    let cookie = StoredCookie(session: .shared, cookie: Self.cookie)
    let fault = RecordFault(pointer: "/session", "is not that of the row")
    #expect(try credential.checked(is: .shared) == credential)
    #expect(throws: fault) { try credential.checked(is: other) }
    #expect(try cookie.checked(is: .shared) == cookie)
    #expect(throws: fault) { try cookie.checked(is: other) }
  }

  @Test(
    arguments: [
      .data([]), .data([0, 255, 13, 10]), .file(FileID(high: 1, low: 2), size: 1 << 40), .stream,
      .spooled(SpooledBody(size: 1 << 40, blob: stamp, key: [UInt8](repeating: 3, count: 32))), nil,
    ] as [RequestContent?])
  func `request bodies are read as they were written`(_ body: RequestContent?) throws {
    var request = Self.request
    request.body = body
    #expect(try again(request) == request)
  }

  @Test(
    arguments: [
      .upload(UploadPoint(resource: "http://a/r", source: task)),
      .upload(UploadPoint(resource: "http://a/r", source: task, version: 6)),
      .download(
        DownloadPoint(partial: PartialBody(offset: 1 << 40, total: -1, validator: "\"v\""), source: task)),
      .download(
        DownloadPoint(
          partial: PartialBody(offset: 1, total: 2, validator: "v", resource: "http://a/"), source: task,
          blob: stamp)),
    ] as [ResumePoint])
  func `resume points are read as they were written`(_ point: ResumePoint) throws {
    #expect(try again(point) == point)
    var request = Self.request
    request.body = .file(FileID(high: 1, low: 2), size: 3)
    let data = ResumeData(request: request, point: point, tenant: Tenant(name: "t1"))
    #expect(try again(data) == data)
  }

  @Test func `delegate of a task keeps its given members`() throws {
    for member in TaskDelegate.Member.allCases {
      let delegate = TaskDelegate(Self.delegate, given: [member])
      #expect(try again(delegate) == delegate)
    }
  }

  // MARK: Tasks

  private static let specification: TaskSpecification = {
    var one = TaskSpecification(kind: .data, request: request)
    one.resume = true
    (one.priority, one.description) = (0.25, "a \"task\"")
    one.completion = Webhook(url: "http://a.test/done", secret: "whsec_AAAA")
    one.isAwaited = true
    // An earliest begin date in the past is returned as it was sent.
    one.earliestBeginDate = Timestamp(seconds: -1)
    one.maximumBytesPerSecond = 1000
    one.preferences.countOfBytesClientExpectsToSend = 1
    one.preferences.countOfBytesClientExpectsToReceive = 2
    one.preferences.prefersIncrementalDelivery = false
    one.preferences.delegate = TaskDelegate(delegate, given: [.webhook, .redirects])
    one.preferences.requirements.failsOnStatus = true
    one.preferences.requirements.expected = ExpectedBody(size: 3, sha256: "ab")
    one.preferences.retry = RetryConfiguration()
    one.preferences.retry?.statuses = [500, 599]
    one.preferences.retryOf = task
    one.preferences.destination = Destination(file: "/a", ifExists: .replace)
    one.received = outcome
    one.isDiscretionary = true
    one.resumePoint = ResumePoint(
      partial: PartialBody(offset: 1, total: 2, validator: "v"), source: task, blob: stamp)
    one.hasInvalidResumeData = true
    return one
  }()

  private static func made(_ specification: TaskSpecification) -> TransferTask {
    TransferTask(
      id: task, sessionID: .shared, taskIdentifier: 1, createdAt: time, specification: specification)
  }

  /// Returns the task as a ledger reads it, from its columns and documents.
  private func again(_ task: TransferTask) throws -> TransferTask {
    let specification = try TaskSpecification(
      document: task.specificationDocument, kind: task.kind, body: task.originalRequest.body?.ownBytes)
    var read = Self.made(specification)
    read.lifecycle = task.lifecycle
    try read.restore(task.outcomeDocument)
    return read
  }

  @Test func `specification of a task is read as it was written`() throws {
    let blank = TaskSpecification(kind: .data, request: TransferRequest(url: "", method: ""))
    for (one, other) in zip(
      Mirror(reflecting: Self.specification).children, Mirror(reflecting: blank).children)
    where one.label != "kind" {
      #expect("\(one.value)" != "\(other.value)", "\(one.label ?? "") is not in the sample")
    }
    let kinds = TaskKind.allCases.map { kind in
      var specification = Self.specification
      specification.kind = kind
      specification.preferences = TaskPreferences(of: kind)
      return specification
    }
    for specification in [Self.specification, blank] + kinds {
      let task = Self.made(specification)
      #expect(try again(task) == task)
      #expect(task.isSpecified(like: Self.made(task.specification)))
    }
    #expect(!Self.made(Self.specification).isSpecified(like: Self.made(blank)))
  }

  /// The members outside the second document: columns, the specification, and state that only a running service has.
  private static let notInTheOutcome: Set = [
    "id", "sessionID", "taskIdentifier", "kind", "createdAt", "originalRequest", "completion", "resumePoint",
    "ownPreferences", "description", "priority", "earliestBeginDate", "maximumBytesPerSecond", "metrics",
    "hasInvalidResumeData", "isAwaited", "isDiscretionary",
    // A reference, which prints the same for all values.
    "currentRequest",
  ]

  @Test func `state of a task is read as it was written`() throws {
    var specification = Self.specification
    specification.received = nil
    let blank = Self.made(specification)
    var task = blank
    _ = task.lifecycle.resume()
    task.activity = .waitingToRetry
    task.currentRequest.url = "http://c.test/"
    task.currentRequest.body = .data([7, 0, 255])
    task.response = Self.response
    task.progress.countOfBytesReceived = 4
    task.progress.countOfBytesExpectedToSend = 0
    task.error = Self.error
    task.body = TaskBody(size: 5, sha256: "ab", expiresAt: Self.time, blob: Self.stamp)
    task.partial = ResumePoint(
      partial: PartialBody(offset: 4, total: 5, validator: "v"), source: Self.task, blob: Self.stamp)
    task.partialExpiresAt = Self.time
    task.downloadTask = Self.task
    (task.hasWaitedForConnectivity, task.didReportResumeOffset) = (true, true)
    task.executionState = .idle(goesOn: true)
    task.retryCount = 2
    task.retryWait = RetryWait(lastError: Self.error, nextAttemptAt: Self.time)
    var progress = RetryProgress()
    (progress.attempts, progress.failures, progress.furthest) = (3, 2, 9)
    (progress.isActive, progress.deaths, progress.delay) = (true, 4, 0.5)
    (progress.startedAt, progress.suspendedAt) = (Self.time, Self.time)
    task.retryProgress = progress
    task.startRequest = StartRequest(Self.request)
    task.startRequest?.request.body = .data([1, 2])
    task.startRequest?.changes = 2
    task.firstAttempt = .started(Self.time)
    task.completedAt = Self.time
    task.placement = PendingPlacement(outcome: Self.outcome, mark: Self.placed.mark)
    for (one, other) in zip(Mirror(reflecting: task).children, Mirror(reflecting: blank).children) {
      let name = (one.label ?? "").drop { $0 == "_" }
      guard !Self.notInTheOutcome.contains(String(name)) else { continue }
      #expect("\(one.value)" != "\(other.value)", "\(name) is not in the sample")
    }
    #expect(try again(task) == task)
    #expect(try again(blank) == blank)
    task.firstAttempt = .submitted
    #expect(try again(task) == task)
  }
}
