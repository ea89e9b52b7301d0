internal import Curl
internal import TransferModel

/// Who asks a transfer who it is, and what it does about it.
extension Transfer {
  var surroundings: Authenticator.Surroundings {
    Authenticator.Surroundings(
      attemptLimit: tools.attemptLimit,
      asks: { [job] in job.delegate?.challengeEvent(for: $0) != nil },
      stored: { [job, tools] in Self.stored(for: $0, job, tools) },
      given: { [request, proxy] side in side == .server ? request.credential : proxy?.credential })
  }

  /// The client's certificate that is stored for the origin.
  var storedCertificate: Credential? {
    var space = url.place
    space.authenticationMethod = .clientCertificate
    return Self.stored(for: space, job, tools)
  }

  private static func stored(for space: ProtectionSpace, _ job: TransferJob, _ tools: Tools) -> Credential? {
    guard job.configuration.urlCredentialStorage else { return nil }
    return tools.credentials.credential(for: space, in: job.session)
  }

  // MARK: Requests

  /// Shows unasked what the session was let in with before.
  func adoptAuthentication() {
    guard !session.authentication.isEmpty || proxy != nil else { return }
    if !request.headers.contains("Authorization"),
      let attempt = session.authentication.attempt(at: url.place, path: url.requestTarget)
    {
      authenticator.adopt(attempt, on: .server)
    }
    if let proxy, let attempt = session.authentication.attempt(at: proxy.server.place, path: "") {
      authenticator.adopt(attempt, on: .proxy)
    }
    // A SOCKS proxy asks for nothing that could be answered later: what its URL says is said at once.
    if proxy?.server.kind == .socks5, let proxy, let credential = proxy.credential {
      authenticator.adopt(.init(space: proxy.server.place, credential: credential), on: .proxy)
    }
  }

  /// Whether the client's own `Proxy-Authorization` goes out beside the request's other fields.
  var sendsProxyFields: Bool {
    guard let proxy else { return job.configuration.proxies.isEmpty }
    return proxy.server.kind == .http && url.scheme == "http" && authenticator.attempt(.proxy) == nil
  }

  // MARK: Challenges

  /// Who asks with this answer; nil where nobody does.
  func challenger(_ head: ResponseHead) -> Authenticator.Side? {
    switch head.status {
    case 401: .server
    // From an origin it is an answer like any other.
    case 407 where proxy?.server.kind == .http && url.scheme == "http": .proxy
    default: nil
    }
  }

  /// An answer that libcurl answers by itself: NTLM's second message (MS-NLMP §1.3.1).
  func isLeg(_ head: ResponseHead) -> Bool {
    guard let side = challenger(head), authenticator.attempt(side)?.method == .ntlm else { return false }
    return Self.challenges(of: side, in: head).contains { $0.scheme == "ntlm" && $0.token68 != nil }
  }

  static func challenges(of side: Authenticator.Side, in head: ResponseHead) -> [HTTPChallenge] {
    HTTPChallenge.parse(head.headers.all(side == .server ? "WWW-Authenticate" : "Proxy-Authenticate"))
  }

  /// What the answer says of the credentials that were shown.
  func noteAuthentication(_ head: ResponseHead) {
    if let identity {
      self.identity = nil
      // A server may take any certificate in the handshake, and refuse it in its answer.
      if head.status < 400 { store(identity.credential, for: identity.space) }
    }
    guard !authenticator.isAnonymous else { return }
    let challenger = challenger(head)
    if challenger == nil { confirm(.server) }
    if challenger != .proxy { confirm(.proxy) }
    for (side, field) in [
      (Authenticator.Side.server, "Authentication-Info"), (.proxy, "Proxy-Authentication-Info"),
    ] {
      guard let info = head.headers[field] else { continue }
      authenticator.attempt(side)?.digest?.value.takeUp(info: info)
    }
  }

  private func confirm(_ side: Authenticator.Side) {
    guard let attempt = authenticator.confirm(side) else { return }
    guard attempt.credential?.persistence != Credential.Persistence.none,
      job.configuration.urlCredentialStorage || attempt.credential == nil
    else { return }
    let stored = tools.credentials.credential(for: attempt.space, in: job.session)
    // What was taken away or replaced while the request was under way does not come back.
    guard attempt.isAnswered || attempt.credential == nil || attempt.credential?.isSame(as: stored) == true
    else {
      return
    }
    session.authentication.remember(attempt, path: side == .server ? url.requestTarget : "")
    if attempt.isAnswered, let credential = attempt.credential { store(credential, for: attempt.space) }
  }

  private func store(_ credential: Credential, for space: ProtectionSpace) {
    guard credential.persistence != .none, job.configuration.urlCredentialStorage,
      tools.credentials.credential(for: space, in: job.session) != credential
    else { return }
    // What somebody else was shown there is not for whoever comes next.
    session.cache?.removeAll { CurlURL.isURL($0, in: space) }
    tools.credentials.set(credential, for: space, in: job.session)
    facts.append(.authenticated(task, space, credential))
  }

  /// A 401 or 407: sends again, asks, or takes it for the result.
  func meet(_ head: ResponseHead, on side: Authenticator.Side) {
    // Squid reads no more of a large body that it has refused, and answers nothing on that connection from then on.
    if side == .proxy, request.body != nil { try? easy?.set(.forbidReuse, to: 1) }
    let verdict = consider(Self.challenges(of: side, in: head), on: side)
    switch verdict {
    case .pass: accept(head)
    case .send:
      if needsToken(side) {
        sink = makeSink()
        hold = .token(side)
        tools.makeToken(self, side)
      } else {
        next = request
        cutAt = .now + Self.redirectGrace
      }
    case .ask(let challenge):
      // Its body may become the result, so it is kept.
      sink = makeSink()
      ask(challenge, on: side)
    case .exhausted:
      response = response(of: head)
      wireEnd = WireEnd(result: .ok, error: attemptLimitError)
    }
  }

  func consider(_ challenges: [HTTPChallenge], on side: Authenticator.Side) -> Authenticator.Verdict {
    let place = side == .server ? url.place : proxy?.server.place ?? url.place
    return authenticator.consider(challenges, on: side, at: place, surroundings) {
      session.authentication.forget($0)
    }
  }

  func ask(_ challenge: AuthenticationChallenge, on side: Authenticator.Side) {
    var challenge = challenge
    challenge.failureResponse = (head ?? connectHead).map { response(of: $0) }
    hold = .challenge(side)
    tell(challenge)
  }

  /// The delegate is told of a challenge and waited for.
  func tell(_ challenge: AuthenticationChallenge) {
    let method = challenge.protectionSpace.authenticationMethod
    let type = job.delegate?.challengeEvent(for: method) ?? .taskDidReceiveChallenge
    ask(.challenge(challenge, type))
    tools.isUrgent(self)
  }

  /// Notes a question under a number that no other of the task has: an answer to another is none.
  func ask(_ question: TransferQuestion) {
    job.questions += 1
    facts.append(.asked(task, job.questions, question, at: tools.now()))
  }

  func needsToken(_ side: Authenticator.Side) -> Bool {
    guard let attempt = authenticator.attempt(side) else { return false }
    return attempt.method == .negotiate && attempt.token == nil
  }

  /// Who is to be shown a token that is still to be made.
  var sideThatNeedsToken: Authenticator.Side? {
    needsToken(.server) ? .server : needsToken(.proxy) ? .proxy : nil
  }

  // MARK: Failures

  var attemptLimitError: TransferError {
    TransferError(
      .attemptLimitReached, "\(tools.attemptLimit) credentials were refused", failingURL: request.url)
  }

  /// What a proxy's refusal to connect stands for: a challenge, or nothing.
  func proxyChallenges(_ result: CurlResult, _ easy: EasyHandle) -> [HTTPChallenge] {
    guard proxy != nil, !isPastConnect, result != .ok else { return [] }
    if wantsSOCKSLogin(result, easy) { return [.socks] }
    guard let connectHead, connectHead.status == 407 else { return [] }
    return Self.challenges(of: .proxy, in: connectHead)
  }

  private func wantsSOCKSLogin(_ result: CurlResult, _ easy: EasyHandle?) -> Bool {
    guard proxy?.server.kind == .socks5, result == .proxy, let easy else { return false }
    return [CurlProxyError.noAuth, .userRejected].contains(easy.proxyError)
  }

  func proxyFailure(_ result: CurlResult, _ easy: EasyHandle?) -> TransferError? {
    guard proxy != nil, !isPastConnect, result != .ok else { return nil }
    let underlying = TransferError.Underlying(library: "libcurl", code: result.code)
    if connectHead?.status == 407 || wantsSOCKSLogin(result, easy) {
      return TransferError(
        .userAuthenticationRequired, "the proxy wants credentials", failingURL: request.url,
        underlying: underlying)
    }
    guard let connectHead, !(200..<300).contains(connectHead.status) else { return nil }
    return TransferError(
      .cannotConnectToHost, "the proxy refused the tunnel with status \(connectHead.status)",
      failingURL: request.url, underlying: underlying)
  }
}
