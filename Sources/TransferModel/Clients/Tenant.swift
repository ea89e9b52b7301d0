/// On whose behalf a call is made: the token says so.
package struct Tenant: Sendable, Hashable {
  package let name: String

  package init(name: String) { self.name = name }

  /// Whose calls come without a token, or with one that names nobody.
  package static let `default` = Tenant(name: "default")
}
