import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

/// A random walk: for all servers and delegates, a task ends, and credentials stay with their scheme.
@Suite struct AuthenticatorWalkTests {
  @Test(arguments: 0..<200)
  func `every task ends`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var walk = Walk(seed: seed)
    for _ in 0..<200 where !walk.hasEnded { walk.step(&random) }
    #expect(walk.hasEnded)
    #expect(walk.asked <= 60, "at most one decision for each scheme and attempt")
    #expect(walk.faults.isEmpty, "\(walk.faults)")
  }
}

private struct Walk {
  private static let fields = [
    "Basic realm=r", "NTLM", "Digest realm=r, nonce=n, qop=auth",
    "Digest realm=r, nonce=n, qop=auth, stale=true",
    "Bearer x", "Negotiate", "Basic realm=other",
  ]
  private let place = ProtectionSpace(host: "a.test", port: 80, protocolName: "http")
  private let limit: Int
  private let asks: Bool
  private let stored: Credential?
  private var authenticator = Authenticator()
  private var nextStep: Authenticator.NextStep?
  private(set) var hasEnded = false
  private(set) var asked = 0
  private(set) var faults: [String] = []

  init(seed: UInt64) {
    limit = Int(seed % 7) + 1
    asks = seed % 3 != 0
    stored = seed % 2 == 0 ? Credential(user: "stored", password: "s") : nil
  }

  private var surroundings: Authenticator.Context {
    .init(
      attemptLimit: limit, asks: { [asks] _ in asks }, stored: { [stored] _ in stored }, given: { _ in nil })
  }

  mutating func step(_ random: inout SplitMix64) {
    switch nextStep {
    case nil, .send: send(&random)
    case .ask(let challenge): answer(challenge, &random)
    case .pass, .exhausted: hasEnded = true
    }
  }

  /// The server always refuses.
  private mutating func send(_ random: inout SplitMix64) {
    if let attempt = authenticator.attempt(.server), attempt.method == .negotiate, Bool.random(using: &random)
    {
      nextStep = authenticator.tokenFailed(on: .server, surroundings)
      return
    }
    let offered = Self.fields.filter { _ in Bool.random(using: &random) }
    nextStep = authenticator.handleChallenge(
      HTTPChallenge.parse(offered), on: .server, at: place, surroundings
    ) {
      _ in
    }
  }

  private mutating func answer(_ challenge: AuthenticationChallenge, _ random: inout SplitMix64) {
    asked += 1
    if challenge.previousFailureCount >= limit {
      faults.append("a decision after \(challenge.previousFailureCount) failures")
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: nextStep = authenticator.performDefaultHandling(on: .server, surroundings)
    case 1: nextStep = authenticator.rejectProtectionSpace(on: .server, surroundings)
    default:
      let credential = Credential(user: "u\(asked)", password: "p")
      nextStep = authenticator.useCredential(credential, on: .server)
      let method = authenticator.attempt(.server)?.method
      if method != challenge.protectionSpace.authenticationMethod {
        faults.append("the credential was used with another method")
      }
    }
  }
}
