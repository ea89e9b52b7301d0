package import Crypto
internal import FoundationEssentials
internal import TransferModel

/// Signatures of Standard Webhooks 1.0.0: HMAC-SHA256 over `id.timestamp.payload`.
package enum WebhookSignature {
  /// Returns the value of `webhook-signature`.
  /// - Parameter timestamp: the time of the attempt, in seconds since 1970.
  package static func sign(id: String, timestamp: Int64, payload: [UInt8], key: SymmetricKey) -> String {
    var code = HMAC<SHA256>(key: key)
    code.update(data: Array("\(id).\(timestamp).".utf8))
    code.update(data: payload)
    return "v1," + Base64.encode(Array(code.finalize()))
  }
}
