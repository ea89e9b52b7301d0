internal import BlobStore
internal import EngineAPI
internal import HTTPFields
internal import TransferCore
internal import TransferModel

/// One attempt of a task, as the stand-in for an engine has it: a word of the engine's contract, letter by letter.
///
///     for each request asked(bodyStream)? (waitsForConnectivity | began)+ informational*
///                      (asked(challenge) | asked(redirect) | redirected)*
///     then resumed? (response | asked(response) | accepted)* (willCache | asked(caching))?
///     progress, keeps, authenticated between; ended anywhere, once, last
struct Attempt {
  private enum Stage { case fresh, requesting, answered, cached }
  private enum Asked {
    case challenge(realm: String), trust, redirect(TransferRequest), response, caching, bodyStream
  }

  var job: TransferJob
  var isSuspended = false
  /// The number of the question that waits for an answer.
  var question: Int?
  /// That its request went out was counted.
  var hasCounted = false
  private var stage = Stage.fresh
  private var asked: Asked?
  private var questions: Int
  private var hasBegun = false
  private var hasShakenHands = false
  /// What a client sends for the request that is under way.
  private var body: UploadStream?
  private var hasWaited = false
  private var hasResumed = false
  private var received: Int64 = 0
  private var file: AttemptFile
  private var redirects = 0
  /// The redirect's own answer is the response.
  private var isRedirectItself = false
  private var response: TransferResponse?
  /// How it ends, where that is decided.
  private var end: TransferError?
  private var isCancelled = false
  private var keepsPartial = false

  init(_ job: TransferJob, in bodies: any BlobStore) {
    self.job = job
    file = AttemptFile(of: job, in: bodies)
    questions = job.questions
    end = job.fault
  }

  var isWriting: Bool { file.isOpen }
  /// Something may happen without anybody's doing.
  var goesOn: Bool { isCancelled || question == nil && !isSuspended }
  /// It has a connection, up to its end.
  var isConnected: Bool { hasBegun }
  /// It cannot go on without one.
  var waitsForConnection: Bool { !hasBegun && end == nil && !needsBody }
  /// A client has yet to send it, and is asked before it queues.
  private var needsBody: Bool { job.request.body?.isStream == true && body == nil }

  mutating func cancel(keepsPartial: Bool) {
    (isCancelled, self.keepsPartial) = (true, keepsPartial)
    question = nil
    end = TransferError(.cancelled, "cancelled", failingURL: job.request.url)
  }

  /// False where that is no answer to such a question.
  mutating func take(_ answer: TransferAnswer) -> Bool {
    defer { (question, asked) = (nil, nil) }
    switch (asked, answer) {
    case (.redirect, .redirect(let request)):
      if let request { follow(request) } else { isRedirectItself = true }
    case (.redirect(let proposed), .byDefault): follow(proposed)
    // Who they are is told with another request.
    case (.challenge(let realm), .challenge(let answer)):
      beginAnew()
      guard case .useCredential(let credential) = answer, case .password(let user, _) = credential.kind else {
        return true
      }
      return user == realm
    case (.challenge, .byDefault): beginAnew()
    // The handshake goes on, and with it the request.
    case (.trust, .challenge(.useCredential)): return false
    case (.trust, .challenge), (.trust, .byDefault): break
    case (.bodyStream, .bodyStream(let reference)):
      guard let token = reference.token as? UploadStream else { return false }
      body = token
    case (.bodyStream, .byDefault):
      end = TransferError(.requestBodyStreamExhausted, "nobody sent it", failingURL: job.request.url)
    case (.response, .allow), (.response, .byDefault): break
    case (.response, .becomeDownload(let id)):
      (job.task, job.kind) = (id, .download)
    case (.caching, .caching), (.caching, .byDefault): break
    default: return false
    }
    return true
  }

  private mutating func beginAnew() {
    (stage, hasWaited) = (.fresh, true)
    letGo()
  }

  /// Nobody reads any more what a client sends.
  mutating func letGo() {
    body?.detach()
    body = nil
  }

  private mutating func follow(_ request: TransferRequest) {
    letGo()
    job.request = request
    (stage, hasWaited, hasShakenHands) = (.fresh, false, false)
  }

  // MARK: What happens next

  /// It asks, and nobody stands in the way of what may happen to it meanwhile.
  var asks: Bool { question != nil && !isCancelled && !isSuspended }

  /// It ends while its question waits: its time is over, or the service can do no more for it.
  mutating func breakOff(_ random: inout RandomSource, at time: Timestamp) -> TransferFact {
    let codes: [URLErrorCode] = [.timedOut, .networkConnectionLost, .cannotWriteToFile, .unknown]
    let error = TransferError(
      codes[random.below(codes.count)], "while it asked", failingURL: job.request.url)
    return .ended(job.task, outcome(error, at: time))
  }

  mutating func next(
    _ temper: Origins.Temper, _ random: inout RandomSource, at time: Timestamp
  ) -> TransferFact {
    if let end { return .ended(job.task, outcome(end, at: time)) }
    if hasBegun, random.chance(temper.fails) {
      let codes: [URLErrorCode] = [
        .networkConnectionLost, .timedOut, .badServerResponse, .cannotConnectToHost,
      ]
      let error = TransferError(codes[random.below(codes.count)], "out there", failingURL: job.request.url)
      return .ended(job.task, outcome(error, at: time))
    }
    switch stage {
    case .fresh: return begin(temper, &random, at: time)
    case .requesting: return request(temper, &random, at: time)
    case .answered, .cached: return receive(temper, &random, at: time)
    }
  }

  private mutating func begin(
    _ temper: Origins.Temper, _ random: inout RandomSource, at time: Timestamp
  ) -> TransferFact {
    if needsBody { return ask(.bodyStream, .bodyStream, at: time) }
    if job.sharedConfiguration.value.waitsForConnectivity, !hasWaited, redirects == 0,
      random.chance(temper.waits)
    {
      hasWaited = true
      return .waitsForConnectivity(job.task, at: time)
    }
    file.take()
    (stage, hasBegun) = (.requesting, true)
    return .began(job.task, at: time)
  }

  private mutating func request(
    _ temper: Origins.Temper, _ random: inout RandomSource, at time: Timestamp
  ) -> TransferFact {
    if isRedirectItself { return answer(302, at: time) }
    // Where it goes on is told with the head of the answer.
    if hasResumed { return answer(200, at: time) }
    if random.chance(temper.informs) {
      return .notified(job.task, .informational(status: 103, headers: HTTPHeaders()), at: time)
    }
    if !hasShakenHands, !hasResumed, let type = job.delegate?.challengeEvent(for: .serverTrust) {
      hasShakenHands = true
      if random.chance(temper.handshakes) {
        let challenge = AuthenticationChallenge(Self.space("", .serverTrust))
        return ask(.challenge(challenge, type), .trust, at: time)
      }
    }
    if random.chance(temper.challenges), let type = job.delegate?.challengeEvent(for: .httpBasic) {
      let realm = "realm-\(random.below(3))"
      return ask(
        .challenge(AuthenticationChallenge(Self.space(realm)), type), .challenge(realm: realm), at: time)
    }
    if random.chance(temper.authenticates) {
      let credential = Credential(.password(user: "u", password: "p"), persistence: .forSession)
      return .authenticated(job.task, Self.space("realm-0"), credential)
    }
    if redirects < 3, random.chance(temper.redirects) {
      redirects += 1
      var proposed = job.request
      proposed.url = "http://origin.test/redirected/\(redirects)"
      let answer = Self.response(302, job.request)
      if job.delegate?.asksForRedirects == true, job.sessionType != .background {
        return ask(.redirect(answer, proposed: proposed), .redirect(proposed), at: time)
      }
      follow(proposed)
      return .redirected(job.task, answer, to: proposed, at: time)
    }
    // Or the origin has another version by now, and sends it whole.
    if let offset = file.offset, !hasResumed, random.chance(800) {
      hasResumed = true
      file.open(at: offset)
      return .resumed(job.task, offset: Int64(offset), expectedTotal: Int64(AttemptFile.whole), at: time)
    }
    // Or the origin answers before the end of what it was sent.
    if random.chance(700) { body?.wasSent() }
    return answer(random.chance(temper.isBusy) ? 503 : 200, at: time)
  }

  private mutating func answer(_ status: Int, at time: Timestamp) -> TransferFact {
    stage = .answered
    body?.detach()
    let answer = Self.response(status, job.request)
    response = answer
    if job.kind == .download { return .accepted(job.task, answer) }
    if job.asksForResponses, job.sessionType != .background {
      return ask(.response(answer, BodyReference(nil)), .response, at: time)
    }
    return .response(job.task, answer, BodyReference(nil), at: time)
  }

  private mutating func receive(
    _ temper: Origins.Temper, _ random: inout RandomSource, at time: Timestamp
  ) -> TransferFact {
    // Nothing could go on from another answer.
    if file.mayOpen, response?.status == 200, random.chance(300) {
      received += 10
      file.open(at: 0)
      file.write(Int(received))
      return .keeps(job.task, resumePoint(at: 0))
    }
    if random.chance(temper.progresses) {
      received += 10
      file.write(10)
      var progress = TaskProgress()
      progress.countOfBytesReceived = received
      return .progress(job.task, progress, at: time)
    }
    if case .answered = stage, job.kind == .data {
      if random.chance(temper.answersTwice) { return answer(200, at: time) }
      if job.asksForCaching, job.sessionType != .background, random.chance(700) {
        stage = .cached
        return ask(.caching(response ?? Self.response(200, job.request), size: received), .caching, at: time)
      }
    }
    return .ended(job.task, outcome(nil, at: time))
  }

  private mutating func ask(_ what: TransferQuestion, _ asked: Asked, at time: Timestamp) -> TransferFact {
    questions += 1
    (question, self.asked) = (questions, asked)
    return .asked(job.task, questions, what, at: time)
  }

  // MARK: Its end

  private func resumePoint(at offset: Int) -> ResumePoint {
    ResumePoint(
      partial: PartialBody(offset: Int64(offset), total: Int64(AttemptFile.whole), validator: "\"v\""),
      source: job.task, blob: job.blob)
  }

  private mutating func outcome(_ error: TransferError?, at time: Timestamp) -> TransferOutcome {
    var transaction = TransactionMetrics()
    if hasBegun { transaction.requestStart = time }
    var progress = TaskProgress()
    progress.countOfBytesReceived = received
    var outcome = TransferOutcome(
      error: error, currentRequest: job.request, response: response, progress: progress,
      transactions: hasBegun ? [transaction] : [], endedAt: time)
    if error == nil { complete(&outcome) } else { fail(&outcome) }
    let kept = file.giveBack(isOfNoUse: (200..<300).contains(response?.status ?? 0))
    if outcome.error != nil, job.fault == nil, let kept { outcome.partial = .download(kept) }
    outcome.error?.resumeDataAvailable = outcome.partial != nil
    return outcome
  }

  private mutating func complete(_ outcome: inout TransferOutcome) {
    if outcome.response == nil { outcome.response = Self.response(200, job.request) }
    guard file.isOpen else {
      outcome.body = .memory([1, 2, 3])
      (outcome.size, outcome.sha256) = (3, Self.smallDigest)
      return
    }
    guard let (size, sha256) = file.finish() else {
      outcome.error = TransferError(
        .cannotWriteToFile, AttemptFile.failure, failingURL: job.request.url)
      return
    }
    (outcome.body, outcome.blob, outcome.size, outcome.sha256) = (.file, job.blob, size, sha256)
  }

  private mutating func fail(_ outcome: inout TransferOutcome) {
    guard file.isOpen, !isCancelled || keepsPartial, let offset = file.keep() else { return file.drop() }
    outcome.partial = resumePoint(at: offset)
  }

  /// What is said of a body that is no file.
  static let smallDigest = "ab"

  private static func response(_ status: Int, _ request: TransferRequest) -> TransferResponse {
    TransferResponse(
      url: request.url, status: status, headers: HTTPHeaders(), expectedContentLength: 3,
      httpVersion: "HTTP/1.1")
  }

  private static func space(_ realm: String, _ method: AuthenticationMethod = .httpBasic) -> ProtectionSpace {
    ProtectionSpace(
      host: "origin.test", port: 80, protocolName: "http", realm: realm, authenticationMethod: method)
  }
}
