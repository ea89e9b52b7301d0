package import Crypto
internal import KeyDerivation

/// Compares answers that contain secrets, without storing the secrets. Equal answers have equal tags.
package struct AnswerDigester: Sendable {
  private let digest: KeyedDigest

  /// - Parameter secrets: the service's secret keys. The first one makes new tags; tags of the others are recognised.
  package init(secrets: [SymmetricKey]) { digest = KeyedDigest(secrets: secrets, purpose: "ferry answers 1") }

  /// Returns a tag under each of the keys. The first is the one to store.
  func tags(_ answer: [UInt8]) -> [[UInt8]] { digest.digests(of: answer) }
}
