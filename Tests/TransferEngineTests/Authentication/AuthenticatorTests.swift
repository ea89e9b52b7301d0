import Testing
import TransferModel

@testable import TransferEngine

/// The handling of challenges: each path of the state machine.
@Suite struct AuthenticatorTests {
  private static let place = ProtectionSpace(host: "a.test", port: 443, protocolName: "https")
  private static let all = [
    "Basic realm=r", "NTLM", "Digest realm=r, nonce=n, qop=auth", "Bearer x", "Negotiate",
  ]
  private let alice = Credential(user: "alice", password: "a", persistence: .forSession)
  private let bob = Credential(user: "bob", password: "b", persistence: .forSession)

  /// An authenticator that a server challenges, with its surroundings.
  private struct Subject {
    var authenticator = Authenticator()
    var asks = true
    var stored: Credential?
    var given: Credential?
    var limit = 3
    var holdsBody = true
    var refused: [String?] = []

    var surroundings: Authenticator.Context {
      .init(
        attemptLimit: limit, asks: { [asks] _ in asks }, stored: { [stored] _ in stored },
        given: { [given] side in side == .server ? given : nil },
        holdsBody: { [holdsBody] _ in holdsBody })
    }

    mutating func meet(_ fields: [String], on side: Authenticator.Side = .server) -> String {
      let challenges = HTTPChallenge.parse(fields)
      var refused = refused
      let nextStep = authenticator.handleChallenge(
        challenges, on: side, at: AuthenticatorTests.place, surroundings
      ) {
        refused.append($0.credential?.user)
      }
      self.refused = refused
      return word(nextStep, side)
    }

    mutating func use(_ credential: Credential) -> String {
      let nextStep = authenticator.useCredential(credential, on: .server)
      return word(nextStep, .server)
    }
    mutating func reject() -> String {
      let nextStep = authenticator.rejectProtectionSpace(on: .server, surroundings)
      return word(nextStep, .server)
    }
    mutating func byDefault() -> String {
      let nextStep = authenticator.performDefaultHandling(on: .server, surroundings)
      return word(nextStep, .server)
    }
    mutating func noTicket() -> String {
      let nextStep = authenticator.tokenFailed(on: .server, surroundings)
      return word(nextStep, .server)
    }

    private func word(_ nextStep: Authenticator.NextStep, _ side: Authenticator.Side) -> String {
      switch nextStep {
      case .pass: return "pass"
      case .exhausted: return "exhausted"
      case .send:
        let attempt = authenticator.attempt(side)
        return "send \(attempt.map { short($0.method) } ?? "") \(attempt?.credential?.user ?? "-")"
      case .ask(let challenge):
        let proposed = challenge.proposedCredential?.user ?? "-"
        return
          "ask \(short(challenge.protectionSpace.authenticationMethod)) \(proposed) \(challenge.previousFailureCount)"
      }
    }
    private func short(_ method: AuthenticationMethod) -> String {
      method.rawValue.replacing("NSURLAuthenticationMethod", with: "")
    }
  }

  @Test func `strongest scheme comes first, and a rejection tries the next`() {
    var subject = Subject()
    #expect(
      subject.meet(Self.all) == "send Negotiate -", "a Kerberos ticket is tried before the delegate is asked")
    #expect(subject.noTicket() == "ask Negotiate - 0")
    #expect(subject.reject() == "ask HTTPDigest - 0")
    #expect(subject.reject() == "ask NTLM - 0")
    #expect(subject.reject() == "ask HTTPBasic - 0")
    #expect(subject.reject() == "pass")
  }

  @Test func `rejected scheme stays rejected`() {
    var subject = Subject()
    let offered = ["Digest realm=r, nonce=n, qop=auth", "Basic realm=r"]
    #expect(subject.meet(offered) == "ask HTTPDigest - 0")
    #expect(subject.reject() == "ask HTTPBasic - 0")
    #expect(subject.use(alice) == "send HTTPBasic alice")
    #expect(subject.meet(offered) == "ask HTTPBasic alice 1")
    #expect(subject.refused == ["alice"])
  }

  @Test func `refused credentials are counted up to the limit`() {
    var subject = Subject()
    #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic - 0")
    for count in 1...2 {
      #expect(subject.use(count == 1 ? alice : bob).hasPrefix("send"))
      #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic \(count == 1 ? "alice" : "bob") \(count)")
    }
    #expect(subject.use(alice) == "send HTTPBasic alice")
    #expect(subject.meet(["Basic realm=r"]) == "exhausted")
  }

  @Test func `challenges with unknown schemes only are passed on`() {
    var subject = Subject()
    #expect(subject.meet(["Bearer error=x"]) == "pass")
    #expect(subject.meet([]) == "pass")
    #expect(subject.meet(["Digest realm=r, nonce=n, algorithm=SHA-512-224"]) == "pass")
  }

  @Test func `stronger of two Digest challenges is used`() {
    var subject = Subject()
    let offered = [
      "Digest realm=r, nonce=n, qop=auth", "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256",
    ]
    #expect(subject.meet(offered) == "ask HTTPDigest - 0")
    _ = subject.use(alice)
    #expect(subject.authenticator.attempt(.server)?.digest?.value.algorithm == .sha256)
    var strongest = Subject()
    _ = strongest.meet(offered + ["Digest realm=r, nonce=n, qop=auth, algorithm=SHA-512-256"])
    _ = strongest.use(alice)
    #expect(strongest.authenticator.attempt(.server)?.digest?.value.algorithm == .sha512Truncated)
  }

  @Test func `body that is not known beforehand is not signed`() {
    let covering = #"Digest realm=r, nonce=n, qop="auth-int", algorithm=SHA-256"#
    var subject = Subject(holdsBody: false)
    #expect(subject.meet([covering]) == "pass")
    #expect(subject.meet([covering, "Digest realm=r, nonce=n, qop=auth"]) == "ask HTTPDigest - 0")
    _ = subject.use(alice)
    #expect(subject.authenticator.attempt(.server)?.digest?.value.quality == .request)
    #expect(subject.authenticator.attempt(.server)?.digest?.value.algorithm == .md5)
  }

  @Test func `without a delegate, stored credential precedes the one of the URL`() {
    var subject = Subject(asks: false, stored: alice, given: bob)
    #expect(subject.meet(["Basic realm=r"]) == "send HTTPBasic alice")
    #expect(subject.meet(["Basic realm=r"]) == "send HTTPBasic bob")
    #expect(subject.meet(["Basic realm=r"]) == "pass")
  }

  @Test func `without a delegate, a weaker scheme with a credential is used`() {
    var subject = Subject(asks: false, given: alice)
    #expect(subject.meet(["Negotiate", "Basic realm=r"]) == "send Negotiate -")
    #expect(
      subject.meet(["Negotiate", "Basic realm=r"]) == "send Negotiate alice", "the ticket was rejected")
    #expect(
      subject.noTicket() == "send HTTPBasic alice",
      "a password without a token was not sent, so it is tried with Basic")
  }

  @Test func `default handling uses the proposed credential once`() {
    var subject = Subject(stored: alice)
    #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic alice 0")
    #expect(subject.byDefault() == "send HTTPBasic alice")
    #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic alice 1")
    #expect(subject.byDefault() == "pass")
  }

  // MARK: Nonces

  @Test func `stale nonce is no failure, up to a limit`() {
    var subject = Subject()
    let stale = ["Digest realm=r, nonce=m, qop=auth, stale=true"]
    _ = subject.meet(["Digest realm=r, nonce=n, qop=auth"])
    _ = subject.use(alice)
    for _ in 0..<3 { #expect(subject.meet(stale) == "send HTTPDigest alice") }
    #expect(subject.authenticator.attempt(.server)?.digest?.value.nonce == "m")
    #expect(subject.meet(stale) == "ask HTTPDigest alice 1")
  }

  @Test func `confirmed request resets the count of stale nonces`() {
    var subject = Subject()
    let stale = ["Digest realm=r, nonce=m, qop=auth, stale=true"]
    _ = subject.meet(["Digest realm=r, nonce=n, qop=auth"])
    _ = subject.use(alice)
    for _ in 0..<8 {
      #expect(subject.meet(stale) == "send HTTPDigest alice")
      #expect(subject.authenticator.confirm(.server) != nil)
    }
  }

  private static func digest(nonce: String) -> [String] { ["Digest realm=r, nonce=\(nonce), qop=auth"] }

  /// Returns a subject with an authentication that was accepted before, with nonce n.
  private func adopted() -> Subject {
    var first = Subject(asks: false, stored: alice)
    _ = first.meet(Self.digest(nonce: "n"))
    var subject = Subject(asks: false, stored: alice)
    if let attempt = first.authenticator.confirm(.server) {
      subject.authenticator.adopt(attempt, on: .server)
    }
    return subject
  }

  /// Cameras require a nonce for each request, and do not send `stale`.
  @Test func newNonceAfterSuccessIsAnsweredWithTheSameCredential() {
    var subject = adopted()
    #expect(subject.meet(Self.digest(nonce: "m")) == "send HTTPDigest alice")
    #expect(subject.authenticator.attempt(.server)?.digest?.value.nonce == "m" && subject.refused.isEmpty)
    // The new attempt is confirmed too, so that the session remembers it. The next request may then need another nonce.
    #expect(subject.authenticator.confirm(.server)?.digest?.value.nonce == "m")
    #expect(subject.meet(Self.digest(nonce: "l")) == "send HTTPDigest alice")
  }

  @Test func secondNewNonceInARowRefusesTheCredential() {
    var subject = adopted()
    #expect(subject.meet(Self.digest(nonce: "m")) == "send HTTPDigest alice")
    #expect(subject.meet(Self.digest(nonce: "l")) == "pass" && subject.refused == ["alice"])
  }

  @Test func repeatedNonceRefusesTheCredential() {
    var subject = adopted()
    #expect(subject.meet(Self.digest(nonce: "n")) == "pass" && subject.refused == ["alice"])
  }

  @Test func newNonceRefusesACredentialThatNeverSucceeded() {
    var subject = Subject(asks: false, stored: alice)
    #expect(subject.meet(Self.digest(nonce: "n")) == "send HTTPDigest alice")
    #expect(subject.meet(Self.digest(nonce: "m")) == "pass" && subject.refused == ["alice"])
  }

  /// An earlier request of the session must not use up the nonce.
  @Test func `new nonce is for one request`() {
    var subject = adopted()
    let shared = subject.authenticator.attempt(.server)?.digest
    _ = subject.meet(Self.digest(nonce: "m"))
    #expect(shared?.value.nonce == "n")
  }

  @Test func `server and proxy are independent`() {
    var subject = Subject()
    #expect(subject.meet(["Basic realm=p"], on: .proxy) == "ask HTTPBasic - 0")
    #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic - 0")
    _ = subject.use(alice)
    #expect(subject.authenticator.attempt(.proxy) == nil)
    #expect(
      subject.meet(["Negotiate", "Basic realm=p"], on: .proxy) == "ask Negotiate - 0",
      "tickets are not used for proxies"
    )
  }

  @Test func `another origin gets no credential`() {
    var subject = Subject()
    _ = subject.meet(["Basic realm=r"])
    _ = subject.use(alice)
    subject.authenticator.leaveOrigin()
    #expect(subject.authenticator.attempt(.server) == nil)
    #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic - 0")
  }

  @Test func `accepted attempt is confirmed once, without its token`() {
    var subject = Subject()
    _ = subject.meet(["Negotiate"])
    subject.authenticator.setToken([1], on: .server)
    #expect(subject.authenticator.attempt(.server)?.token == [1])
    #expect(subject.authenticator.confirm(.server)?.token == nil)
    #expect(subject.authenticator.confirm(.server) == nil)
    #expect(subject.authenticator.confirm(.proxy) == nil)
  }

  @Test func `refused credential of the session leads to a decision`() {
    var subject = Subject()
    var space = Self.place
    space.authenticationMethod = .httpBasic
    space.realm = "r"
    subject.authenticator.adopt(.init(space: space, credential: bob), on: .server)
    #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic bob 1")
    #expect(subject.refused == ["bob"])
  }

  @Test func `challenge of another realm does not refuse a credential`() {
    var subject = Subject()
    var space = Self.place
    space.authenticationMethod = .httpBasic
    space.realm = "elsewhere"
    subject.authenticator.adopt(.init(space: space, credential: bob), on: .server)
    #expect(subject.meet(["Basic realm=r"]) == "ask HTTPBasic - 0")
    #expect(subject.refused == [])
  }

  @Test func `another proxy gets no credential`() {
    var subject = Subject()
    _ = subject.meet(["Basic realm=p"], on: .proxy)
    _ = subject.authenticator.useCredential(alice, on: .proxy)
    #expect(subject.authenticator.attempt(.proxy)?.isFromDelegate == true)
    subject.authenticator.leaveProxy()
    #expect(subject.authenticator.attempt(.proxy) == nil)
  }

  @Test func `failed ticket is not tried again`() {
    var subject = Subject(asks: false)
    var space = Self.place
    space.authenticationMethod = .negotiate
    subject.authenticator.adopt(.init(space: space, credential: nil), on: .server)
    #expect(subject.noTicket() == "pass")
    subject.authenticator.adopt(.init(space: space, credential: nil), on: .server)
    #expect(subject.authenticator.attempt(.server) == nil)
  }
}
