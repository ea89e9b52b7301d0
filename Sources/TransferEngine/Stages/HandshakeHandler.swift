internal import Curl
internal import EngineAPI
internal import TransferModel

/// The stage that pauses TLS handshakes until the delegate has answered.
final class HandshakeHandler {
  private let context: TransferContext
  private let wire: EasyHandleAttachment

  init(_ context: TransferContext, _ wire: EasyHandleAttachment) {
    (self.context, self.wire) = (context, wire)
  }

  /// Handles a connection whose handshake waits for a decision.
  func held(_ transport: CurlTransport, _ easy: EasyHandle, _ handshake: TLSHandshake) {
    guard let transfer = easy.delegate as? Transfer else {
      handshake.decide(.refuse)
      return transport.wake(easy, holding: [])
    }
    let nextStep = transfer.machine.handshakeAction(
      handshake.question, isPastConnect: transfer.connectionProgress.isPastConnect,
      isForNobody: transfer.job.revalidates != nil, lacksBody: transfer.lacksBody,
      isTrusted: transfer.session.accepts(handshake, of: transfer.url))
    switch nextStep {
    case .refuse:
      handshake.decide(.refuse)
      transport.wake(easy, holding: [])
    case .goOn:
      handshake.decide(.byDefault)
      transport.wake(easy, holding: transfer.flow.directions)
    case .trust:
      transfer.touch()
      handshake.decide(.trust)
      transport.wake(easy, holding: transfer.flow.directions)
    case .askForBody:
      hold(handshake, transfer, .bodyStream(behindHandshake: true))
      transfer.heldSince = .now
      transfer.ask(.bodyStream)
      context.reportFacts(transfer)
    case .ask(let method):
      hold(handshake, transfer, .handshake)
      transfer.ask(challenge(of: handshake, to: transfer, method))
      context.reportAtEndOfTick(transfer)
    }
  }

  private func hold(_ handshake: TLSHandshake, _ transfer: Transfer, _ hold: TransferState.WaitReason) {
    transfer.touch()
    transfer.handshake = handshake
    transfer.machine.lifecycle.pause(for: hold)
    transfer.session.heldHandshakes += 1
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
      challenge.proposedCredential = transfer.login.certificate(at: transfer.url)
    }
    return challenge
  }

  func answer(_ transfer: Transfer, _ answer: ChallengeAnswer) {
    let handshake = transfer.handshake
    wire.endHandshake(transfer)
    guard let handshake, let easy = transfer.easy, let transport = transfer.transport else { return }
    transfer.touch()
    var decision = TLSHandshake.Resolution.byDefault
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

  /// The maximum wait on a held connection. Servers close connections without a request, so a new one is made after that time.
  private static let connectionPatience = Duration.seconds(10)

  /// Continues a held handshake when the request's body is available.
  func send(_ transfer: Transfer) -> TransferAction {
    guard transfer.heldSince.duration(to: .now) < Self.connectionPatience else {
      wire.leave(transfer)
      transfer.discardResponse()
      transfer.connectsBeforeBody = false
      context.leaveQueue(transfer.task)
      return .queue
    }
    let handshake = transfer.handshake
    wire.endHandshake(transfer)
    guard let handshake, let easy = transfer.easy, let transport = transfer.transport else { return .wait }
    do {
      try wire.configurator.setBodyLength(easy, transfer)
    } catch {
      return .abort(TransferError(.unknown, "libcurl: \(error)", failingURL: transfer.request.url))
    }
    transfer.touch()
    transfer.facts.append(.began(transfer.task, at: transfer.fetchStart))
    handshake.decide(.byDefault)
    transport.wake(easy, holding: transfer.flow.directions)
    return .wait
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
