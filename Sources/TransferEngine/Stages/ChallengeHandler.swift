internal import Addresses
internal import Curl
internal import EngineAPI
internal import EventLoop
internal import HTTPFields
internal import TransferModel

/// The stage that handles challenges: it asks the delegate, makes tokens and remembers accepted credentials.
final class ChallengeHandler {
  private let context: TransferContext
  private let wire: EasyHandleAttachment
  private let delivery: ResponseDelivery

  init(_ context: TransferContext, _ wire: EasyHandleAttachment, _ delivery: ResponseDelivery) {
    (self.context, self.wire, self.delivery) = (context, wire, delivery)
  }

  // MARK: Requests

  /// Sets the request's proxy, and the authentication that is sent without a challenge.
  func prepareRoute(_ transfer: Transfer) throws(TransferError) {
    let url = transfer.url
    if !transfer.job.configuration.proxies.isEmpty {
      let host = url.tlsHost
      let proxy = transfer.job.configuration.proxies.entry(scheme: url.scheme, host: host, port: url.port)
      if proxy?.server != transfer.proxy?.server { transfer.machine.authenticator.leaveProxy() }
      transfer.proxy = proxy
      // A proxy resolves names itself, but the address in a URL is checked here.
      if transfer.proxy != nil, IPAddress(host) != nil, !transfer.gate.maySendRequest(toAddress: host) {
        throw transfer.failure(.couldntConnect, nil)
      }
    }
    transfer.login.applyRemembered(
      transfer.request, at: url, by: transfer.proxy, in: &transfer.machine.authenticator)
  }

  /// Makes a token while the transfer keeps its slot. Otherwise all queued transfers would make tokens long before their requests are
  /// sent.
  func waitForToken(_ transfer: Transfer, _ side: Authenticator.Side) {
    transfer.machine.lifecycle.park()
    makeToken(transfer, side)
  }

  // MARK: Heads

  func surroundings(of transfer: Transfer) -> Authenticator.Context {
    Authenticator.Context(
      attemptLimit: context.settings.maximumAuthenticationAttempts,
      asks: { [job = transfer.job] in job.delegate?.challengeEvent(for: $0) != nil },
      stored: { [login = transfer.login] in login.credential(for: $0) },
      given: { [request = transfer.request, proxy = transfer.proxy] side in
        side == .server ? request.credential : proxy?.credential
      },
      holdsBody: { [request = transfer.request, url = transfer.url] side in
        // A proxy reads no body with a request for a tunnel.
        side.wantsTunnel(to: url) || request.body?.isStream != true
      })
  }

  /// Records from a response whether the credentials were accepted.
  func note(_ head: ResponseHead, _ transfer: Transfer) {
    if let identity = transfer.identity {
      transfer.identity = nil
      // A server may accept any certificate in the handshake, and refuse it in its response.
      if head.status < 400 { keep(identity.credential, for: identity.space, transfer) }
    }
    guard !transfer.machine.authenticator.isAnonymous else { return }
    let challenger = transfer.asked.challenger(head)
    if challenger == nil { confirm(.server, transfer) }
    if challenger != .proxy { confirm(.proxy, transfer) }
    transfer.machine.authenticator.readAuthenticationInfo(head)
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

  /// Carries out the outcome of a 401 or 407: repeats the request, asks the delegate, or accepts the response as the result.
  func carryOut(
    _ nextStep: Authenticator.NextStep, on side: Authenticator.Side, _ head: ResponseHead,
    _ transfer: Transfer
  ) {
    // Squid stops reading a large body that it has refused, and does not respond on that connection afterwards.
    if side == .proxy, transfer.request.body != nil { try? transfer.easy?.set(.forbidReuse, to: 1) }
    switch nextStep {
    case .pass: delivery.deliver(head, transfer)
    case .send:
      guard transfer.machine.authenticator.needsToken(side) else {
        return transfer.replaceRequest(transfer.request)
      }
      transfer.sink = delivery.makeSink(transfer)
      makeToken(transfer, side)
    case .ask(let challenge):
      // The body may become the result, so it is kept.
      transfer.sink = delivery.makeSink(transfer)
      ask(challenge, on: side, transfer)
    case .exhausted: delivery.fail(head, attemptLimitError(of: transfer), transfer)
    }
  }

  private func ask(
    _ challenge: AuthenticationChallenge, on side: Authenticator.Side, _ transfer: Transfer
  ) {
    var challenge = challenge
    challenge.failureResponse = (transfer.received.head ?? transfer.received.connectHead).map {
      TransferResponse($0, at: transfer.url)
    }
    transfer.machine.lifecycle.pause(for: .challenge(side))
    transfer.ask(challenge)
    context.reportAtEndOfTick(transfer)
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
    let nextStep: Authenticator.NextStep
    switch answer {
    case .useCredential(let credential):
      nextStep = transfer.machine.authenticator.useCredential(credential, on: side)
    case .performDefaultHandling:
      nextStep = transfer.machine.authenticator.performDefaultHandling(on: side, surroundings)
    case .rejectProtectionSpace:
      nextStep = transfer.machine.authenticator.rejectProtectionSpace(on: side, surroundings)
    case .useNoCredential, .trust: nextStep = .pass
    }
    return next(after: nextStep, transfer, side)
  }

  /// Returns the next action after a 401 or 407 whose response is held, or whose connection is closed.
  private func next(
    after nextStep: Authenticator.NextStep, _ transfer: Transfer, _ side: Authenticator.Side
  ) -> TransferAction {
    switch nextStep {
    case .send where transfer.machine.authenticator.needsToken(side):
      makeToken(transfer, side)
      return .wait
    case .send: return transfer.follow(transfer.request)
    case .ask(let challenge):
      ask(challenge, on: side, transfer)
      return transfer.resume()
    case .exhausted: return .abort(attemptLimitError(of: transfer))
    case .pass:
      transfer.machine.lifecycle.decisionReceived()
      if let head = transfer.received.head { delivery.deliver(head, transfer) }
      return transfer.resume()
    }
  }

  /// Returns the challenges of a proxy that refused to connect; empty if there are none.
  func proxyChallenges(
    to transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle
  ) -> [HTTPChallenge] {
    guard let proxy = transfer.proxy, !transfer.connectionProgress.isPastConnect, result != .ok else {
      return []
    }
    if RequestFailure.wantsSOCKSLogin(proxy.server.kind, result, easy.proxyError) { return [.socks] }
    guard let head = transfer.received.connectHead, head.status == 407 else { return [] }
    return Authenticator.challenges(of: .proxy, in: head)
  }

  /// Handles a proxy's challenges to a request that was not sent yet.
  func handleProxyChallenges(
    _ transfer: Transfer, _ result: CurlResult, _ easy: EasyHandle, _ challenges: [HTTPChallenge]
  ) -> TransferAction {
    let error = transfer.failure(result, easy)
    transfer.noteProgress()
    wire.record(easy, of: transfer, isComplete: false)
    wire.reclaim(transfer, isClean: false)
    transfer.machine.lifecycle.park()
    context.leaveQueue(transfer.task)
    transfer.machine.lifecycle.endWire(error)
    let (place, surroundings) = (transfer.asked.place(of: .proxy), surroundings(of: transfer))
    let nextStep = transfer.machine.authenticator.handleChallenge(
      challenges, on: .proxy, at: place, surroundings
    ) { [session = transfer.session] in session.authentication.forget($0) }
    return next(after: nextStep, transfer, .proxy)
  }

  // MARK: Tokens

  /// Makes a token on a thread that may wait for the realm's servers.
  func makeToken(_ transfer: Transfer, _ side: Authenticator.Side) {
    transfer.machine.lifecycle.pause(for: .token(side))
    guard let attempt = transfer.machine.authenticator.attempt(side),
      let makeToken = attempt.scheme?.makeToken
    else { return }
    let (task, host, login) = (transfer.task, attempt.space.host, attempt.credential?.passwordLogin)
    context.settings.tokenPool.submit { [mailbox = context.mailbox] in
      mailbox.post(.token(task, side, try? makeToken(host, login)))
    }
  }

  func tokenMade(_ transfer: Transfer, _ side: Authenticator.Side, _ token: [UInt8]?) -> TransferAction {
    guard transfer.machine.lifecycle.stopWaiting(for: .token(side)) else { return .wait }
    let wasAsked = transfer.received.head != nil || transfer.machine.lifecycle.wireEnd != nil
    if let token {
      transfer.machine.authenticator.setToken(token, on: side)
      return wasAsked ? transfer.follow(transfer.request) : transfer.machine.lifecycle.sendWhenReady()
    }
    if let attempt = transfer.machine.authenticator.attempt(side) {
      transfer.session.authentication.forget(attempt)
    }
    let surroundings = surroundings(of: transfer)
    let nextStep = transfer.machine.authenticator.tokenFailed(on: side, surroundings)
    return wasAsked ? next(after: nextStep, transfer, side) : transfer.machine.lifecycle.sendWhenReady()
  }
}
