package import Crypto

extension SymmetricKey {
  /// The key for one purpose, and for no other (HKDF-SHA256, RFC 5869).
  /// - Parameter size: bytes.
  package func derived(for purpose: String, size: Int = 32) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: self, info: Array(purpose.utf8), outputByteCount: size)
  }
}
