/// The tenant of a call, which its token determines.
package struct Tenant: Sendable, Hashable {
  @ExactText package private(set) var name: String

  package init(name: String) { self.name = name }

  /// The tenant of calls without a token, or with a token that names no tenant.
  package static let `default` = Tenant(name: "default")
}
