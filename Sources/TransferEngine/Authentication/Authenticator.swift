internal import HTTPFields
internal import Limits
internal import TransferModel

/// A task's handling of challenges, from its server and its proxy: a state machine without a socket.
struct Authenticator {
  enum Side: Sendable { case server, proxy }

  /// The authentication that a request sends.
  struct Attempt {
    var space: ProtectionSpace
    /// `nil` for the process's own Kerberos ticket.
    var credential: Credential?
    /// The Digest state, shared by all of a session's requests to the space because they count the same nonce.
    var digest: SharedDigest?
    /// The Negotiate token, for one request.
    var token: [UInt8]?
    /// Whether the delegate gave the credential for this task. Otherwise it was stored, was part of a URL, or was accepted before.
    var isFromDelegate = false
    /// Whether the attempt is sent without a challenge, because it was accepted before.
    var isPreemptive = false
    /// Whether a response without a challenge was received.
    var isConfirmed = false
    /// Whether the server has accepted a request with this attempt, so that a challenge with a new nonce is no refusal. `renew(_:)`
    /// resets it.
    var wasAccepted = false

    var method: AuthenticationMethod { space.authenticationMethod }
    var scheme: (any AuthenticationScheme)? { AuthenticationSchemes.scheme(of: method) }

    /// Whether the Digest response covers the body as well (`auth-int`).
    var coversBody: Bool { digest?.value.quality == .requestAndBody }

    /// Returns `false` if the attempt must cover a streamed body.
    func canSign(_ request: TransferRequest) -> Bool { !coversBody || request.body?.isStream != true }
  }

  /// The next step after a challenge.
  enum NextStep {
    /// The response is the result.
    case pass
    /// The request is sent again, with `attempt(_:)`.
    case send
    case ask(AuthenticationChallenge)
    /// Too many credentials were refused.
    case exhausted
  }

  /// The facts that the authenticator needs from its task and session.
  struct Context {
    /// The number of refused credentials after which the task gives up.
    var attemptLimit: Int
    var asks: (AuthenticationMethod) -> Bool
    /// Returns the stored credential of a space.
    var stored: (ProtectionSpace) -> Credential?
    /// Returns the credential of the URL of the server or proxy.
    var given: (Side) -> Credential?
    /// Whether Ferry can digest the body before sending it. `false` for a streamed body, unless the side authenticates only a CONNECT.
    var holdsBody: (Side) -> Bool = { _ in true }
  }

  private struct Offer {
    var space: ProtectionSpace
    var digest: DigestAuthentication?
  }

  private struct SideState {
    var attempt: Attempt?
    var offers: [Offer] = []
    /// The challenge that the delegate was asked about last.
    var asked: Offer?
    var rejected: Set<AuthenticationMethod> = []
    var refused: [Credential] = []
    var failures = 0
    var staleNonces = 0
    var hasTriedTicket = false

    /// Gives the attempt a nonce of its own: a server may accept each nonce only once.
    mutating func renew(_ digest: DigestAuthentication) {
      attempt?.digest = SharedDigest(digest)
      attempt?.wasAccepted = false
      attempt?.isConfirmed = false
    }
  }

  private var server = SideState()
  private var proxy = SideState()
  /// The limit for a server that calls every nonce stale.
  private static let maximumStaleNonces = Limits.staleNonces.value

  private subscript(side: Side) -> SideState {
    get { side == .server ? server : proxy }
    set { if side == .server { server = newValue } else { proxy = newValue } }
  }

  func attempt(_ side: Side) -> Attempt? { side == .server ? server.attempt : proxy.attempt }
  /// Whether requests are sent without authentication.
  var isAnonymous: Bool { server.attempt == nil && proxy.attempt == nil }

  // MARK: Authentication of requests

  /// Uses an authentication that was accepted from an earlier request of the session.
  mutating func adopt(_ attempt: Attempt, on side: Side) {
    guard self[side].attempt == nil, attempt.credential != nil || !self[side].hasTriedTicket,
      !self[side].rejected.contains(attempt.method)
    else { return }
    self[side].attempt = attempt
    self[side].attempt?.isConfirmed = false
    self[side].attempt?.isFromDelegate = false
    self[side].attempt?.isPreemptive = true
    self[side].attempt?.wasAccepted = true
  }

  mutating func setToken(_ token: [UInt8]?, on side: Side) { self[side].attempt?.token = token }

  /// Resets the server's state, because the next request goes to another origin.
  mutating func leaveOrigin() { server = SideState() }

  /// Resets the proxy's state, because the next request uses another proxy or none.
  mutating func leaveProxy() { proxy = SideState() }

  // MARK: Responses

  /// Confirms the attempt after a response without a challenge from that side. Returns the attempt once.
  mutating func confirm(_ side: Side) -> Attempt? {
    guard self[side].attempt?.isConfirmed == false else { return nil }
    self[side].attempt?.isConfirmed = true
    self[side].attempt?.wasAccepted = true
    self[side].attempt?.token = nil
    self[side].staleNonces = 0
    return self[side].attempt
  }

  /// Handles a 401 or 407.
  /// - Parameters:
  ///   - place: The host, port and protocol of the challenger.
  ///   - refused: Receives an attempt that was refused.
  mutating func handleChallenge(
    _ challenges: [HTTPChallenge], on side: Side, at place: ProtectionSpace, _ surroundings: Context,
    refused: (Attempt) -> Void
  ) -> NextStep {
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
      if attempt.wasAccepted, let digest = attempt.digest,
        let fresh = self[side].offers.lazy.compactMap(\.digest).first(where: digest.value.isRenewed(by:))
      {
        self[side].renew(fresh)
        return .send
      }
      if attempt.isPreemptive, !self[side].offers.contains(where: { $0.space == attempt.space }) {
        // An authentication that was accepted elsewhere on the host may not apply to this realm.
        self[side].attempt = nil
      } else {
        refused(attempt)
        fail(side)
      }
    }
    return choose(side, surroundings)
  }

  /// Handles a failure to make the attempt's token.
  mutating func tokenFailed(on side: Side, _ surroundings: Context) -> NextStep {
    guard let attempt = self[side].attempt else { return .pass }
    if attempt.credential == nil || surroundings.asks(attempt.method) {
      fail(side)
    } else {
      // The credential was not sent, so it may work with another scheme.
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
      // The ticket was tried without asking, so its refusal does not count as a failure.
      self[side].hasTriedTicket = true
    }
    self[side].attempt = nil
  }

  private mutating func choose(_ side: Side, _ surroundings: Context) -> NextStep {
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

  private func untried(_ offer: Offer, _ side: Side, _ surroundings: Context) -> Credential? {
    let refused = self[side].refused
    return [surroundings.stored(offer.space), surroundings.given(side)].lazy
      .compactMap { $0 }.first { candidate in
        candidate.user != nil && offer.space.authenticationMethod.usesPassword
          && !refused.contains { $0.isSame(as: candidate) }
      }
  }

  private mutating func use(_ credential: Credential?, for offer: Offer, on side: Side) -> NextStep {
    self[side].attempt = Attempt(
      space: offer.space, credential: credential, digest: offer.digest.map { SharedDigest($0) })
    return .send
  }

  // MARK: The delegate's answers

  mutating func useCredential(_ credential: Credential, on side: Side) -> NextStep {
    guard let offer = self[side].asked else { return .pass }
    let nextStep = use(credential, for: offer, on: side)
    self[side].attempt?.isFromDelegate = true
    return nextStep
  }

  /// Uses the stored credential or the URL's, unless it was refused. Otherwise the response is the result.
  mutating func performDefaultHandling(on side: Side, _ surroundings: Context) -> NextStep {
    guard let offer = self[side].asked, let credential = untried(offer, side, surroundings) else {
      return .pass
    }
    return use(credential, for: offer, on: side)
  }

  /// Tries the next offered scheme.
  mutating func rejectProtectionSpace(on side: Side, _ surroundings: Context) -> NextStep {
    guard let offer = self[side].asked else { return .pass }
    self[side].rejected.insert(offer.space.authenticationMethod)
    return choose(side, surroundings)
  }

  // MARK: Offers

  /// Returns the offers that Ferry supports, the strongest first.
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
        // If both challenges are Digest, the stronger one counts. For any other scheme, the first one counts.
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

  /// Returns the challenge with a new nonce, if the server calls the old one stale (RFC 7616 §3.3).
  private static func staleNonce(
    _ challenges: [HTTPChallenge], _ digest: DigestAuthentication
  ) -> DigestAuthentication? {
    challenges.lazy.filter { $0.parameters["stale"]?.lowercasedASCII == "true" }
      .compactMap { DigestAuthentication($0) }
      .first { $0.realm == digest.realm && $0.algorithm == digest.algorithm }
  }
}

/// A Digest state whose nonce several requests count.
final class SharedDigest {
  var value: DigestAuthentication
  init(_ value: DigestAuthentication) { self.value = value }
}

extension HTTPChallenge {
  /// A challenge that stands for a SOCKS proxy's refusal.
  static let socks = HTTPChallenge(scheme: "socks")
}
