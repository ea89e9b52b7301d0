internal import Crypto
internal import HTTPCookies
internal import Ledger
internal import Records
internal import TransferModel

/// Keyed hashes by which rows are found from a text of a client or an origin: HMAC-SHA256 under the box's naming key. The row
/// does not have the text in clear.
struct RowNames: Sendable {
  /// Bytes of a hash: enough that two texts of a table do not get the same one.
  private static let size = 16
  /// The naming key of a `SecretBox`.
  let key: SymmetricKey

  /// - Parameter owner: the tenant or the session; the same text of another has another name.
  func name(_ text: String, owner: [UInt8], of kind: RecordKind) -> [UInt8] {
    var mac = HMAC<SHA256>(key: key)
    // The length keeps an owner's last bytes apart from a text's first ones.
    mac.update(data: Array("\(kind) \(owner.count) ".utf8) + owner + text.utf8)
    return Array(mac.finalize().prefix(Self.size))
  }
}

extension RowNames {
  func name(_ key: IdempotencyKey) -> [UInt8] {
    name(key.text, owner: Array(key.tenant.name.utf8), of: .idempotency)
  }
  func name(_ name: ConfigurationName) -> [UInt8] {
    self.name(name.text, owner: Array(name.tenant.name.utf8), of: .configuration)
  }
  func name(_ key: CookieKey, of session: SessionID) -> [UInt8] {
    name(key.stored, owner: session.bytes, of: .cookie)
  }
  func name(_ space: ProtectionSpace, of session: SessionID) -> [UInt8] {
    name(StoredCredential.key(space), owner: session.bytes, of: .credential)
  }
}

extension SecretBox {
  var names: RowNames { RowNames(key: namingKey) }
}
