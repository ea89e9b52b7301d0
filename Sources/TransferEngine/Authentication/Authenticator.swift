internal import HTTPFields
internal import Limits
internal import TransferModel

/// What one task does about challenges of its server and of its proxy: a state machine without a socket.
struct Authenticator {
  enum Side: Sendable { case server, proxy }

  /// What a request shows of who sends it.
  struct Attempt {
    var space: ProtectionSpace
    /// nil: the process's own Kerberos ticket.
    var credential: Credential?
    /// Shared by all of a session's requests to the space: a nonce is counted once.
    var digest: SharedDigest?
    /// Negotiate's, for one request.
    var token: [UInt8]?
    /// The delegate gave it for this task; else it was stored, came with a URL, or had let the session in before.
    var isAnswered = false
    /// It is shown unasked, since it had let the session in before.
    var isAdopted = false
    /// An answer came that was no challenge.
    var isConfirmed = false
    /// The server has accepted a request with this attempt, so a challenge with a new nonce is no refusal.
    /// `renew(_:)` resets it.
    var isProven = false

    var method: AuthenticationMethod { space.authenticationMethod }
    var scheme: (any AuthenticationScheme)? { AuthenticationSchemes.scheme(of: method) }

    /// The response covers the body as well (`auth-int`).
    var coversBody: Bool { digest?.value.quality == .requestAndBody }

    /// False if it must cover a streamed body.
    func canSign(_ request: TransferRequest) -> Bool { !coversBody || request.body?.isStream != true }
  }

  /// What happens now.
  enum Verdict {
    /// The answer is the result.
    case pass
    /// The request is sent again, with `attempt(_:)`.
    case send
    case ask(AuthenticationChallenge)
    /// Too many credentials were refused.
    case exhausted
  }

  /// What the task's surroundings say.
  struct Surroundings {
    /// Credentials refused, after which it gives up.
    var attemptLimit: Int
    var asks: (AuthenticationMethod) -> Bool
    /// What is stored for a space.
    var stored: (ProtectionSpace) -> Credential?
    /// What came with the URL of the server, or of the proxy.
    var given: (Side) -> Credential?
    /// Whether Ferry can digest the body before sending it. False for a streamed body, unless the side authenticates only a CONNECT.
    var holdsBody: (Side) -> Bool = { _ in true }
  }

  private struct Offer {
    var space: ProtectionSpace
    var digest: DigestAuthentication?
  }

  private struct Party {
    var attempt: Attempt?
    var offers: [Offer] = []
    /// What the delegate was asked about last.
    var asked: Offer?
    var rejected: Set<AuthenticationMethod> = []
    var refused: [Credential] = []
    var failures = 0
    var staleNonces = 0
    var hasTriedTicket = false

    /// Gives the attempt a nonce of its own: a server may accept each nonce only once.
    mutating func renew(_ digest: DigestAuthentication) {
      attempt?.digest = SharedDigest(digest)
      attempt?.isProven = false
      attempt?.isConfirmed = false
    }
  }

  private var server = Party()
  private var proxy = Party()
  /// A server that calls every nonce stale is not believed for ever.
  private static let maximumStaleNonces = Limits.staleNonces.value

  private subscript(side: Side) -> Party {
    get { side == .server ? server : proxy }
    set { if side == .server { server = newValue } else { proxy = newValue } }
  }

  func attempt(_ side: Side) -> Attempt? { side == .server ? server.attempt : proxy.attempt }
  /// Whether requests go out as they were asked for.
  var isAnonymous: Bool { server.attempt == nil && proxy.attempt == nil }

  // MARK: What requests are sent with

  /// Takes what an earlier request of the session was let in with.
  mutating func adopt(_ attempt: Attempt, on side: Side) {
    guard self[side].attempt == nil, attempt.credential != nil || !self[side].hasTriedTicket,
      !self[side].rejected.contains(attempt.method)
    else { return }
    self[side].attempt = attempt
    self[side].attempt?.isConfirmed = false
    self[side].attempt?.isAnswered = false
    self[side].attempt?.isAdopted = true
    self[side].attempt?.isProven = true
  }

  mutating func setToken(_ token: [UInt8]?, on side: Side) { self[side].attempt?.token = token }

  /// The next request goes to another origin: nothing of this one's is known there.
  mutating func leaveOrigin() { server = Party() }

  /// The next request goes another way: what was shown to a proxy is for that one alone.
  mutating func leaveProxy() { proxy = Party() }

  // MARK: Answers

  /// An answer that is no challenge of that side: what was shown is good. Returned once.
  mutating func confirm(_ side: Side) -> Attempt? {
    guard self[side].attempt?.isConfirmed == false else { return nil }
    self[side].attempt?.isConfirmed = true
    self[side].attempt?.isProven = true
    self[side].attempt?.token = nil
    self[side].staleNonces = 0
    return self[side].attempt
  }

  /// A 401 or 407.
  /// - Parameters:
  ///   - place: host, port and protocol of who asks.
  ///   - refused: hears which attempt was of no use.
  mutating func consider(
    _ challenges: [HTTPChallenge], on side: Side, at place: ProtectionSpace, _ surroundings: Surroundings,
    refused: (Attempt) -> Void
  ) -> Verdict {
    self[side].offers = Self.offers(challenges, at: place, holdsBody: surroundings.holdsBody(side))
    if let attempt = self[side].attempt {
      if let digest = attempt.digest, self[side].staleNonces < Self.maximumStaleNonces,
        let fresh = Self.staleNonce(challenges, digest.value)
      {
        self[side].staleNonces += 1
        self[side].attempt?.isConfirmed = false
        digest.value = fresh
        return .send
      }
      if attempt.isProven, let digest = attempt.digest,
        let fresh = self[side].offers.lazy.compactMap(\.digest).first(where: digest.value.isRenewed(by:))
      {
        self[side].renew(fresh)
        return .send
      }
      if attempt.isAdopted, !self[side].offers.contains(where: { $0.space == attempt.space }) {
        // What let the session in elsewhere on the host says nothing of this realm.
        self[side].attempt = nil
      } else {
        refused(attempt)
        fail(side)
      }
    }
    return choose(side, surroundings)
  }

  /// No token could be made for the attempt.
  mutating func tokenFailed(on side: Side, _ surroundings: Surroundings) -> Verdict {
    guard let attempt = self[side].attempt else { return .pass }
    if attempt.credential == nil || surroundings.asks(attempt.method) {
      fail(side)
    } else {
      // Nobody was shown it: it may be of use with another scheme.
      self[side].attempt = nil
      self[side].rejected.insert(attempt.method)
    }
    return choose(side, surroundings)
  }

  private mutating func fail(_ side: Side) {
    if let credential = self[side].attempt?.credential {
      self[side].failures += 1
      self[side].refused.append(credential)
    } else {
      // The ticket was tried without being asked for: that it was of no use is nobody's failure.
      self[side].hasTriedTicket = true
    }
    self[side].attempt = nil
  }

  private mutating func choose(_ side: Side, _ surroundings: Surroundings) -> Verdict {
    for offer in self[side].offers where !self[side].rejected.contains(offer.space.authenticationMethod) {
      // A ticket of the process is tried before the delegate is asked.
      let hasToken = AuthenticationSchemes.scheme(of: offer.space.authenticationMethod)?.makeToken != nil
      if hasToken, side == .server, !self[side].hasTriedTicket {
        return use(nil, for: offer, on: side)
      }
      let proposed = untried(offer, side, surroundings)
      if surroundings.asks(offer.space.authenticationMethod) {
        guard self[side].failures < surroundings.attemptLimit else { return .exhausted }
        self[side].asked = offer
        return .ask(challenge(offer, side, proposed: proposed ?? self[side].refused.last))
      }
      if let proposed { return use(proposed, for: offer, on: side) }
    }
    return .pass
  }

  private func challenge(_ offer: Offer, _ side: Side, proposed: Credential?) -> AuthenticationChallenge {
    var challenge = AuthenticationChallenge(offer.space)
    challenge.previousFailureCount = self[side].failures
    challenge.proposedCredential = proposed
    return challenge
  }

  private func untried(_ offer: Offer, _ side: Side, _ surroundings: Surroundings) -> Credential? {
    let refused = self[side].refused
    return [surroundings.stored(offer.space), surroundings.given(side)].lazy
      .compactMap { $0 }.first { candidate in
        candidate.user != nil && offer.space.authenticationMethod.takesPassword
          && !refused.contains { $0.isSame(as: candidate) }
      }
  }

  private mutating func use(_ credential: Credential?, for offer: Offer, on side: Side) -> Verdict {
    self[side].attempt = Attempt(
      space: offer.space, credential: credential, digest: offer.digest.map { SharedDigest($0) })
    return .send
  }

  // MARK: The delegate's answers

  mutating func useCredential(_ credential: Credential, on side: Side) -> Verdict {
    guard let offer = self[side].asked else { return .pass }
    let verdict = use(credential, for: offer, on: side)
    self[side].attempt?.isAnswered = true
    return verdict
  }

  /// What is stored or came with the URL, where it was not refused yet; else the answer is the result.
  mutating func performDefaultHandling(on side: Side, _ surroundings: Surroundings) -> Verdict {
    guard let offer = self[side].asked, let credential = untried(offer, side, surroundings) else {
      return .pass
    }
    return use(credential, for: offer, on: side)
  }

  /// The next of what was offered.
  mutating func rejectProtectionSpace(on side: Side, _ surroundings: Surroundings) -> Verdict {
    guard let offer = self[side].asked else { return .pass }
    self[side].rejected.insert(offer.space.authenticationMethod)
    return choose(side, surroundings)
  }

  // MARK: What is offered

  /// The schemes that are known here, the strongest first.
  private static func offers(
    _ challenges: [HTTPChallenge], at place: ProtectionSpace, holdsBody: Bool
  ) -> [Offer] {
    var offers: [Offer] = []
    for challenge in challenges {
      let digest = DigestAuthentication(challenge)
      guard let method = AuthenticationSchemes.scheme(answering: challenge)?.method,
        holdsBody || digest?.quality != .requestAndBody
      else { continue }
      var space = place
      space.authenticationMethod = method
      space.realm = challenge.realm
      if let known = offers.firstIndex(where: { $0.space.authenticationMethod == method }) {
        // Of two Digests the stronger one; of others the first.
        if let digest, let other = offers[known].digest,
          digest.algorithm.strength > other.algorithm.strength
        {
          offers[known] = Offer(space: space, digest: digest)
        }
      } else {
        offers.append(Offer(space: space, digest: digest))
      }
    }
    return AuthenticationSchemes.all.compactMap { scheme in
      offers.first { $0.space.authenticationMethod == scheme.method }
    }
  }

  /// The server knows user and password, but wants another nonce (RFC 7616 §3.3).
  private static func staleNonce(
    _ challenges: [HTTPChallenge], _ digest: DigestAuthentication
  ) -> DigestAuthentication? {
    challenges.lazy.filter { $0.parameters["stale"]?.lowercasedASCII == "true" }
      .compactMap { DigestAuthentication($0) }
      .first { $0.realm == digest.realm && $0.algorithm == digest.algorithm }
  }
}

/// A nonce that several requests count.
final class SharedDigest {
  var value: DigestAuthentication
  init(_ value: DigestAuthentication) { self.value = value }
}

extension HTTPChallenge {
  /// What a SOCKS proxy's refusal stands for.
  static let socks = HTTPChallenge(scheme: "socks")
}
