internal import Curl
internal import EventLoop
internal import GSSAPI
internal import TransferModel

/// Challenges, as far as they are more than the next request: answers, tokens, handshakes.
extension TransferWorker {
  // MARK: Requests

  /// Which way a request goes, and what it shows of who sends it.
  func prepareRoute(_ transfer: Transfer) throws(TransferError) {
    let url = transfer.url
    if !transfer.job.configuration.proxies.isEmpty {
      let host = url.tlsHost
      let proxy = transfer.job.configuration.proxies.entry(scheme: url.scheme, host: host, port: url.port)
      if proxy?.server != transfer.proxy?.server { transfer.authenticator.leaveProxy() }
      transfer.proxy = proxy
      // Names are the proxy's to resolve; an address can be seen here.
      if transfer.proxy != nil, IPAddress(host) != nil, !transfer.gate.maySendRequest(toAddress: host) {
        throw transfer.failure(.couldntConnect, nil)
      }
    }
    transfer.adoptAuthentication()
  }

  /// Keeps its place: to give it away would have all that wait make tokens, long before they are sent.
  func waitForToken(_ transfer: Transfer, _ side: Authenticator.Side) {
    transfer.stage = .parked
    makeToken(transfer, side)
  }

  // MARK: Answers

  func answer(_ transfer: Transfer, _ side: Authenticator.Side, _ answer: ChallengeAnswer) {
    switch answer {
    case .useCredential(let credential):
      act(on: transfer.authenticator.useCredential(credential, on: side), transfer, side)
    case .performDefaultHandling:
      act(on: transfer.authenticator.performDefaultHandling(on: side, transfer.surroundings), transfer, side)
    case .rejectProtectionSpace:
      act(on: transfer.authenticator.rejectProtectionSpace(on: side, transfer.surroundings), transfer, side)
    case .useNoCredential, .trust: act(on: .pass, transfer, side)
    }
  }

  /// Goes on after a 401 or 407 whose answer is held, or whose connection is gone.
  private func act(on verdict: Authenticator.Verdict, _ transfer: Transfer, _ side: Authenticator.Side) {
    switch verdict {
    case .send where transfer.needsToken(side): makeToken(transfer, side)
    case .send: follow(transfer, transfer.request)
    case .ask(let challenge):
      transfer.ask(challenge, on: side)
      goOn(transfer)
    case .exhausted: abort(transfer, transfer.attemptLimitError)
    case .pass:
      transfer.hold = nil
      transfer.flow.receive.remove(.decision)
      if let head = transfer.head { transfer.accept(head) }
      goOn(transfer)
    }
  }

  /// A proxy asked before the request could go out. False where it did not.
  func meetProxy(_ transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle) -> Bool {
    let challenges = transfer.proxyChallenges(result, easy)
    guard !challenges.isEmpty else { return false }
    let error = transfer.failure(result, easy)
    transfer.noteProgress()
    transfer.recordTransaction(easy, isComplete: false)
    reclaim(transfer, isClean: false)
    transfer.stage = .parked
    leaveQueue(transfer.task)
    transfer.wireEnd = .init(result: result, error: error)
    act(on: transfer.consider(challenges, on: .proxy), transfer, .proxy)
    return true
  }

  // MARK: Tokens

  /// Asks for a token on a thread that may wait for the realm's servers.
  func makeToken(_ transfer: Transfer, _ side: Authenticator.Side) {
    transfer.hold = .token(side)
    guard let attempt = transfer.authenticator.attempt(side) else { return }
    let (task, host) = (transfer.task, attempt.space.host)
    let credential = attempt.credential
    settings.tokenPool.submit { [weak self] in
      var login: (user: String, password: String)?
      if case .password(let user, let password) = credential?.kind { login = (user, password) }
      let token = try? NegotiateToken.make(host: host, user: login?.user, password: login?.password)
      self?.post(.token(task, side, token))
    }
  }

  func tokenMade(_ transfer: Transfer, _ side: Authenticator.Side, _ token: [UInt8]?) {
    guard case .token = transfer.hold else { return }
    let wasAsked = transfer.head != nil || transfer.wireEnd != nil
    if let token {
      transfer.authenticator.setToken(token, on: side)
      return wasAsked ? follow(transfer, transfer.request) : sendAtLast(transfer)
    }
    if let attempt = transfer.authenticator.attempt(side) { transfer.session.authentication.forget(attempt) }
    let verdict = transfer.authenticator.tokenFailed(on: side, transfer.surroundings)
    if wasAsked { act(on: verdict, transfer, side) } else { sendAtLast(transfer) }
  }

  /// Nothing was sent yet: the token was wanted beforehand. Its place in the queue is still its own.
  func sendAtLast(_ transfer: Transfer) {
    transfer.hold = nil
    if transfer.flow.isSuspended { leaveQueue(transfer.task) } else { send(transfer) }
  }

  // MARK: Handshakes

  /// A connection's handshake waits for a decision.
  func held(_ transport: CurlTransport, _ easy: EasyHandle, _ handshake: TLSHandshake) {
    guard let transfer = easy.delegate as? Transfer, transfer.stage == .onWire else {
      handshake.decide(.refuse)
      return transport.wake(easy, holding: [])
    }
    guard transfer.hold == nil, !transfer.isPastConnect, transfer.job.revalidates == nil else {
      // Not the handshake that opens its connection, or nobody's transfer: there is nobody to ask.
      handshake.decide(.byDefault)
      return transport.wake(easy, holding: transfer.flow.directions)
    }
    transfer.touch()
    guard handshake.question != .end else { return askForBody(transfer, behind: handshake, transport) }
    if handshake.question == .trust, transfer.session.accepts(handshake, of: transfer.url) {
      handshake.decide(.trust)
      return transport.wake(easy, holding: transfer.flow.directions)
    }
    let method: AuthenticationMethod = handshake.question == .trust ? .serverTrust : .clientCertificate
    transfer.hold = .handshake(handshake)
    transfer.session.heldHandshakes += 1
    transfer.tell(challenge(of: handshake, to: transfer, method))
  }

  private func challenge(
    of handshake: TLSHandshake, to transfer: Transfer, _ method: AuthenticationMethod
  ) -> AuthenticationChallenge {
    var space = transfer.url.place
    space.authenticationMethod = method
    var challenge = AuthenticationChallenge(space)
    if method == .serverTrust {
      challenge.serverTrust = ServerTrust(handshake)
    } else {
      challenge.distinguishedNames = handshake.issuers
      challenge.proposedCredential = transfer.storedCertificate
    }
    return challenge
  }

  func answer(_ transfer: Transfer, _ handshake: TLSHandshake, _ answer: ChallengeAnswer) {
    endHandshake(transfer)
    guard let easy = transfer.easy, let transport = transfer.transport else { return }
    transfer.touch()
    var decision = TLSHandshake.Decision.byDefault
    switch (handshake.question, answer) {
    case (.trust, .trust):
      transfer.session.accept(handshake, of: transfer.url)
      decision = .trust
    case (.certificate, .useCredential(let credential)):
      guard case .certificate(let pem, let key) = credential.kind,
        let identity = try? TLSIdentity(certificate: pem, key: key)
      else { break }
      var space = transfer.url.place
      space.authenticationMethod = .clientCertificate
      transfer.identity = (space, credential)
      decision = .identity(identity)
    case (.certificate, .useNoCredential), (.certificate, .rejectProtectionSpace): decision = .noIdentity
    default: break
    }
    handshake.decide(decision)
    transport.wake(easy, holding: transfer.flow.directions)
  }

  /// The challenges of its connection are answered: now it is the body's turn.
  private func askForBody(_ transfer: Transfer, behind handshake: TLSHandshake, _ transport: CurlTransport) {
    guard transfer.lacksBody else {
      handshake.decide(.byDefault)
      if let easy = transfer.easy { transport.wake(easy, holding: transfer.flow.directions) }
      return
    }
    transfer.hold = .bodyStream(handshake)
    transfer.heldSince = .now
    transfer.session.heldHandshakes += 1
    transfer.ask(.bodyStream)
    facts += transfer.takeFacts()
    loop.wake()
  }

  /// Servers give up connections on which no request comes: after that long another is made.
  private static let connectionPatience = Duration.seconds(10)

  /// The body is here that was asked for behind a handshake.
  func sendBehind(_ handshake: TLSHandshake, _ transfer: Transfer) {
    guard transfer.heldSince.duration(to: .now) < Self.connectionPatience else {
      leaveWire(transfer)
      transfer.forgetAnswer()
      transfer.connectsFirst = false
      leaveQueue(transfer.task)
      return enqueue(transfer)
    }
    endHandshake(transfer)
    guard let easy = transfer.easy, let transport = transfer.transport else { return }
    do {
      try configurator.setBodyLength(easy, transfer)
    } catch {
      return abort(
        transfer, TransferError(.unknown, "libcurl: \(error)", failingURL: transfer.request.url))
    }
    transfer.touch()
    transfer.facts.append(.began(transfer.task, at: transfer.fetchStart))
    handshake.decide(.byDefault)
    transport.wake(easy, holding: transfer.flow.directions)
  }

  /// Its handshake is decided, or has lost its meaning.
  func endHandshake(_ transfer: Transfer) {
    guard transfer.hold?.handshake != nil else { return }
    transfer.hold = nil
    transfer.session.heldHandshakes -= 1
    // Those that waited to share the connection have their time from here on.
    guard transfer.job.configuration.httpShouldUsePipelining else { return }
    for other in transfers.values where other.session === transfer.session { other.touch() }
  }
}

extension ServerTrust {
  fileprivate init(_ handshake: TLSHandshake) {
    let certificates = handshake.chain.map { certificate in
      Certificate(
        pem: certificate.pem, subject: certificate.subject, issuer: certificate.issuer,
        notBefore: Timestamp(microseconds: certificate.notBefore * 1_000_000),
        notAfter: Timestamp(microseconds: certificate.notAfter * 1_000_000),
        sha256: Hexadecimal.text(certificate.sha256), publicKeySHA256: Base64.encode(certificate.keySHA256))
    }
    let found = handshake.verifyError
    self.init(
      certificates: certificates, error: found == 0 ? nil : FailureMapping.certificate(found).0,
      message: found == 0 ? "trusted" : handshake.verifyMessage)
  }
}
