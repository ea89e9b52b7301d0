internal import Crypto
internal import HTTPCookies
internal import Ledger
internal import Records
internal import TransferModel

/// Keyed hashes by which rows are found from a text of a client or an origin: HMAC-SHA256 under the box's naming key. The row does not hold
/// the text in clear.
struct BlindIndex: Sendable {
  /// The size of a hash in bytes. It makes collisions within a table practically impossible.
  private static let size = 16
  /// The naming key of a `SecretBox`.
  let key: SymmetricKey

  /// Returns the hash of a text.
  /// - Parameter owner: the tenant or the session. The same text of another owner has another hash.
  func name(_ text: String, owner: [UInt8], of kind: RecordKind) -> [UInt8] {
    var mac = HMAC<SHA256>(key: key)
    // The length separates the owner's last bytes from the text's first ones.
    mac.update(data: Array("\(kind) \(owner.count) ".utf8) + owner + text.utf8)
    return Array(mac.finalize().prefix(Self.size))
  }
}

extension BlindIndex {
  func name(_ key: IdempotencyKey) -> [UInt8] {
    name(key.text, owner: Array(key.tenant.name.utf8), of: .idempotency)
  }
  func name(_ name: ConfigurationName) -> [UInt8] {
    self.name(name.text, owner: Array(name.tenant.name.utf8), of: .configuration)
  }
  func name(group: String, of tenant: Tenant) -> [UInt8] {
    // The kind separates groups from labels, which have the same owner.
    name("group " + group, owner: Array(tenant.name.utf8), of: .task)
  }
  func name(_ label: TaskLabel, of tenant: Tenant) -> [UInt8] {
    name("label " + label.text, owner: Array(tenant.name.utf8), of: .task)
  }
  func name(_ key: CookieKey, of session: SessionID) -> [UInt8] {
    name(key.stored, owner: session.bytes, of: .cookie)
  }
  func name(_ space: ProtectionSpace, of session: SessionID) -> [UInt8] {
    name(StoredCredential.key(space), owner: session.bytes, of: .credential)
  }
}

extension SecretBox {
  var names: BlindIndex { BlindIndex(key: namingKey) }
}
