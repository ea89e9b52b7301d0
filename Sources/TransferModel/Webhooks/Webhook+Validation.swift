package import JSON
internal import Limits

extension Webhook {
  /// Reads `url`, `secret` and `order`. The caller checks the URL with the parser that will use it.
  package init?(validating reader: inout ObjectReader) {
    guard let url = reader.string("url", upTo: Limits.urlBytes.value) else {
      if reader.isMissing("url") { reader.reject("url", "is required") }
      return nil
    }
    reader.allowNull("secret")  // replies write null if there is no secret
    let secret = reader.string("secret")
    if let secret, Self.key(of: secret) == nil {
      reader.reject("secret", "must be whsec_ and the base64 of 24 to 64 bytes")
    }
    self.init(url: url, secret: secret, order: reader.choice("order") ?? .task)
  }

  /// Returns the bytes of a Standard Webhooks secret: `whsec_` and base64 of 24 to 64 bytes.
  package static func key(of secret: String) -> [UInt8]? {
    guard secret.hasPrefix("whsec_"), let key = Base64.decode(secret.dropFirst(6)) else { return nil }
    return (24...64).contains(key.count) ? key : nil
  }
}
