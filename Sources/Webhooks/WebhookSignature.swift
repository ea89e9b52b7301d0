package import Crypto
internal import FoundationEssentials
internal import TransferModel

/// Signs messages as Standard Webhooks 1.0.0 says: HMAC-SHA256 over `id.timestamp.payload`.
package enum WebhookSignature {
  /// The value of `webhook-signature`.
  /// - Parameter timestamp: seconds since 1970 of this attempt.
  package static func sign(id: String, timestamp: Int64, payload: [UInt8], key: SymmetricKey) -> String {
    var code = HMAC<SHA256>(key: key)
    code.update(data: Array("\(id).\(timestamp).".utf8))
    code.update(data: payload)
    return "v1," + Base64.encode(Array(code.finalize()))
  }
}
