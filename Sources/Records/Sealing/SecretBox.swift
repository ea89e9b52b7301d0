internal import ContentCoding
package import Crypto
package import KeyDerivation
internal import TransferModel

/// The sealing of documents and single secrets with AES-GCM (NIST SP 800-38D), under keys that are derived from the service's secret keys.
/// One box serves the ledger's columns, the worker's queues and resume data.
///
/// A sealed document consists of format, key mark, nonce, ciphertext and tag. Its kind is authenticated with it. A document is compressed
/// first if that makes it smaller.
///
/// A sealed secret is text: `sealed:`, then base64url of key mark, nonce, ciphertext and tag. Its nonce is random, so one key suffices for
/// about 2^32 secrets. `ferry rotate-key` creates another key.
package struct SecretBox: Sendable {
  private struct Key: Sendable {
    let key: SymmetricKey
    let cipher: DocumentCipher
    /// The public identifier of the key.
    let mark: [UInt8]
    let naming: SymmetricKey

    init(_ secret: SymmetricKey) {
      key = secret.derived(for: "ferry stored secrets 1")
      cipher = DocumentCipher(key)
      let mark = secret.derived(for: "ferry key mark 1", size: SecretBox.markSize)
      self.mark = unsafe mark.withUnsafeBytes { unsafe Array($0) }
      naming = secret.derived(for: "ferry row names 1")
    }
  }
  /// The version of the loaded OpenSSL library.
  package static var openSSLVersion: String { DocumentCipher.openSSLVersion }
  package static let prefix = "sealed:"
  private static let markSize = 4
  private static let dictionary = ZstandardDictionary(DocumentDictionary.bytes)
  private let keys: [Key]
  /// The nonces of documents. A random nonce would cost as much as the rest of sealing a small document.
  private let nonces = NonceSequence()
  /// The digests of requests with an Idempotency-Key. Such a request may hold passwords, so only its digest is stored.
  package let requests: KeyedDigest
  /// The index of the key for hashes.
  private var withBlindIndexKey = 0

  /// - Parameter secrets: the secret keys. The first seals, and every key can open.
  package init(secrets: [SymmetricKey]) {
    keys = secrets.map { Key($0) }
    requests = .ofRequests(secrets)
  }

  /// The key of the hashes by which a ledger finds rows.
  package var namingKey: SymmetricKey { keys[withBlindIndexKey].naming }

  /// Returns the box with the naming key of the secret key that sealed the text. After a new first key is added, rows keep their hashes
  /// until the rotation.
  package func withBlindIndexKey(asIn sealed: String) -> SecretBox {
    var box = self
    let mark = Base64.decodeForURL(String(sealed.dropFirst(Self.prefix.count)))?.prefix(Self.markSize) ?? []
    box.withBlindIndexKey = keys.firstIndex { mark.elementsEqual($0.mark) } ?? withBlindIndexKey
    return box
  }

  // MARK: Secrets

  package func seal(_ text: String) -> String {
    guard let key = keys.first, let box = try? AES.GCM.seal(Array(text.utf8), using: key.key).combined else {
      preconditionFailure("AES-GCM encrypts every text")
    }
    return Self.prefix + Base64.encodeForURL(key.mark + Array(box))
  }

  /// Returns the sealed text; `nil` if this service did not seal it or if it was changed.
  package func open(_ text: String) -> String? {
    guard text.hasPrefix(Self.prefix),
      let bytes = Base64.decodeForURL(String(text.dropFirst(Self.prefix.count))), bytes.count > Self.markSize,
      let key = keys.first(where: { $0.mark == Array(bytes[..<Self.markSize]) }),
      let box = try? AES.GCM.SealedBox(combined: bytes[Self.markSize...]),
      let opened = try? AES.GCM.open(box, using: key.key)
    else { return nil }
    return String(validating: opened, as: UTF8.self)
  }

  // MARK: Documents

  /// The reason why a document cannot be opened.
  package enum Fault: Error, CustomStringConvertible {
    case unknownFormat, unknownKey, changed

    package var description: String {
      switch self {
      case .unknownFormat: "is not sealed in a format that this program knows"
      case .unknownKey: "is sealed under a key that is not among the service's"
      case .changed: "was changed since it was sealed"
      }
    }
  }

  /// - Parameter document: at most `DocumentKind.maximumSize` bytes.
  package func seal(_ document: [UInt8], as kind: DocumentKind) -> [UInt8] {
    guard let key = keys.first else { preconditionFailure("the secret box has no key") }
    let frame = document.count <= kind.compressionLimit ? Self.dictionary.compress(document) : nil
    let format = frame == nil ? DocumentFormat.plain : .compressed
    return key.cipher.seal(
      frame ?? document, nonce: kind.isShown ? Array(AES.GCM.Nonce()) : nonces.next(),
      authenticating: kind.purpose(format),
      behind: [format.rawValue] + key.mark)
  }

  /// - Returns: the document. Its size is at most that of `sealed` or, if it was compressed, the kind's `compressionLimit`.
  package func open(_ sealed: [UInt8], as kind: DocumentKind) throws(Fault) -> [UInt8] {
    let start = 1 + Self.markSize
    guard sealed.count > start, let format = DocumentFormat(rawValue: sealed[0]) else { throw .unknownFormat }
    guard let key = keys.first(where: { sealed[1..<start].elementsEqual($0.mark) }) else { throw .unknownKey }
    guard let box = try? AES.GCM.SealedBox(combined: sealed[start...]),
      let content = try? AES.GCM.open(box, using: key.key, authenticating: kind.purpose(format))
    else { throw .changed }
    guard format == .compressed else { return Array(content) }
    guard
      let document = try? Self.dictionary.decompress(Array(content), maximum: kind.compressionLimit)
    else { throw .changed }
    return document
  }
}
