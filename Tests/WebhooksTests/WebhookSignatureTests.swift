import Crypto
import Testing
import TransferModel

@testable import Webhooks

@Suite struct WebhookSignatureTests {
  private let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
  private let payload = Array(#"{"test": 2432232314}"#.utf8)

  private func sign(_ id: String, _ timestamp: Int64, _ payload: [UInt8], secret: String) throws -> String {
    let key = try #require(Webhook.key(of: secret))
    return WebhookSignature.sign(
      id: id, timestamp: timestamp, payload: payload, keys: [SigningKey(.v1, key)])
  }

  /// The test vector of the Standard Webhooks libraries.
  @Test func `signature matches the published vector`() throws {
    let signature = try sign(id, 1_614_265_330, payload, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test func `Ed25519 signature is verified with the public key`() throws {
    let key = Curve25519.Signing.PrivateKey()
    let text = WebhookSignature.sign(
      id: id, timestamp: 1_614_265_330, payload: payload,
      keys: [SigningKey(.v1a, Array(key.rawRepresentation))])
    let signature = try #require(Base64.decode(text.dropFirst(4)))
    #expect(text.hasPrefix("v1a,"))
    #expect(
      key.publicKey.isValidSignature(signature, for: Array("\(id).1614265330.".utf8) + payload))
  }

  @Test func `each key signs`() throws {
    let keys = try ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx"].map {
      SigningKey(.v1, try #require(Webhook.key(of: $0)))
    }
    let both = WebhookSignature.sign(id: id, timestamp: 1, payload: payload, keys: keys)
    let single = keys.map { WebhookSignature.sign(id: id, timestamp: 1, payload: payload, keys: [$0]) }
    #expect(both == single.joined(separator: " "))
  }

  @Test func `signature covers id, timestamp, payload and secret`() throws {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    let signatures = [
      try sign(id, 1_614_265_330, payload, secret: secret),
      try sign(id + "x", 1_614_265_330, payload, secret: secret),
      try sign(id, 1_614_265_331, payload, secret: secret),
      try sign(id, 1_614_265_330, payload + [0x20], secret: secret),
      try sign(id, 1_614_265_330, payload, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx"),
    ]
    #expect(Set(signatures).count == signatures.count)
    #expect(signatures.allSatisfy { $0.hasPrefix("v1,") && $0.utf8.count == 47 })
  }
}
