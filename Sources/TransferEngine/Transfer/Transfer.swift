internal import Addresses
internal import Curl
internal import EngineAPI
internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// A running task, redirects and decisions included: its handle, its source and sink, and its response. Used only on its transfer loop.
/// `machine` decides; the stages act.
final class Transfer {
  var job: TransferJob
  // The transfer loop owns the context and the transfers, and is the receiver.
  unowned let context: TransferContext
  unowned let receiver: any TransferCallbacks
  /// Reports from any thread that there is room downstream again.
  let drained: @Sendable () -> Void
  var machine: TransferMachine
  var easy: EasyHandle?
  /// The transport that `easy` is on.
  var transport: CurlTransport?
  /// The held handshake, which waits for the delegate or for the request's body.
  var handshake: TLSHandshake?

  // The request
  var request: TransferRequest
  var url: CurlURL
  var source: (any UploadSource)?
  var digests = BodyDigests()
  /// Computes a missing digest.
  var digester: FileDigester?
  var gate: EgressGate
  var limits: RateLimits
  let session: EngineSession
  let login: SessionAuthentication
  /// Whether a redirect led away from the first request's origin. The session's secret header fields are then no longer sent.
  private(set) var wasRedirectedCrossOrigin = false

  // The connection
  var proxy: ProxyConfiguration.Entry?
  var network = ConnectionNetworks()
  var connectionProgress = ConnectionProgress()
  /// Whether the connection's challenges are answered before the request's body is asked for.
  var connectsBeforeBody = false
  /// The time at which the connection was held for the body.
  var heldSince = ContinuousClock.now
  /// The client certificate that this request's handshake sent, and the protection space to store it in.
  var identity: (space: ProtectionSpace, credential: Credential)?

  // The response
  var received = ReceivedResponse()
  var content = ContentDecoding()
  /// The share of the loop's tick that this transfer has used.
  var timeSlice = LoopTimeSlice()
  var response: TransferResponse?
  var sink: BodySink?
  private var hasToldResponse = false

  var caching = TransferCacheState()

  // Facts for the service
  var facts: [TransferFact] = []
  var transactions: [TransactionMetrics] = []
  private(set) var fetchStart = Timestamp(microseconds: 0)
  private var sentBefore: Int64 = 0
  /// The offset of the current request's body in the task's body.
  private var sentFrom: Int64 = 0
  /// The bytes that libcurl has taken of the request's body since its beginning. The number of bytes that libcurl has sent is larger: it
  /// includes the lines of chunks and bytes that were sent on a lost connection.
  var bytesTaken: Int64 = 0
  /// Whether libcurl has a copy of the whole body, so that `bytesTaken` does not count.
  var isBodyCopied = false
  private var reported = (sent: Int64(0), received: Int64(0))
  var outcome: TransferOutcome?

  var clock: TransferClock

  init(
    job: TransferJob, url: CurlURL, session: EngineSession, context: TransferContext,
    receiver: any TransferCallbacks
  ) {
    self.job = job
    self.context = context
    self.receiver = receiver
    self.session = session
    let settings = context.settings
    login = SessionAuthentication(
      session: session, storage: settings.storages.credentials,
      sessionType: job.sessionType, usesStorage: job.configuration.urlCredentialStorage)
    let task = job.task
    drained = { [mailbox = context.mailbox] in mailbox.post(.drained(task)) }
    gate = EgressGate(settings.egress)
    machine = TransferMachine(job, uploadVersion: session.uploadVersions[url.origin])
    request = machine.upload?.first ?? job.request.withoutIdleBody
    self.url = request.url == job.request.url ? url : (try? CurlURL(request.url)) ?? url
    if request.url != job.originalURL {
      wasRedirectedCrossOrigin = (try? CurlURL(job.originalURL))?.origin != self.url.origin
    }
    // Enough for a cached or small response.
    facts.reserveCapacity(4)
    clock = TransferClock(timeoutForResource: job.configuration.timeoutIntervalForResource, at: .now)
    limits = RateLimits(own: job.maximumBytesPerSecond, shared: session.limit, at: .now)
  }

  var task: TaskID { job.task }
  /// The request that clients see. Requests that only an upload's server needs are not shown.
  var currentRequest: TransferRequest { machine.upload?.request ?? request }
  var state: TransferState { machine.lifecycle.state }
  var waitReason: TransferState.WaitReason? { machine.lifecycle.waitReason }
  /// The reasons for which bytes do not move.
  var flow: FlowControl {
    get { machine.lifecycle.flow }
    set { machine.lifecycle.flow = newValue }
  }

  func touch() { clock.touch(at: .now) }

  /// Makes libcurl read and write as `flow` allows.
  func applyFlow() {
    guard state.isOnWire, let easy else { return }
    transport?.setPaused(easy, flow.directions)
  }

  /// Ends a wait: resumes libcurl, or returns the next step if libcurl is done.
  func resume() -> TransferAction {
    context.reportFacts(self)
    touch()
    return machine.lifecycle.move
  }

  /// Stops sending the body after a status of 300 or more. A client that streams the body is notified now, because the next decision may
  /// depend on it.
  func stopSending() {
    // Wakes libcurl.
    if flow.send.contains(.source) { context.mailbox.post(.uploadReady(task)) }
    guard let source else { return }
    if let length = source.length, sent >= length { source.markSent() } else { source.cancel() }
  }

  /// Sets the start of the fetch, from the network or from the cache (URLSessionTaskTransactionMetrics.fetchStartDate).
  func beginFetch() { fetchStart = context.settings.now() }

  // MARK: Facts for the service

  func takeFacts() -> [TransferFact] {
    defer { facts.removeAll(keepingCapacity: true) }
    return facts
  }

  /// Asks the delegate for a decision.
  func ask(_ question: TransferQuestion) {
    let number = machine.ask()
    facts.append(.asked(task, number, question, at: context.settings.now()))
  }

  /// Asks the delegate for credentials, or whether to trust a server.
  func ask(_ challenge: AuthenticationChallenge) {
    let method = challenge.protectionSpace.authenticationMethod
    ask(.challenge(challenge, job.delegate?.challengeEvent(for: method) ?? .taskDidReceiveChallenge))
  }

  func noteWaitingForConnectivity() { facts.append(.waitsForConnectivity(task, at: context.settings.now())) }

  // MARK: Progress

  /// The bytes of the current request's body that were sent.
  var sent: Int64 {
    let sent = max(sentBefore, easy?.info(.uploaded) ?? 0)
    return isBodyCopied ? sent : min(sent, bytesTaken)
  }

  /// Saves the counts of the easy handle before the handle is given back.
  func keepCounts() { sentBefore = sent }

  var progress: TaskProgress {
    var progress = TaskProgress()
    progress.countOfBytesSent = sentFrom + sent
    progress.countOfBytesExpectedToSend =
      machine.upload?.length ?? (request.body == nil ? 0 : source?.length ?? request.bodyLength)
    let expected = expectedLength
    progress.countOfBytesReceived = expected == nil ? 0 : sink?.size ?? 0
    progress.countOfBytesExpectedToReceive = expected ?? -1
    return progress
  }

  /// The expected bytes, including those of an earlier download that this one continues; -1 if unknown.
  private var expectedToReceive: Int64 { expectedLength ?? -1 }

  /// `nil` if there is no response yet.
  private var expectedLength: Int64? {
    guard let length = response?.expectedContentLength else { return nil }
    // A HEAD's response has the length of the GET's response.
    if request.method == "HEAD" { return 0 }
    guard let offset = machine.ranges.offset else { return length }
    return machine.ranges.total ?? (length < 0 ? -1 : offset + length)
  }

  /// Reports the head of a download. Most downloads end before a client asks, so this is not done at once.
  func noteResponse() {
    guard job.kind == .download, !hasToldResponse, let response else { return }
    hasToldResponse = true
    facts.append(.accepted(task, response))
  }

  /// Reports the progress if bytes have moved since the last report.
  func noteProgress() {
    let progress = progress
    let now = (sent: progress.countOfBytesSent, received: progress.countOfBytesReceived)
    guard now != reported else { return }
    if now.sent != reported.sent { touch() }
    reported = now
    facts.append(.progress(task, progress, at: context.settings.now()))
  }

  /// Reports that a request is sent. Its counts begin at zero, or at the bytes that an upload's server already has.
  func noteBegan() {
    facts.append(.began(task, at: fetchStart))
    if sentFrom > 0 { noteSentFrom() }
  }

  /// Restarts the counts: the body is sent from its beginning, or from the offset that the server wants.
  func restartBody() {
    sentBefore = 0
    bytesTaken = 0
    if reported.sent != sentFrom { noteSentFrom() }
  }

  private func noteSentFrom() {
    guard let upload = machine.upload else { return noteProgress() }
    reported.sent = sentFrom
    facts.append(
      .resumed(task, offset: sentFrom, expectedTotal: upload.length, at: context.settings.now()))
  }

  /// Returns the key of a part of this task's bytes.
  func key(_ part: BlobKey.Part) -> BlobKey { BlobKey(task, part, job.blob) }

  // MARK: Resuming later

  /// The received part of a download, for a later download to continue; `nil` if none could. The parts of a multipart response are not
  /// bytes of its body.
  var partial: PartialBody? {
    guard job.kind == .download, received.multipart == nil, !request.headers.contains("Range"),
      !machine.ranges.isBroken
    else { return nil }
    if var partial = machine.ranges.open {
      partial.total = expectedToReceive
      return partial
    }
    return received.head.flatMap { ResumeRules.validator(of: $0, to: request, now: received.headTime) }.map {
      PartialBody(
        offset: machine.ranges.offset ?? 0, total: expectedToReceive, validator: $0,
        resource: url.withoutQuery)
    }
  }

  /// Reports that the received bytes are in a file, and so outlive the process.
  func noteKept() {
    guard let partial else { return }
    facts.append(.keptPartial(task, ResumePoint(partial: partial, source: task, blob: job.blob)))
  }

  // MARK: From request to request

  /// Prepares another request of the same task.
  /// - Parameter mayConnectFirst: Whether the body may wait for the challenges of its connection.
  func prepare(_ next: TransferRequest, at url: CurlURL, mayConnectFirst: Bool = true) {
    let leavesOrigin = url.origin != self.url.origin
    request = next.withoutIdleBody
    machine.prepare(request, leavesOrigin: leavesOrigin)
    connectsBeforeBody = mayConnectFirst && job.mayBeChallenged(at: url, next)
    if leavesOrigin { wasRedirectedCrossOrigin = true }
    self.url = url
    clock.forgetCut()
    discardResponse()
    network = ConnectionNetworks()
    connectionProgress.forgetConnection()
    caching = TransferCacheState()
    source?.cancel()
    source = nil
    digests = BodyDigests()
    sentFrom = machine.upload?.range.lowerBound ?? 0
    restartBody()
    beginFetch()
    touch()
  }

  /// Creates the source of a request body that is in memory.
  func prepareSource() {
    if source == nil, case .data(let bytes) = request.body { source = DataUploadSource(bytes) }
  }

  /// Whether the request's body must still be asked for.
  var lacksBody: Bool { request.body?.isStream == true && source == nil }

  /// Prepares the current request for the whole body, after its end was taken back.
  func fetchFromStart() {
    machine.lifecycle.restart()
    (machine.ranges, machine.claim) = (RangeAssembly(nil), DownloadClaim(nil))
    (sink, outcome) = (nil, nil)
    machine.lifecycle.send(request)
  }

  /// Sends another request after the current response has ended, or after it has taken too long to end.
  func replaceRequest(_ next: TransferRequest) {
    machine.lifecycle.send(next)
    clock.cutSoon(at: .now)
  }

  /// The error of a body whose rest is missing. The received bytes can still be continued.
  var restIsMissing: TransferError {
    TransferError(
      .networkConnectionLost, "the server did not send the rest of the body", failingURL: request.url)
  }

  var rangesDoNotFit: TransferError {
    TransferError(
      .cannotParseResponse, "the server's ranges do not belong to one version of the body",
      failingURL: request.url)
  }

  /// Sends another request in place of the one whose response is held.
  func follow(_ request: TransferRequest) -> TransferAction {
    machine.lifecycle.decisionReceived()
    machine.lifecycle.send(request)
    return sendNextRequest()
  }

  /// Ends a wait that led to another request.
  func sendNextRequest() -> TransferAction {
    // If the held response's body does not end soon, its connection is closed.
    if state.isOnWire { clock.cutSoon(at: .now) }
    return machine.lifecycle.move
  }

  func discardResponse() {
    machine.lifecycle.discardResponse()
    if !machine.ranges.isOpen {
      sink?.discard()
      sink = nil
      response = nil
    }
    received = ReceivedResponse()
    content = ContentDecoding()
    connectionProgress.discardResponse()
    identity = nil
  }
}
