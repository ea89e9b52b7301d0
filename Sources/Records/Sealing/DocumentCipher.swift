internal import COpenSSL
internal import Crypto
internal import Synchronization

/// AES-256-GCM (NIST SP 800-38D) under one key, by OpenSSL. The swift-crypto package sets up the key for each message, which costs more
/// than sealing a small document. Documents that this cipher seals can also be opened by swift-crypto.
final class DocumentCipher: Sendable {
  @safe private struct Context: ~Copyable {
    let pointer: OpaquePointer
    deinit { unsafe EVP_CIPHER_CTX_free(pointer) }
  }
  /// The version of the loaded OpenSSL library. It may differ from the version that Ferry was built with.
  static var openSSLVersion: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
  private static let tagSize = COPENSSL_GCM_TAG
  private let context: Mutex<Context>

  /// - Parameter key: a key of 256 bits.
  init(_ key: SymmetricKey) {
    precondition(key.bitCount == 256, "the key must have 256 bits")
    let pointer = unsafe key.withUnsafeBytes { unsafe copenssl_gcm_new($0.baseAddress!) }
    guard let pointer = unsafe pointer else { preconditionFailure("no memory for a cipher") }
    context = Mutex(unsafe Context(pointer: pointer))
  }

  /// Encrypts and authenticates a document.
  /// - Parameters:
  ///   - document: at most 2 GiB less one byte.
  ///   - nonce: 12 bytes that were never used with this key.
  ///   - purpose: bytes that are authenticated but not part of the result.
  ///   - head: plain bytes at the beginning of the result.
  /// - Returns: head, nonce, ciphertext and tag.
  func seal(_ document: [UInt8], nonce: [UInt8], authenticating purpose: [UInt8], behind head: [UInt8])
    -> [UInt8]
  {
    precondition(nonce.count == 12 && document.count <= Int32.max)
    let size = head.count + nonce.count + document.count + Self.tagSize
    return context.withLock { context in
      unsafe [UInt8](unsafeUninitializedCapacity: size) { sealed, count in
        _ = unsafe sealed.initialize(fromContentsOf: head + nonce)
        let isSealed = unsafe copenssl_gcm_seal(
          context.pointer, nonce, purpose, Int32(purpose.count), document, Int32(document.count),
          sealed.baseAddress! + head.count + nonce.count)
        precondition(isSealed == 1, "AES-GCM encrypts every document")
        count = size
      }
    }
  }
}
