package import Crypto

/// A digest that shows whether two texts are equal without storing them: HMAC-SHA256 under keys derived from the service's own.
package struct KeyedDigest: Sendable {
  private let keys: [SymmetricKey]

  /// - Parameters:
  ///   - secrets: The service's keys. New digests use the first key, comparisons use all.
  ///   - purpose: The purpose, which separates the digests from those of other purposes.
  package init(secrets: [SymmetricKey], purpose: String) {
    keys = secrets.map { $0.derived(for: purpose) }
  }

  /// Returns the digests under each of the keys.
  package func digests(of text: [UInt8]) -> [[UInt8]] { keys.map { Self.digest(of: text, $0) } }

  /// Returns the digest under the first key, which is the one to store.
  package func digest(of text: [UInt8]) -> [UInt8] { Self.digest(of: text, keys[0]) }

  private static func digest(of text: [UInt8], _ key: SymmetricKey) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: text, using: key))
  }

  /// Returns the digest of requests with an Idempotency-Key.
  package static func ofRequests(_ secrets: [SymmetricKey]) -> KeyedDigest {
    KeyedDigest(secrets: secrets, purpose: "ferry idempotency 1")
  }
}
