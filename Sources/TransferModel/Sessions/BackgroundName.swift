/// What finds a background session again: the identifier that a client gave it, unique among a tenant's.
package struct BackgroundName: Sendable, Hashable {
  package let tenant: Tenant
  package let identifier: String

  package init(tenant: Tenant, identifier: String) {
    self.tenant = tenant
    self.identifier = identifier
  }

  /// Why a text cannot be an identifier; nil where it can.
  package static func fault(ofIdentifier text: String) -> String? {
    guard (1...255).contains(text.utf8.count) else { return "must have 1 to 255 bytes of UTF-8" }
    let hasControls = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControls ? "must be free of control characters" : nil
  }
}
