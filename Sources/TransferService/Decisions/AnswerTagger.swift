package import Crypto
internal import KeyDerivation

/// Tells whether two answers with secrets in them are the same, without keeping either.
package struct AnswerTagger: Sendable {
  private let digest: KeyedDigest

  /// - Parameter secrets: the service's secrets: the first tags, and a tag of any is known again.
  package init(secrets: [SymmetricKey]) { digest = KeyedDigest(secrets: secrets, purpose: "ferry answers 1") }

  /// Under each of the keys; the first is the one to keep.
  func tags(_ answer: [UInt8]) -> [[UInt8]] { digest.digests(of: answer) }
}
