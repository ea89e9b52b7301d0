package import Crypto
internal import JSON
internal import TransferModel

/// Encrypts the secrets that the store keeps: AES-GCM (NIST SP 800-38D) under keys derived from the service's own. What is
/// sealed stands as text among what is not: `sealed:`, then base64url of the key's mark, nonce, ciphertext and tag.
package struct SecretBox: Sendable {
  private struct Key: Sendable {
    let key: SymmetricKey
    /// Tells the keys apart, and nothing else.
    let mark: [UInt8]

    init(_ secret: SymmetricKey) {
      key = secret.derived(for: "ferry stored secrets 1")
      mark = secret.derived(for: "ferry key mark 1", size: 4).withUnsafeBytes { Array($0) }
    }
  }
  private static let prefix = "sealed:"
  private let keys: [Key]
  /// What was asked under an Idempotency-Key is kept as such: a body may hold passwords.
  let requests: KeyedDigest

  /// - Parameter secrets: the first seals, all of them open.
  package init(secrets: [SymmetricKey]) {
    keys = secrets.map { Key($0) }
    requests = .ofRequests(secrets)
  }

  package func seal(_ text: String) -> String {
    guard let key = keys.first, let box = try? AES.GCM.seal(Array(text.utf8), using: key.key).combined else {
      preconditionFailure("AES-GCM takes any text")
    }
    return Self.prefix + Base64.encodeForURL(key.mark + Array(box))
  }

  /// What was sealed; nil where it is not this service's, or was changed. Other text is itself.
  package func open(_ text: String) -> String? {
    guard text.hasPrefix(Self.prefix) else { return text }
    guard let bytes = Base64.decodeForURL(String(text.dropFirst(Self.prefix.count))), bytes.count > 4,
      let key = keys.first(where: { $0.mark == Array(bytes[..<4]) }),
      let box = try? AES.GCM.SealedBox(combined: bytes[4...]),
      let opened = try? AES.GCM.open(box, using: key.key)
    else { return nil }
    return String(validating: opened, as: UTF8.self)
  }

  /// A document with all that is sealed in it opened; left alone where that cannot be.
  func open(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): return .string(open(text) ?? text)
    case .array(let elements): return .array(elements.map { open($0) })
    case .object(let members):
      return .object(members.map { JSONValue.Member(name: $0.name, value: open($0.value)) })
    default: return value
    }
  }

  /// The document with every string in it that is sealed, and can be opened, sealed again with the first key. What only
  /// looks so is a text like others: anybody may write it.
  /// - Returns: nil where there is none.
  func reseal(document: [UInt8]) -> [UInt8]? {
    JSONStrings.replacing(in: document) { value, _ in
      guard value.starts(with: Self.prefix.utf8) else { return nil }
      return open(String(decoding: value, as: UTF8.self)).map(seal)
    }
  }
}
