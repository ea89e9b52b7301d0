/// The key of a background session: the identifier that its client chose, unique within a tenant.
package struct BackgroundSessionKey: Sendable, Hashable {
  package let tenant: Tenant
  @ExactText package private(set) var identifier: String

  package init(tenant: Tenant, identifier: String) {
    self.tenant = tenant
    self.identifier = identifier
  }

  /// Returns why a text cannot be an identifier; `nil` if it can.
  package static func fault(ofIdentifier text: String) -> String? {
    guard (1...255).contains(text.utf8.count) else {
      return "must have 1 to 255 bytes of UTF-8, not \(text.utf8.count)"
    }
    let hasControls = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControls ? "must not contain control characters" : nil
  }
}
