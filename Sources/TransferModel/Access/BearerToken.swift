/// A token that grants access to the service as a tenant.
package struct BearerToken: Sendable, Equatable {
  package let tenant: Tenant
  package let text: String

  package init(tenant: Tenant = .default, text: String) {
    self.tenant = tenant
    self.text = text
  }

  /// Reads a line of a token file: a tenant and a token, or a token alone for the default tenant. Returns `nil` for any other line.
  package init?(line: some StringProtocol) {
    let words = line.split(whereSeparator: \.isWhitespace).map { String($0) }
    switch words.count {
    case 1: self.init(text: words[0])
    case 2: self.init(tenant: Tenant(name: words[0]), text: words[1])
    default: return nil
    }
  }
}
