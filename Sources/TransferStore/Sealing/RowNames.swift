internal import Crypto
internal import HTTPCookies
internal import TransferModel

/// Keyed hashes under which rows are found by a text of a client or an origin: HMAC-SHA256 under a key
/// derived from the secret key. The row does not have the text in clear.
struct RowNames: Sendable {
  /// Bytes of a hash: enough that two texts of a table do not get the same one.
  private static let size = 16
  private let key: SymmetricKey

  init(_ secret: SymmetricKey) { key = secret.derived(for: "ferry row names 1") }

  /// - Parameter owner: the tenant or the session; the same text of another has another name.
  func name(_ text: String, of owner: [UInt8], in table: StoredTable) -> [UInt8] {
    var mac = HMAC<SHA256>(key: key)
    // The length keeps an owner's last bytes apart from a text's first ones.
    mac.update(data: Array("\(table) \(owner.count) ".utf8) + owner + text.utf8)
    return Array(mac.finalize().prefix(Self.size))
  }
}

extension RowNames {
  func name(_ key: IdempotencyKey) -> [UInt8] {
    name(key.text, of: Array(key.tenant.name.utf8), in: .idempotency)
  }
  func name(_ name: ConfigurationName) -> [UInt8] {
    self.name(name.text, of: Array(name.tenant.name.utf8), in: .configuration)
  }
  func name(_ key: CookieKey, of session: SessionID) -> [UInt8] {
    name(key.stored, of: session.bytes, in: .cookie)
  }
  func name(_ space: ProtectionSpace, of session: SessionID) -> [UInt8] {
    name(StoredCredential.key(space), of: session.bytes, in: .credential)
  }
}
