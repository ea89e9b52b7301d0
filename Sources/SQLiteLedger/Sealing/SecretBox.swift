internal import ContentCoding
package import Crypto
internal import KeyDerivation
internal import TransferModel

/// Encrypts what the store keeps of secrets: AES-GCM (NIST SP 800-38D) under keys derived from the service's own.
///
/// Whole documents are blobs: a byte of format, the key's mark, nonce, ciphertext and tag; of which kind a document is, is
/// authenticated with it. A document that compresses is compressed before. Single secrets stand as text: `sealed:`, then base64url of
/// mark, nonce, ciphertext and tag. Their nonces are random: a key is good for some 2^32 of them, and `ferry rotate-key` gives another.
package struct SecretBox: Sendable {
  private struct Key: Sendable {
    let key: SymmetricKey
    let cipher: DocumentCipher
    /// Tells the keys apart, and nothing else.
    let mark: [UInt8]
    let names: RowNames

    init(_ secret: SymmetricKey) {
      key = secret.derived(for: "ferry stored secrets 1")
      cipher = DocumentCipher(key)
      mark = secret.derived(for: "ferry key mark 1", size: 4).withUnsafeBytes { Array($0) }
      names = RowNames(secret)
    }
  }
  static let prefix = "sealed:"
  private let keys: [Key]
  /// A random nonce costs as much as the rest of sealing a small document.
  private let nonces = NonceSequence()
  /// What was asked under an Idempotency-Key is kept as such: a body may hold passwords.
  let requests: KeyedDigest
  /// Index of the key that names rows.
  private var naming = 0
  var names: RowNames { keys[naming].names }

  /// - Parameter secrets: the first seals, all of them open.
  package init(secrets: [SymmetricKey]) {
    keys = secrets.map { Key($0) }
    requests = .ofRequests(secrets)
  }

  /// The box, hashing row names under the key that sealed that text. A new first key is not used for names
  /// until the rotation.
  func naming(asIn sealed: String) -> SecretBox {
    var box = self
    let mark = Base64.decodeForURL(String(sealed.dropFirst(Self.prefix.count)))?.prefix(Self.markSize) ?? []
    box.naming = keys.firstIndex { mark.elementsEqual($0.mark) } ?? naming
    return box
  }

  package func seal(_ text: String) -> String {
    guard let key = keys.first, let box = try? AES.GCM.seal(Array(text.utf8), using: key.key).combined else {
      preconditionFailure("AES-GCM takes any text")
    }
    return Self.prefix + Base64.encodeForURL(key.mark + Array(box))
  }

  /// The text that was sealed; nil if this service did not seal it, or if it was changed.
  package func open(_ text: String) -> String? {
    guard text.hasPrefix(Self.prefix),
      let bytes = Base64.decodeForURL(String(text.dropFirst(Self.prefix.count))), bytes.count > 4,
      let key = keys.first(where: { $0.mark == Array(bytes[..<4]) }),
      let box = try? AES.GCM.SealedBox(combined: bytes[4...]),
      let opened = try? AES.GCM.open(box, using: key.key)
    else { return nil }
    return String(validating: opened, as: UTF8.self)
  }

  // MARK: Whole documents

  /// Why a document cannot be opened.
  enum Fault: Error, CustomStringConvertible {
    case unknownFormat, unknownKey, changed

    var description: String {
      switch self {
      case .unknownFormat: "is not sealed in a format that this program knows"
      case .unknownKey: "is sealed under a key that is not among the service's"
      case .changed: "was changed since it was sealed"
      }
    }
  }

  /// How a document is written down before it is encrypted: the first byte of what is sealed.
  private enum Format: UInt8, CaseIterable {
    /// As it is.
    case plain = 1
    /// As a frame of Zstandard, with the dictionary.
    case compressed

    /// Authenticated with a document: one of one kind cannot stand for one of another.
    func purpose(_ kind: DocumentKind) -> [UInt8] { Self.purposes[Int(rawValue) - 1][kind.rawValue] }
    private static let purposes = allCases.map { format in
      DocumentKind.allCases.map { [format.rawValue] + $0.name.utf8 }
    }
  }
  private static let markSize = 4
  private static let maximumSize = Int(Int32.max)
  private static let dictionary = ZstandardDictionary(DocumentDictionary.bytes)

  func seal(_ document: [UInt8], as kind: DocumentKind) -> [UInt8] {
    guard let key = keys.first else { preconditionFailure("a service has a key") }
    let frame = kind.isCompressed ? Self.dictionary.compress(document) : nil
    let format = frame == nil ? Format.plain : .compressed
    return key.cipher.seal(
      frame ?? document, nonce: nonces.next(), authenticating: format.purpose(kind),
      behind: [format.rawValue] + key.mark)
  }

  func open(_ sealed: [UInt8], as kind: DocumentKind) throws(Fault) -> [UInt8] {
    let start = 1 + Self.markSize
    guard sealed.count > start, let format = Format(rawValue: sealed[0]) else { throw .unknownFormat }
    guard let key = keys.first(where: { sealed[1..<start].elementsEqual($0.mark) }) else { throw .unknownKey }
    guard let box = try? AES.GCM.SealedBox(combined: sealed[start...]),
      let content = try? AES.GCM.open(box, using: key.key, authenticating: format.purpose(kind))
    else { throw .changed }
    guard format == .compressed else { return Array(content) }
    guard let document = try? Self.dictionary.decompress(Array(content), maximum: Self.maximumSize) else {
      throw .changed
    }
    return document
  }
}
