/// Fields of requests whose values prove who somebody is: they are stored sealed, and never shown.
extension HTTPHeaders {
  /// The names that are known; a session's `secretHeaderFields` adds others. Credentials and cookies of HTTP (RFC 9110 §11, RFC
  /// 6265bis), and the keys and tokens of common services.
  package static let secretNames = [
    "Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "API-Key", "ApiKey", "X-API-Key", "X-ApiKey",
    "X-Auth-Key", "X-Auth-Token", "X-Access-Token", "X-Session-Token", "X-Token", "X-CSRF-Token",
    "X-XSRF-Token", "X-Amz-Security-Token", "X-Goog-API-Key", "X-Functions-Key", "Ocp-Apim-Subscription-Key",
    "Private-Token", "Job-Token", "Deploy-Token", "X-GitLab-Token", "X-Vault-Token", "X-Consul-Token",
    "X-Shopify-Access-Token",
  ]
  private static let known = CaselessNames(secretNames)
  /// - Parameter others: names that a session adds.
  package static func isSecret(name: String, and others: [String] = []) -> Bool {
    known.contains(name) || others.contains { equal($0, name) }
  }
  /// Removes what no other origin may see (RFC 9110 §15.4).
  /// - Parameter others: names that a session adds.
  package mutating func removeSecrets(and others: [String] = []) {
    fields.removeAll { Self.isSecret(name: $0.name, and: others) }
  }
  /// What stands for such a value where it is shown.
  package static let redaction = "(redacted)"

  /// As they are shown to clients: a secret field that comes twice is shown once.
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

  /// Puts the values back that stand in `known`, and were not shown. A mark without one is taken out.
  /// - Returns: the names of those.
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
