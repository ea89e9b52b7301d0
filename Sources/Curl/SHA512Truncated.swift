internal import CHandshake

/// SHA-512/256 (FIPS 180-4 §5.3.6.2). swift-crypto lacks it, and libcrypto is linked for TLS.
package final class SHA512Truncated {
  private let hash = chandshake_sha512_256_begin()

  package init() {}
  deinit { chandshake_sha512_256_free(hash) }

  package func update(_ bytes: [UInt8]) { chandshake_sha512_256_update(hash, bytes, bytes.count) }

  /// Returns the digest's 32 bytes. Call this once.
  package func finalize() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    chandshake_sha512_256_end(hash, &digest)
    return digest
  }
}
