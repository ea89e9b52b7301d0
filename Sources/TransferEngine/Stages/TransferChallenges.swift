internal import Addresses
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPFields
internal import TransferModel

/// Challenges, as far as they are more than the next request: answers and tokens.
final class TransferChallenges {
  private let context: TransferContext
  private let wire: TransferWire
  private let delivery: ResponseDelivery

  init(_ context: TransferContext, _ wire: TransferWire, _ delivery: ResponseDelivery) {
    (self.context, self.wire, self.delivery) = (context, wire, delivery)
  }

  // MARK: Requests

  /// Which way a request goes, and what it shows of who sends it.
  func prepareRoute(_ transfer: Transfer) throws(TransferError) {
    let url = transfer.url
    if !transfer.job.configuration.proxies.isEmpty {
      let host = url.tlsHost
      let proxy = transfer.job.configuration.proxies.entry(scheme: url.scheme, host: host, port: url.port)
      if proxy?.server != transfer.proxy?.server { transfer.machine.authenticator.leaveProxy() }
      transfer.proxy = proxy
      // Names are the proxy's to resolve; an address can be seen here.
      if transfer.proxy != nil, IPAddress(host) != nil, !transfer.gate.maySendRequest(toAddress: host) {
        throw transfer.failure(.couldntConnect, nil)
      }
    }
    transfer.login.show(
      transfer.request, at: url, by: transfer.proxy, in: &transfer.machine.authenticator)
  }

  /// Keeps its place: to give it away would have all that wait make tokens, long before they are sent.
  func waitForToken(_ transfer: Transfer, _ side: Authenticator.Side) {
    transfer.machine.course.park()
    makeToken(transfer, side)
  }

  // MARK: Heads

  func surroundings(of transfer: Transfer) -> Authenticator.Surroundings {
    Authenticator.Surroundings(
      attemptLimit: context.settings.maximumAuthenticationAttempts,
      asks: { [job = transfer.job] in job.delegate?.challengeEvent(for: $0) != nil },
      stored: { [login = transfer.login] in login.credential(for: $0) },
      given: { [request = transfer.request, proxy = transfer.proxy] side in
        side == .server ? request.credential : proxy?.credential
      },
      holdsBody: { [request = transfer.request, url = transfer.url] side in
        // A proxy that is asked for a tunnel reads no body.
        side.wantsTunnel(to: url) || request.body?.isStream != true
      })
  }

  /// What an answer says of the credentials that were shown.
  func note(_ head: ResponseHead, _ transfer: Transfer) {
    if let identity = transfer.identity {
      transfer.identity = nil
      // A server may take any certificate in the handshake, and refuse it in its answer.
      if head.status < 400 { keep(identity.credential, for: identity.space, transfer) }
    }
    guard !transfer.machine.authenticator.isAnonymous else { return }
    let challenger = transfer.asked.challenger(head)
    if challenger == nil { confirm(.server, transfer) }
    if challenger != .proxy { confirm(.proxy, transfer) }
    transfer.machine.authenticator.takeUpInfo(head)
  }

  private func confirm(_ side: Authenticator.Side, _ transfer: Transfer) {
    guard let attempt = transfer.machine.authenticator.confirm(side),
      let credential = transfer.login.remember(
        attempt, path: side == .server ? transfer.url.requestTarget : "")
    else { return }
    keep(credential, for: attempt.space, transfer)
  }

  private func keep(_ credential: Credential, for space: ProtectionSpace, _ transfer: Transfer) {
    guard transfer.login.keep(credential, for: space) else { return }
    transfer.facts.append(.authenticated(transfer.task, space, credential))
  }

  /// A 401 or 407: sends again, asks, or takes it for the result.
  func carryOut(
    _ verdict: Authenticator.Verdict, on side: Authenticator.Side, _ head: ResponseHead, _ transfer: Transfer
  ) {
    // Squid reads no more of a large body that it has refused, and answers nothing on that connection from then on.
    if side == .proxy, transfer.request.body != nil { try? transfer.easy?.set(.forbidReuse, to: 1) }
    switch verdict {
    case .pass: delivery.accept(head, transfer)
    case .send:
      guard transfer.machine.authenticator.needsToken(side) else {
        return transfer.sendInstead(transfer.request)
      }
      transfer.sink = delivery.makeSink(transfer)
      makeToken(transfer, side)
    case .ask(let challenge):
      // Its body may become the result, so it is kept.
      transfer.sink = delivery.makeSink(transfer)
      ask(challenge, on: side, transfer)
    case .exhausted: delivery.fail(head, attemptLimitError(of: transfer), transfer)
    }
  }

  private func ask(
    _ challenge: AuthenticationChallenge, on side: Authenticator.Side, _ transfer: Transfer
  ) {
    var challenge = challenge
    challenge.failureResponse = (transfer.answer.head ?? transfer.answer.connectHead).map {
      TransferResponse($0, at: transfer.url)
    }
    transfer.machine.course.pause(for: .challenge(side))
    transfer.ask(challenge)
    context.hurry(transfer)
  }

  private func attemptLimitError(of transfer: Transfer) -> TransferError {
    TransferError(
      .attemptLimitReached,
      "\(context.settings.maximumAuthenticationAttempts) credentials were refused",
      failingURL: transfer.request.url)
  }

  // MARK: Answers

  func answer(_ transfer: Transfer, _ side: Authenticator.Side, _ answer: ChallengeAnswer) -> TransferAction {
    let surroundings = surroundings(of: transfer)
    let verdict: Authenticator.Verdict
    switch answer {
    case .useCredential(let credential):
      verdict = transfer.machine.authenticator.useCredential(credential, on: side)
    case .performDefaultHandling:
      verdict = transfer.machine.authenticator.performDefaultHandling(on: side, surroundings)
    case .rejectProtectionSpace:
      verdict = transfer.machine.authenticator.rejectProtectionSpace(on: side, surroundings)
    case .useNoCredential, .trust: verdict = .pass
    }
    return next(after: verdict, transfer, side)
  }

  /// Goes on after a 401 or 407 whose answer is held, or whose connection is gone.
  private func next(
    after verdict: Authenticator.Verdict, _ transfer: Transfer, _ side: Authenticator.Side
  ) -> TransferAction {
    switch verdict {
    case .send where transfer.machine.authenticator.needsToken(side):
      makeToken(transfer, side)
      return .wait
    case .send: return transfer.follow(transfer.request)
    case .ask(let challenge):
      ask(challenge, on: side, transfer)
      return transfer.goOn()
    case .exhausted: return .abort(attemptLimitError(of: transfer))
    case .pass:
      transfer.machine.course.decided()
      if let head = transfer.answer.head { delivery.accept(head, transfer) }
      return transfer.goOn()
    }
  }

  /// What a proxy's refusal to connect stands for: a challenge, or nothing.
  func proxyChallenges(
    to transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle
  ) -> [HTTPChallenge] {
    guard let proxy = transfer.proxy, !transfer.contact.isPastConnect, result != .ok else { return [] }
    if RequestFailure.wantsSOCKSLogin(proxy.server.kind, result, easy.proxyError) { return [.socks] }
    guard let head = transfer.answer.connectHead, head.status == 407 else { return [] }
    return Authenticator.challenges(of: .proxy, in: head)
  }

  /// A proxy asked before the request could go out.
  func meetProxy(
    _ transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle, _ challenges: [HTTPChallenge]
  ) -> TransferAction {
    let error = transfer.failure(result, easy)
    transfer.noteProgress()
    wire.record(easy, of: transfer, isComplete: false)
    wire.reclaim(transfer, isClean: false)
    transfer.machine.course.park()
    context.leaveQueue(transfer.task)
    transfer.machine.course.endWire(error)
    let (place, surroundings) = (transfer.asked.place(of: .proxy), surroundings(of: transfer))
    let verdict = transfer.machine.authenticator.consider(
      challenges, on: .proxy, at: place, surroundings
    ) { [session = transfer.session] in session.authentication.forget($0) }
    return next(after: verdict, transfer, .proxy)
  }

  // MARK: Tokens

  /// Asks for a token on a thread that may wait for the realm's servers.
  func makeToken(_ transfer: Transfer, _ side: Authenticator.Side) {
    transfer.machine.course.pause(for: .token(side))
    guard let attempt = transfer.machine.authenticator.attempt(side),
      let makeToken = attempt.scheme?.makeToken
    else { return }
    let (task, host, login) = (transfer.task, attempt.space.host, attempt.credential?.passwordLogin)
    context.settings.tokenPool.submit { [mailbox = context.mailbox] in
      mailbox.post(.token(task, side, try? makeToken(host, login)))
    }
  }

  func tokenMade(_ transfer: Transfer, _ side: Authenticator.Side, _ token: [UInt8]?) -> TransferAction {
    guard transfer.machine.course.stopWaiting(for: .token(side)) else { return .wait }
    let wasAsked = transfer.answer.head != nil || transfer.machine.course.wireEnd != nil
    if let token {
      transfer.machine.authenticator.setToken(token, on: side)
      return wasAsked ? transfer.follow(transfer.request) : transfer.machine.course.sendAtLast()
    }
    if let attempt = transfer.machine.authenticator.attempt(side) {
      transfer.session.authentication.forget(attempt)
    }
    let surroundings = surroundings(of: transfer)
    let verdict = transfer.machine.authenticator.tokenFailed(on: side, surroundings)
    return wasAsked ? next(after: verdict, transfer, side) : transfer.machine.course.sendAtLast()
  }
}
