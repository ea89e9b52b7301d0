package import Crypto

/// Tells whether two answers with secrets in them are the same, without keeping either (HMAC-SHA256).
package struct AnswerTagger: Sendable {
  private let key: SymmetricKey

  /// - Parameter secret: the service's secret; the key is derived from it.
  package init(secret: SymmetricKey) {
    key = HKDF<SHA256>.deriveKey(
      inputKeyMaterial: secret, info: Array("ferry answers 1".utf8), outputByteCount: 32)
  }

  func tag(_ answer: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: answer, using: key))
  }
}
