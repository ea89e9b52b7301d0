/// Request fields that carry secrets. Ferry stores their values sealed and never shows them.
extension HTTPHeaders {
  /// The known names: credentials and cookies of HTTP (RFC 9110 §11, RFC 6265bis), and the keys and tokens of common services. A
  /// session's `secretHeaderFields` adds others.
  package static let secretNames = [
    "Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "API-Key", "ApiKey", "X-API-Key", "X-ApiKey",
    "X-Auth-Key", "X-Auth-Token", "X-Access-Token", "X-Session-Token", "X-Token", "X-CSRF-Token",
    "X-XSRF-Token", "X-Amz-Security-Token", "X-Goog-API-Key", "X-Functions-Key", "Ocp-Apim-Subscription-Key",
    "Private-Token", "Job-Token", "Deploy-Token", "X-GitLab-Token", "X-Vault-Token", "X-Consul-Token",
    "X-Shopify-Access-Token",
  ]
  private static let known = CaselessNames(secretNames)
  /// Whether a field carries a secret.
  /// - Parameter others: names that a session adds.
  package static func isSecret(name: String, and others: [String] = []) -> Bool {
    known.contains(name) || others.contains { equal($0, name) }
  }
  /// Removes the fields that another origin must not see (RFC 9110 §15.4).
  /// - Parameter others: names that a session adds.
  package mutating func removeSecrets(and others: [String] = []) {
    fields.removeAll { Self.isSecret(name: $0.name, and: others) }
  }
  /// The text that replaces a secret value in Ferry's replies.
  package static let redaction = "(redacted)"

  /// Returns the fields as clients see them. A secret field that occurs twice is shown once.
  package func redacted(and others: [String] = []) -> HTTPHeaders {
    guard fields.contains(where: { Self.isSecret(name: $0.name, and: others) }) else { return self }
    var shown: [String] = []
    return HTTPHeaders(
      fields.compactMap { field in
        guard Self.isSecret(name: field.name, and: others) else { return field }
        guard !shown.contains(where: { Self.equal($0, field.name) }) else { return nil }
        shown.append(field.name)
        return Field(name: field.name, value: Self.redaction)
      })
  }

  /// Replaces redacted values by those in `known`. A redacted field without a known value is removed.
  /// - Returns: the names of the removed fields.
  package mutating func restoreSecrets(of known: HTTPHeaders, and others: [String] = []) -> [String] {
    var unknown: [String] = []
    fields = fields.compactMap { field in
      guard field.value == Self.redaction, Self.isSecret(name: field.name, and: others) else { return field }
      guard let value = known[field.name] else {
        unknown.append(field.name)
        return nil
      }
      return Field(name: field.name, value: value)
    }
    return unknown
  }
}
