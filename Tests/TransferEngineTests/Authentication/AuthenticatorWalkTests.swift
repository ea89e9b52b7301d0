import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

/// Whatever servers and delegates do, a task comes to an end, and shows nobody what is another's.
@Suite struct AuthenticatorWalkTests {
  @Test(arguments: 0..<200)
  func everyTaskEnds(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var walk = Walk(seed: seed)
    for _ in 0..<200 where !walk.hasEnded { walk.step(&random) }
    #expect(walk.hasEnded)
    #expect(walk.asked <= 60, "schemes times attempts, at most")
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
  private var verdict: Authenticator.Verdict?
  private(set) var hasEnded = false
  private(set) var asked = 0
  private(set) var faults: [String] = []

  init(seed: UInt64) {
    limit = Int(seed % 7) + 1
    asks = seed % 3 != 0
    stored = seed % 2 == 0 ? Credential(user: "stored", password: "s") : nil
  }

  private var surroundings: Authenticator.Surroundings {
    .init(
      attemptLimit: limit, asks: { [asks] _ in asks }, stored: { [stored] _ in stored }, given: { _ in nil })
  }

  mutating func step(_ random: inout SplitMix64) {
    switch verdict {
    case nil, .send: send(&random)
    case .ask(let challenge): answer(challenge, &random)
    case .pass, .exhausted: hasEnded = true
    }
  }

  /// The server says no, for ever.
  private mutating func send(_ random: inout SplitMix64) {
    if let attempt = authenticator.attempt(.server), attempt.method == .negotiate, Bool.random(using: &random)
    {
      verdict = authenticator.tokenFailed(on: .server, surroundings)
      return
    }
    let offered = Self.fields.filter { _ in Bool.random(using: &random) }
    verdict = authenticator.consider(HTTPChallenge.parse(offered), on: .server, at: place, surroundings) {
      _ in
    }
  }

  private mutating func answer(_ challenge: AuthenticationChallenge, _ random: inout SplitMix64) {
    asked += 1
    if challenge.previousFailureCount >= limit {
      faults.append("asked after \(challenge.previousFailureCount)")
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: verdict = authenticator.performDefaultHandling(on: .server, surroundings)
    case 1: verdict = authenticator.rejectProtectionSpace(on: .server, surroundings)
    default:
      let credential = Credential(user: "u\(asked)", password: "p")
      verdict = authenticator.useCredential(credential, on: .server)
      let method = authenticator.attempt(.server)?.method
      if method != challenge.protectionSpace.authenticationMethod { faults.append("another method is used") }
    }
  }
}
