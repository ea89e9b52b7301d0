/// The schemes of Standard Webhooks 1.0.0.
package enum SignatureScheme: String, Sendable, CaseIterable {
  /// HMAC-SHA256.
  case v1
  /// Ed25519.
  case v1a
}

/// A key that signs the messages to an endpoint.
package struct SigningKey: Sendable, Equatable {
  package let scheme: SignatureScheme
  /// `v1`: a secret of 24 to 64 bytes. `v1a`: the seed of 32 bytes.
  package let bytes: [UInt8]
  /// The public key of `v1a`, 32 bytes.
  package let publicKey: [UInt8]?
  /// The end of the time in which a replaced key still signs; `nil` for the current key.
  package var expiresAt: Timestamp?

  package init(
    _ scheme: SignatureScheme, _ bytes: [UInt8], publicKey: [UInt8]? = nil, expiresAt: Timestamp? = nil
  ) {
    self.scheme = scheme
    self.bytes = bytes
    self.publicKey = publicKey
    self.expiresAt = expiresAt
  }

  /// The secret in the form of Standard Webhooks; `nil` for `v1a`, whose receivers need only the public key.
  package var secretText: String? { scheme == .v1 ? "whsec_" + Base64.encode(bytes) : nil }
  package var publicKeyText: String? { publicKey.map { "whpk_" + Base64.encode($0) } }
}
