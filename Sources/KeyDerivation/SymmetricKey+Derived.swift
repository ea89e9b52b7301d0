package import Crypto

extension SymmetricKey {
  /// Returns the key for one purpose (HKDF-SHA256, RFC 5869). Keys of different purposes are independent.
  /// - Parameter size: The size in bytes.
  package func derived(for purpose: String, size: Int = 32) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: self, info: Array(purpose.utf8), outputByteCount: size)
  }
}
