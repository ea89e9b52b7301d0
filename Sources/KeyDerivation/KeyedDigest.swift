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

  /// Under each of the keys.
  package func digests(of text: [UInt8]) -> [[UInt8]] { keys.map { Self.digest(of: text, $0) } }

  /// Under the first of the keys: the one to keep.
  package func digest(of text: [UInt8]) -> [UInt8] { Self.digest(of: text, keys[0]) }

  private static func digest(of text: [UInt8], _ key: SymmetricKey) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: text, using: key))
  }

  /// Of requests under an Idempotency-Key.
  package static func ofRequests(_ secrets: [SymmetricKey]) -> KeyedDigest {
    KeyedDigest(secrets: secrets, purpose: "ferry idempotency 1")
  }
}
