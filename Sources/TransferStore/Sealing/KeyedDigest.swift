package import Crypto

/// Tells whether two texts are the same, without keeping either: HMAC-SHA256 under keys derived from the service's own.
package struct KeyedDigest: Sendable {
  private let keys: [SymmetricKey]

  /// - Parameters:
  ///   - secrets: digests are made with the first, and known again with all of them.
  ///   - purpose: those made for another are others.
  package init(secrets: [SymmetricKey], purpose: String) {
    keys = secrets.map { $0.derived(for: purpose) }
  }

  /// Under each of the keys; the first is the one to keep.
  package func digests(of text: [UInt8]) -> [[UInt8]] {
    keys.map { Array(HMAC<SHA256>.authenticationCode(for: text, using: $0)) }
  }

  /// For what was asked under an Idempotency-Key.
  package static func ofRequests(_ secrets: [SymmetricKey]) -> KeyedDigest {
    KeyedDigest(secrets: secrets, purpose: "ferry idempotency 1")
  }
}
