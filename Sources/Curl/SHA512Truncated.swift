internal import CHandshake

/// SHA-512/256 (FIPS 180-4 §5.3.6.2). swift-crypto lacks it, and libcrypto is linked for TLS.
package enum SHA512Truncated {
  /// The digest's 32 bytes.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    chandshake_sha512_256(bytes, bytes.count, &digest)
    return digest
  }
}
