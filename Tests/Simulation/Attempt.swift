internal import BlobStore
internal import EngineAPI
internal import HTTPFields
internal import TransferCore
internal import TransferModel

/// One attempt of a task in the simulated engine. It produces exactly the sequences that the engine's contract allows:
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
  /// The number of the decision that the attempt waits for.
  var question: Int?
  /// Whether the request was counted in `SimulatedOrigins.unsafeRequests`.
  var hasCounted = false
  private var stage = Stage.fresh
  private var asked: Asked?
  private var questions: Int
  private var hasBegun = false
  private var hasShakenHands = false
  /// The body that a client sends for the current request.
  private var body: UploadStream?
  private var hasWaited = false
  private var hasResumed = false
  private var received: Int64 = 0
  private var file: AttemptFile
  private var redirects = 0
  /// Whether the redirect is not followed, so that its response becomes the task's.
  private var isRedirectItself = false
  private var response: TransferResponse?
  /// The error with which the attempt will end.
  private var end: TransferError?
  private var isCancelled = false
  private var keepsPartial = false

  init(_ job: TransferJob, in bodies: any BlobStore) {
    self.job = job
    file = AttemptFile(of: job, in: bodies)
    questions = job.decisionCount
    end = job.fault
  }

  var isWriting: Bool { file.isOpen }
  /// Whether the attempt can make a step by itself.
  var goesOn: Bool { isCancelled || question == nil && !isSuspended }
  /// Whether the attempt has a connection, which it keeps until its end.
  var isConnected: Bool { hasBegun }
  /// Whether the attempt needs a connection for its next step.
  var waitsForConnection: Bool { !hasBegun && end == nil && !needsBody }
  /// Whether the attempt still needs a streamed body, which it requests before it queues.
  private var needsBody: Bool { job.request.body?.isStream == true && body == nil }

  mutating func cancel(keepsPartial: Bool) {
    (isCancelled, self.keepsPartial) = (true, keepsPartial)
    question = nil
    end = TransferError(.cancelled, "cancelled", failingURL: job.request.url)
  }

  /// Applies an answer.
  /// - Returns: `false` if the answer does not match the decision.
  mutating func take(_ answer: TransferAnswer) -> Bool {
    defer { (question, asked) = (nil, nil) }
    switch (asked, answer) {
    case (.redirect, .redirect(let request)):
      if let request { follow(request) } else { isRedirectItself = true }
    case (.redirect(let proposed), .byDefault): follow(proposed)
    // The next request carries the credential.
    case (.challenge(let realm), .challenge(let answer)):
      beginAnew()
      guard case .useCredential(let credential) = answer, case .password(let user, _) = credential.kind else {
        return true
      }
      return user == realm
    case (.challenge, .byDefault): beginAnew()
    // The handshake continues, and then the request.
    case (.trust, .challenge(.useCredential)): return false
    case (.trust, .challenge), (.trust, .byDefault): break
    case (.bodyStream, .bodyStream(let reference)):
      guard let token = reference.token as? UploadStream else { return false }
      body = token
    case (.bodyStream, .byDefault):
      end = TransferError(.requestBodyStreamExhausted, "no body was sent", failingURL: job.request.url)
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

  /// Stops reading the body that a client sends.
  mutating func letGo() {
    body?.cancel()
    body = nil
  }

  private mutating func follow(_ request: TransferRequest) {
    letGo()
    job.request = request
    (stage, hasWaited, hasShakenHands) = (.fresh, false, false)
  }

  // MARK: Steps

  /// Whether the attempt waits for a decision and is neither suspended nor cancelled.
  var asks: Bool { question != nil && !isCancelled && !isSuspended }

  /// Ends the attempt during its decision, because of a timeout or an error in the service.
  mutating func breakOff(_ random: inout RandomSource, at time: Timestamp) -> TransferFact {
    let codes: [URLErrorCode] = [.timedOut, .networkConnectionLost, .cannotWriteToFile, .unknown]
    let error = TransferError(
      codes[random.below(codes.count)], "while it asked", failingURL: job.request.url)
    return .ended(job.task, outcome(error, at: time))
  }

  mutating func next(
    _ temper: SimulatedOrigins.Probabilities, _ random: inout RandomSource, at time: Timestamp
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
    _ temper: SimulatedOrigins.Probabilities, _ random: inout RandomSource, at time: Timestamp
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
    _ temper: SimulatedOrigins.Probabilities, _ random: inout RandomSource, at time: Timestamp
  ) -> TransferFact {
    if isRedirectItself { return answer(302, at: time) }
    // The resume offset is reported with the head of the response.
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
      let mark = job.request.url.firstIndex(of: "?").map { String(job.request.url[$0...]) } ?? ""
      proposed.url = "http://origin.test/redirected/\(redirects)\(mark)"
      let answer = Self.response(302, job.request)
      if job.delegate?.asksForRedirects == true, job.sessionType != .background {
        return ask(.redirect(answer, proposed: proposed), .redirect(proposed), at: time)
      }
      follow(proposed)
      return .redirected(job.task, answer, to: proposed, at: time)
    }
    // Otherwise the origin has another version, and sends it from the beginning.
    if let offset = file.offset, !hasResumed, random.chance(800) {
      hasResumed = true
      file.open(at: offset)
      return .resumed(job.task, offset: Int64(offset), expectedTotal: Int64(AttemptFile.whole), at: time)
    }
    // Otherwise the origin responds before it has received the whole body.
    if random.chance(700) { body?.markSent() }
    return answer(random.chance(temper.isBusy) ? 503 : 200, at: time)
  }

  private mutating func answer(_ status: Int, at time: Timestamp) -> TransferFact {
    stage = .answered
    body?.cancel()
    let answer = Self.response(status, job.request)
    response = answer
    if job.kind == .download { return .accepted(job.task, answer) }
    if job.asksForResponses, job.sessionType != .background {
      return ask(.response(answer, BodyReference(nil)), .response, at: time)
    }
    return .response(job.task, answer, BodyReference(nil), at: time)
  }

  private mutating func receive(
    _ temper: SimulatedOrigins.Probabilities, _ random: inout RandomSource, at time: Timestamp
  ) -> TransferFact {
    // Only a response with status 200 is worth keeping.
    if file.mayOpen, response?.status == 200, random.chance(300) {
      received += 10
      file.open(at: 0)
      file.write(Int(received))
      return .keptPartial(job.task, resumePoint(at: 0))
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

  // MARK: End

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

  /// The stand-in for the digest of a body in memory.
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
