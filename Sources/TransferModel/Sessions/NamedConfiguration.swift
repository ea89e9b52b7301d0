package import JSON

/// The key of a named configuration: its name, unique within a tenant.
package struct ConfigurationName: Sendable, Hashable {
  package let tenant: Tenant
  package let text: String

  package init(tenant: Tenant, text: String) {
    self.tenant = tenant
    self.text = text
  }
}

/// A configuration that new sessions may copy. Later changes do not affect existing sessions.
package struct NamedConfiguration: Sendable, Equatable {
  package let name: ConfigurationName
  package var configuration: SessionConfiguration
  package let createdAt: Timestamp
  package var updatedAt: Timestamp

  package init(
    name: ConfigurationName, configuration: SessionConfiguration, createdAt: Timestamp, updatedAt: Timestamp
  ) {
    self.name = name
    self.configuration = configuration
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  /// Returns whether the name may be part of a path: 1 to 128 letters, digits, `.`, `_` and `-`.
  package static func isValid(name: String) -> Bool {
    (1...128).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "._-".utf8.contains(byte)
        }
      }
  }
}

extension NamedConfiguration: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("name", name.text)
      writer.field("configuration", Optional(configuration))
      writer.field("createdAt", createdAt)
      writer.field("updatedAt", updatedAt)
    }
  }
}
