internal import Crypto
internal import FoundationEssentials
package import TransferModel

/// Signatures of Standard Webhooks 1.0.0 over `id.timestamp.payload`.
package enum WebhookSignature {
  /// Returns the value of `webhook-signature`: a signature under each key, separated by blanks.
  /// - Parameter timestamp: the time of the attempt, in seconds since 1970.
  package static func sign(id: String, timestamp: Int64, payload: [UInt8], keys: [SigningKey]) -> String {
    keys.map { sign(id: id, timestamp: timestamp, payload: payload, $0) }.joined(separator: " ")
  }

  private static func sign(id: String, timestamp: Int64, payload: [UInt8], _ key: SigningKey) -> String {
    let head = Array("\(id).\(timestamp).".utf8)
    switch key.scheme {
    case .v1:
      var code = HMAC<SHA256>(key: SymmetricKey(data: key.bytes))
      code.update(data: head)
      code.update(data: payload)
      return "v1," + Base64.encode(Array(code.finalize()))
    case .v1a:
      guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: key.bytes),
        let signature = try? key.signature(for: head + payload)
      else { preconditionFailure("the seed of an Ed25519 key has 32 bytes") }
      return "v1a," + Base64.encode(Array(signature))
    }
  }
}
