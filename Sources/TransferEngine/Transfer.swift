internal import Curl
internal import HTTPCache
internal import TransferModel

/// One task under way, redirects and decisions included. Lives on its worker's loop; `Transfer+Callbacks` is what
/// libcurl calls, and the worker moves it from stage to stage.
final class Transfer {
  enum Stage {
    /// Off the wire and out of the queue: suspended, or waiting for what `hold` says.
    case parked
    /// In the scheduler.
    case queued
    /// Its handle is in the multi handle.
    case onWire
    /// Its body, or what is kept of it, is on its way to the disk.
    case finishing
  }
  /// What it waits for before it goes on.
  enum Hold {
    case redirect(proposed: TransferRequest)
    case response
    /// With the handshake behind which the request is to go out, where its connection came first.
    case bodyStream(TLSHandshake?)
    /// A 401 or 407; its body may become the result.
    case challenge(Authenticator.Side)
    /// A token for Negotiate is being made.
    case token(Authenticator.Side)
    case handshake(TLSHandshake)
    /// The session's cache is being opened, or is storing what would answer.
    case cache
    /// Whether the answer may be stored.
    case caching
    /// There is no network to the origin.
    case connectivity
    /// What it needs of the disk is being opened.
    case files

    /// The one that is held in the middle of its connection.
    var handshake: TLSHandshake? {
      switch self {
      case .handshake(let handshake): handshake
      case .bodyStream(let handshake): handshake
      default: nil
      }
    }

    /// The body of the answer that is held may yet be of use.
    var keepsBody: Bool {
      switch self {
      case .redirect, .challenge, .token: true
      case .response, .bodyStream, .handshake, .cache, .caching, .connectivity, .files: false
      }
    }
  }
  /// What the worker lends to its transfers.
  struct Tools {
    let egress: EgressPolicy
    let credentials: CredentialStorage
    let cookies: CookieStorage
    let networks: Networks
    /// Credentials that may be refused before a task gives up.
    let attemptLimit: Int
    let now: () -> Timestamp
    /// - Parameter resuming: bytes that the file has already.
    let makeSink: (Transfer, _ resuming: Int64?) -> BodySink
    /// There is news that must not wait for the next round of housekeeping.
    let isUrgent: (Transfer) -> Void
    /// Holds the transfer in these directions for that long.
    let holdForRate: (Transfer, FlowDirections, Duration) -> Void
    /// The request was answered before its body's end: lets libcurl see it.
    let stopWaitingForBody: (Transfer) -> Void
    /// Makes a token for Negotiate and comes back with it.
    let makeToken: (Transfer, Authenticator.Side) -> Void
    /// The origin takes another number of requests at once than was known.
    let limitChanged: (Transfer) -> Void
  }
  /// How the wire ended before the transfer did.
  struct WireEnd {
    let result: CurlResult
    let error: TransferError?
  }

  /// The bytes of a redirect's answer that are read so that its connection can be used again, and for how long.
  static let redirectBodyLimit: Int64 = 64 * 1024
  static let redirectGrace = Duration.seconds(1)

  var job: TransferJob
  let tools: Tools
  /// Called from any thread when there is room downstream again.
  let drained: @Sendable () -> Void
  var stage = Stage.parked
  var hold: Hold?
  var easy: EasyHandle?
  /// Where `easy` is.
  var transport: CurlTransport?
  var flow = FlowControl()

  // The request
  var request: TransferRequest
  var url: CurlURL
  var source: (any UploadSource)?
  var gate: EgressGate
  var taskLimit: TokenBucket?
  let session: WorkerSession
  var sessionLimit: SharedLimit? { session.limit }
  /// What is sent once the wire is free: a redirect's request.
  var next: TransferRequest?
  /// When a redirect's answer has had time enough to end.
  var cutAt: ContinuousClock.Instant?
  var redirects = 0
  /// A redirect led away from the origin of the first request: from then on the session's credentials stay behind.
  private(set) var hasLeftOrigin = false
  /// Asks for the rest of a download.
  var resumesAt: Int64?
  /// The earlier download's bytes lie under this task's name and are untouched; whether they were asked for at all.
  var hasClaim = false
  var hasTriedClaim = false
  /// It is over, as soon as what is being opened for it is here.
  var endsOnceOpened: (error: TransferError, keepsPartial: Bool)?

  /// Goes on where it stopped, should it stop.
  var upload: ResumableUpload?

  // Who it is
  var authenticator = Authenticator()
  var proxy: ProxyConfiguration.Entry?
  /// The class of interfaces that a socket was refused for, or that there is no way at all.
  var forbiddenNetwork: InterfaceClass?
  var lacksNetwork = false
  var hasTriedAddress = false
  /// It waited for a network: that it began again is told when it has a connection.
  var isTryingAgain = false
  /// The request's body is asked for when its connection's challenges are answered, and not before.
  var connectsFirst = false
  /// The request was about to go out.
  var isConnected = false
  /// When its connection was held for the body.
  var heldSince = ContinuousClock.now
  /// Shown to a server in this request's handshake, and where it is to be remembered.
  var identity: (space: ProtectionSpace, credential: Credential)?
  /// The request is on its way: what comes is the origin's, no more the proxy's answer to CONNECT.
  var isPastConnect = false
  /// The request has gone out, and nothing of an answer has come.
  var isUnanswered = false
  /// It was about to go out a second time, which is not for everybody to do.
  var refusesRepeat = false
  /// What a proxy said to CONNECT.
  var connectHead: ResponseHead?
  /// A leg of what libcurl negotiates by itself; the result where no other answer follows.
  var provisionalHead: ResponseHead?

  // The answer
  var parser = ResponseHeadParser()
  var content = ContentDecoding()
  var multipart: MultipartParser?
  /// What a multipart answer has brought but the delegate has not let pass yet.
  var pendingParts: [MultipartPiece] = []
  var head: ResponseHead?
  var response: TransferResponse?
  var live: LiveBody?
  var sink: BodySink?
  var wireEnd: WireEnd?
  var discardedBytes: Int64 = 0
  /// The wire is being left: nothing that still comes is wanted.
  var isLeaving = false

  // The cache
  var cache: CacheUse?
  /// What is stored and answers the request.
  var delivery: CachedDelivery?
  /// What a stored part and what has come are together.
  var combining: PartialContent?
  /// What the delegate, or nobody, said about storing the answer.
  var storagePolicy: CacheStoragePolicy?
  /// The fields that it wants stored; nil: the answer's own.
  var storedHeaders: HTTPHeaders?
  /// What has come of an answer that broke off is to be stored.
  var keepsForCache = false
  private var hasToldResponse = false
  /// What is stored was of no use to this request.
  private(set) var ignoresCache = false
  private var resendsWithoutCache = false
  /// When the head of the answer came.
  var headTime = Timestamp(microseconds: 0)

  // What the worker hears of
  var facts: [TransferFact] = []
  var transactions: [TransactionMetrics] = []
  private(set) var fetchStart = Timestamp(microseconds: 0)
  private var sentBefore: Int64 = 0
  /// Bytes read from `source`: where the body is chunked, libcurl counts its own lines among what it sent.
  var bytesRead: Int64 = 0
  private var reported = (sent: Int64(0), received: Int64(0))
  var outcome: TransferOutcome?

  // Clocks
  var lastActivity = ContinuousClock.now
  var resourceDeadline: ContinuousClock.Instant
  var suspendedAt = ContinuousClock.now

  init(
    job: TransferJob, url: CurlURL, tools: Tools, session: WorkerSession,
    drained: @escaping @Sendable () -> Void
  ) {
    self.job = job
    self.tools = tools
    self.session = session
    self.drained = drained
    gate = EgressGate(tools.egress)
    upload = ResumableUpload(job)
    request = upload?.first ?? job.request
    self.url = request.url == job.request.url ? url : (try? CurlURL(request.url)) ?? url
    if request.url != job.originalURL {
      hasLeftOrigin = (try? CurlURL(job.originalURL))?.origin != self.url.origin
    }
    // As many as a stored response or a small one needs.
    facts.reserveCapacity(4)
    resourceDeadline = .now + .seconds(job.configuration.timeoutIntervalForResource)
    taskLimit = job.maximumBytesPerSecond.map { TokenBucket(bytesPerSecond: $0, now: .now) }
  }

  var task: TaskID { job.task }
  /// As clients see it: requests that only an upload's server needs are none of theirs.
  var currentRequest: TransferRequest { upload?.request ?? request }
  var isRateLimited: Bool { taskLimit != nil || sessionLimit != nil }

  func takeFacts() -> [TransferFact] {
    defer { facts.removeAll(keepingCapacity: true) }
    return facts
  }

  func touch() { lastActivity = .now }

  /// From here on the resource is fetched, from wherever it comes (fetchStartDate).
  func beginFetch() { fetchStart = tools.now() }

  // MARK: Progress

  /// Bytes of the current request's body that went out.
  var sent: Int64 {
    let sent = max(sentBefore, easy?.info(.uploaded) ?? 0)
    return source != nil && source?.length == nil ? min(sent, bytesRead) : sent
  }

  /// Remembers what only the easy handle knows, before that goes.
  func keepCounts() { sentBefore = sent }

  var progress: TaskProgress {
    var progress = TaskProgress()
    if let upload {
      progress.countOfBytesSent = upload.range.lowerBound + sent
      progress.countOfBytesExpectedToSend = upload.length
    } else {
      progress.countOfBytesSent = sent
      progress.countOfBytesExpectedToSend =
        request.body == nil ? 0 : source?.length ?? request.bodyLength
    }
    progress.countOfBytesReceived = response == nil ? 0 : sink?.size ?? 0
    progress.countOfBytesExpectedToReceive = expectedToReceive
    return progress
  }

  /// With what was there before, where a download goes on.
  private var expectedToReceive: Int64 {
    // The length of a HEAD's response is what a GET's would be.
    if request.method == "HEAD", response != nil { return 0 }
    guard let length = response?.expectedContentLength, length >= 0 else { return -1 }
    return length + (resumesAt ?? 0)
  }

  /// Tells of a download's head: not of each at once, as most have ended before somebody asks.
  func noteResponse() {
    guard job.kind == .download, !hasToldResponse, let response else { return }
    hasToldResponse = true
    facts.append(.accepted(task, response))
  }

  /// Notes the progress as a fact where bytes have moved since the last time.
  func noteProgress() {
    let progress = progress
    let now = (sent: progress.countOfBytesSent, received: progress.countOfBytesReceived)
    guard now != reported else { return }
    if now.sent != reported.sent { touch() }
    reported = now
    facts.append(.progress(task, progress, at: tools.now()))
  }

  // MARK: What a later download could go on from

  /// What names the version of what is being downloaded; nil where nothing could go on from it.
  var validator: String? {
    guard job.kind == .download, let head, request.headers["Range"] == nil else { return nil }
    let asked = resumesAt == nil ? nil : job.resumePoint?.download?.partial.validator
    return ResumeRules.validator(of: head, to: request, asked: asked)
  }

  /// The bytes have a file from here on: they outlive the process.
  func noteKept() {
    guard let validator else { return }
    let partial = PartialBody(offset: resumesAt ?? 0, total: expectedToReceive, validator: validator)
    facts.append(.keeps(task, ResumePoint(partial: partial, source: task)))
  }

  // MARK: From request to request

  /// Makes ready for another request of the same task.
  func prepare(_ next: TransferRequest, at url: CurlURL) {
    request = next
    if next.body == nil, upload?.range.isEmpty == false { upload = nil }
    upload?.willSend(next)
    connectsFirst = url.origin != self.url.origin && mayBeChallenged(at: url, next)
    if url.origin != self.url.origin {
      hasLeftOrigin = true
      authenticator.leaveOrigin()
    }
    self.url = url
    self.next = nil
    cutAt = nil
    (ignoresCache, resendsWithoutCache) = (resendsWithoutCache, false)
    forgetAnswer()
    (forbiddenNetwork, lacksNetwork, hasTriedAddress, isConnected) = (nil, false, false, false)
    (cache, delivery, combining, storagePolicy, storedHeaders) = (nil, nil, nil, nil, nil)
    sentBefore = 0
    bytesRead = 0
    source?.detach()
    source = nil
    if reported.sent > 0 {
      // The next request's body is counted from its beginning.
      reported = (0, 0)
      facts.append(.progress(task, progress, at: tools.now()))
    }
    // The body that the next request waits for is another one.
    flow.send.remove(.source)
    beginFetch()
    touch()
  }

  /// Whether the delegate may be asked about the connection of a request whose body it is to stream: URLSession asks for the body
  /// only after that.
  func mayBeChallenged(at url: CurlURL, _ request: TransferRequest) -> Bool {
    guard request.body?.isStream == true, url.scheme == "https", let delegate = job.delegate else {
      return false
    }
    return [AuthenticationMethod.serverTrust, .clientCertificate].contains {
      delegate.challengeEvent(for: $0) != nil
    }
  }

  /// It is about to go out, and its body was not asked for yet.
  var lacksBody: Bool { request.body?.isStream == true && source == nil }

  /// What is stored cannot be read, confirmed or completed: the request goes out as if there were nothing.
  func resendWithoutCache() {
    resendsWithoutCache = true
    next = request
  }

  func forgetAnswer() {
    sink?.discard()
    sink = nil
    head = nil
    response = nil
    live = nil
    wireEnd = nil
    multipart = nil
    content = ContentDecoding()
    pendingParts = []
    parser = ResponseHeadParser()
    isPastConnect = false
    connectHead = nil
    provisionalHead = nil
    identity = nil
    discardedBytes = 0
    isLeaving = false
  }
}

/// A limit that all of a session's transfers on one loop share.
final class SharedLimit {
  var bucket: TokenBucket
  init(bytesPerSecond: Int) { bucket = TokenBucket(bytesPerSecond: bytesPerSecond, now: .now) }
}
