internal import Addresses
internal import Curl
internal import EngineAPI
internal import HTTPCache
internal import HTTPFields
internal import TransferModel

/// One task under way, redirects and decisions included: its handle, what it reads and writes, and what is known of its answer. Lives
/// on its worker's loop. `machine` decides; the stages act.
final class Transfer {
  var job: TransferJob
  // The worker owns the context and the transfers, and is the receiver.
  unowned let context: TransferContext
  unowned let receiver: any TransferReceiver
  /// Called from any thread when there is room downstream again.
  let drained: @Sendable () -> Void
  /// What it decides.
  var machine: TransferMachine
  var easy: EasyHandle?
  /// Where `easy` is.
  var transport: CurlTransport?
  /// It waits for the delegate, or for the request's body.
  var handshake: TLSHandshake?

  // The request
  var request: TransferRequest
  var url: CurlURL
  var source: (any UploadSource)?
  var digests = BodyDigests()
  /// Makes one of them.
  var digester: FileDigester?
  var gate: EgressGate
  var limits: RateLimits
  let session: WorkerSession
  let login: SessionLogin
  /// A redirect led away from the origin of the first request: from then on the session's credentials stay behind.
  private(set) var hasLeftOrigin = false

  // Who it is
  var proxy: ProxyConfiguration.Entry?
  var network = NetworkTrial()
  var contact = RequestContact()
  /// The request's body is asked for when its connection's challenges are answered, and not before.
  var connectsFirst = false
  /// When its connection was held for the body.
  var heldSince = ContinuousClock.now
  /// Shown to a server in this request's handshake, and where it is to be remembered.
  var identity: (space: ProtectionSpace, credential: Credential)?

  // The answer
  var answer = ReceivedAnswer()
  var content = ContentDecoding()
  /// How much of it the loop's turn has brought.
  var timeSlice = LoopTimeSlice()
  var response: TransferResponse?
  var sink: BodySink?
  private var hasToldResponse = false

  // The cache
  var caching = CacheShare()

  // What the worker hears of
  var facts: [TransferFact] = []
  var transactions: [TransactionMetrics] = []
  private(set) var fetchStart = Timestamp(microseconds: 0)
  private var sentBefore: Int64 = 0
  /// Where the body of the current request begins in the task's.
  private var sentFrom: Int64 = 0
  /// Bytes that libcurl has taken of the request's body since its beginning. Of what it sent it counts more: the lines of chunks, and
  /// what it sent on a connection that was gone.
  var bytesTaken: Int64 = 0
  /// libcurl has all of the body, and takes none of it.
  var isBodyCopied = false
  private var reported = (sent: Int64(0), received: Int64(0))
  var outcome: TransferOutcome?

  var clock: TransferClock

  init(
    job: TransferJob, url: CurlURL, session: WorkerSession, context: TransferContext,
    receiver: any TransferReceiver
  ) {
    self.job = job
    self.context = context
    self.receiver = receiver
    self.session = session
    let settings = context.settings
    login = SessionLogin(
      session: session, storage: settings.storages.credentials,
      sessionType: job.sessionType, usesStorage: job.configuration.urlCredentialStorage)
    let task = job.task
    drained = { [mailbox = context.mailbox] in mailbox.post(.drained(task)) }
    gate = EgressGate(settings.egress)
    machine = TransferMachine(job, uploadVersion: session.uploadVersions[url.origin])
    request = machine.upload?.first ?? job.request.withoutIdleBody
    self.url = request.url == job.request.url ? url : (try? CurlURL(request.url)) ?? url
    if request.url != job.originalURL {
      hasLeftOrigin = (try? CurlURL(job.originalURL))?.origin != self.url.origin
    }
    // As many as a stored response or a small one needs.
    facts.reserveCapacity(4)
    clock = TransferClock(timeoutForResource: job.configuration.timeoutIntervalForResource, at: .now)
    limits = RateLimits(own: job.maximumBytesPerSecond, shared: session.limit, at: .now)
  }

  var task: TaskID { job.task }
  /// As clients see it: requests that only an upload's server needs are none of theirs.
  var currentRequest: TransferRequest { machine.upload?.request ?? request }
  var state: TransferState { machine.course.state }
  var hold: TransferState.WaitReason? { machine.course.hold }
  /// Why bytes do not move.
  var flow: FlowControl {
    get { machine.course.flow }
    set { machine.course.flow = newValue }
  }

  func touch() { clock.touch(at: .now) }

  /// Has libcurl read and write as `flow` allows.
  func applyFlow() {
    guard state.isOnWire, let easy else { return }
    transport?.setPaused(easy, flow.directions)
  }

  /// After a hold: resumes libcurl, or takes the next step if libcurl is done.
  func goOn() -> TransferAction {
    context.tell(self)
    touch()
    return machine.course.move
  }

  /// Stops sending the body after a status of 300 or more. A streaming client is told now: it may have to make the next decision.
  func stopSending() {
    // Wakes libcurl.
    if flow.send.contains(.source) { context.mailbox.post(.uploadReady(task)) }
    guard let source else { return }
    if let length = source.length, sent >= length { source.wasSent() } else { source.detach() }
  }

  /// From here on the resource is fetched, from wherever it comes (fetchStartDate).
  func beginFetch() { fetchStart = context.settings.now() }

  // MARK: What the worker hears of

  func takeFacts() -> [TransferFact] {
    defer { facts.removeAll(keepingCapacity: true) }
    return facts
  }

  /// The delegate is asked.
  func ask(_ question: TransferQuestion) {
    let number = machine.ask()
    facts.append(.asked(task, number, question, at: context.settings.now()))
  }

  /// The delegate is asked for credentials, or whether a server is trusted.
  func ask(_ challenge: AuthenticationChallenge) {
    let method = challenge.protectionSpace.authenticationMethod
    ask(.challenge(challenge, job.delegate?.challengeEvent(for: method) ?? .taskDidReceiveChallenge))
  }

  func noteWaitingForConnectivity() { facts.append(.waitsForConnectivity(task, at: context.settings.now())) }

  // MARK: Progress

  /// Bytes of the current request's body that went out.
  var sent: Int64 {
    let sent = max(sentBefore, easy?.info(.uploaded) ?? 0)
    return isBodyCopied ? sent : min(sent, bytesTaken)
  }

  /// Remembers what only the easy handle knows, before that goes.
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

  /// With what was there before, where a download goes on; -1 where that is not known.
  private var expectedToReceive: Int64 { expectedLength ?? -1 }

  /// Nil before there is a response.
  private var expectedLength: Int64? {
    guard let length = response?.expectedContentLength else { return nil }
    // The length of a HEAD's response is what a GET's would be.
    if request.method == "HEAD" { return 0 }
    guard let offset = machine.ranges.offset else { return length }
    return machine.ranges.total ?? (length < 0 ? -1 : offset + length)
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
    facts.append(.progress(task, progress, at: context.settings.now()))
  }

  /// A request goes out, and what it moves counts from zero: but for what its server has of the body.
  func noteBegan() {
    facts.append(.began(task, at: fetchStart))
    if sentFrom > 0 { noteSentFrom() }
  }

  /// The body is sent from its beginning, or from where its server wants it: what is sent from here on is growth.
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

  /// Where a part of what it gets is.
  func key(_ part: BlobKey.Part) -> BlobKey { BlobKey(task, part, job.blob) }

  // MARK: What a later download could go on from

  /// What is being downloaded, and the first byte that its request asked for; nil where nothing could go on from it, as the parts of a
  /// multipart answer are not bytes of its body.
  var partial: PartialBody? {
    guard job.kind == .download, answer.multipart == nil, !request.headers.contains("Range"),
      !machine.ranges.isBroken
    else { return nil }
    if var partial = machine.ranges.open {
      partial.total = expectedToReceive
      return partial
    }
    return answer.head.flatMap { ResumeRules.validator(of: $0, to: request, now: answer.headTime) }.map {
      PartialBody(
        offset: machine.ranges.offset ?? 0, total: expectedToReceive, validator: $0,
        resource: url.withoutQuery)
    }
  }

  /// The bytes have a file from here on: they outlive the process.
  func noteKept() {
    guard let partial else { return }
    facts.append(.keeps(task, ResumePoint(partial: partial, source: task, blob: job.blob)))
  }

  // MARK: From request to request

  /// Makes ready for another request of the same task.
  /// - Parameter mayConnectFirst: its body may wait for the challenges of its connection.
  func prepare(_ next: TransferRequest, at url: CurlURL, mayConnectFirst: Bool = true) {
    let leavesOrigin = url.origin != self.url.origin
    request = next.withoutIdleBody
    machine.prepare(request, leavesOrigin: leavesOrigin)
    connectsFirst = mayConnectFirst && job.mayBeChallenged(at: url, next)
    if leavesOrigin { hasLeftOrigin = true }
    self.url = url
    clock.forgetCut()
    forgetAnswer()
    network = NetworkTrial()
    contact.forgetConnection()
    caching = CacheShare()
    source?.detach()
    source = nil
    digests = BodyDigests()
    sentFrom = machine.upload?.range.lowerBound ?? 0
    restartBody()
    beginFetch()
    touch()
  }

  /// Makes ready what the request's body is read from.
  func prepareSource() {
    if source == nil, case .data(let bytes) = request.body { source = DataUploadSource(bytes) }
  }

  /// It is about to go out, and its body was not asked for yet.
  var lacksBody: Bool { request.body?.isStream == true && source == nil }

  /// What the answer says leads to another request, which goes out when the answer has ended, or has taken too long to.
  func sendInstead(_ next: TransferRequest) {
    machine.course.send(next)
    clock.cutSoon(at: .now)
  }

  /// The bytes that came remain good.
  var restIsMissing: TransferError {
    TransferError(
      .networkConnectionLost, "the server did not send the rest of the body", failingURL: request.url)
  }

  var rangesDoNotFit: TransferError {
    TransferError(
      .cannotParseResponse, "the server's ranges do not belong to one version of the body",
      failingURL: request.url)
  }

  /// Another request is sent in place of the one whose answer is held.
  func follow(_ request: TransferRequest) -> TransferAction {
    machine.course.decided()
    machine.course.send(request)
    return followNext()
  }

  /// What was held leads to another request.
  func followNext() -> TransferAction {
    // The held answer's body may end soon; if not, its connection is closed.
    if state.isOnWire { clock.cutSoon(at: .now) }
    return machine.course.move
  }

  func forgetAnswer() {
    machine.course.forgetAnswer()
    if !machine.ranges.isOpen {
      sink?.discard()
      sink = nil
      response = nil
    }
    answer = ReceivedAnswer()
    content = ContentDecoding()
    contact.forgetAnswer()
    identity = nil
  }
}
