import Crypto
import FoundationEssentials
import TransferModel

/// The key that signs messages of webhooks without a secret of their own.
enum WebhookSecret {
  /// Reads `whsec_…` from `path`; where there is no such file and it is the default one, makes it.
  static func load(path: String, mayCreate: Bool) throws -> [UInt8] {
    if let text = SecretFile.read(path) {
      guard let key = Webhook.key(of: text) else {
        throw SettingsError(
          "webhook-secret-file", "\(path) does not hold whsec_ and the base64 of 24 to 64 bytes")
      }
      return key
    }
    guard mayCreate else { throw SettingsError("webhook-secret-file", "\(path) cannot be read") }
    let key = SecretFile.random(32)
    try SecretFile.write("whsec_\(Base64.encode(key))\n", to: path)
    return key
  }
}

/// The key from which the service derives those that protect what it hands out.
enum SecretKey {
  private static let size = 32

  /// Reads the setting's file, or the data directory's own, which is made where there is none.
  static func load(_ settings: Settings) throws -> SymmetricKey {
    let path = settings.secretKeyFile ?? settings.dataDirectory + "/secret-key"
    if let text = SecretFile.read(path) {
      guard let key = Base64.decode(text), key.count == size else {
        throw SettingsError("secret-key-file", "\(path) does not hold the base64 of \(size) bytes")
      }
      return SymmetricKey(data: key)
    }
    guard settings.secretKeyFile == nil else {
      throw SettingsError("secret-key-file", "\(path) cannot be read")
    }
    let key = SecretFile.random(size)
    try SecretFile.write(Base64.encode(key) + "\n", to: path)
    return SymmetricKey(data: key)
  }
}

/// Files that only the service's own user may read.
private enum SecretFile {
  /// The text without the blanks around it; nil where there is no such file.
  static func read(_ path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    return String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }

  static func write(_ text: String, to path: String) throws {
    let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
    guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: attributes)
    else { throw SettingsError("data-directory", "\(path) cannot be written") }
  }

  static func random(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }
}
