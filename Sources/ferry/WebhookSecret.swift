import FoundationEssentials
import TransferModel

/// The key that signs messages of webhooks without a secret of their own.
enum WebhookSecret {
  /// Reads `whsec_…` from `path`; where there is no such file and it is the default one, makes it.
  static func load(path: String, mayCreate: Bool) throws -> [UInt8] {
    if let text = try? String(contentsOfFile: path, encoding: .utf8) {
      guard let key = Webhook.key(of: text.trimmingCharacters()) else {
        throw SettingsError(
          "webhook-secret-file", "\(path) does not hold whsec_ and the base64 of 24 to 64 bytes")
      }
      return key
    }
    guard mayCreate else { throw SettingsError("webhook-secret-file", "\(path) cannot be read") }
    var generator = SystemRandomNumberGenerator()
    let key = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let text = "whsec_\(Base64.encode(key))\n"
    let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
    guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: attributes)
    else {
      throw SettingsError("data-directory", "\(path) cannot be written")
    }
    return key
  }
}

extension String {
  fileprivate func trimmingCharacters() -> String {
    String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
