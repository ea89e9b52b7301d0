package import JSON

/// A credential that a session remembers, and where it is good.
package struct CredentialEntry: Sendable, Equatable {
  package var space: ProtectionSpace
  package var credential: Credential

  package init(space: ProtectionSpace, credential: Credential) {
    self.space = space
    self.credential = credential
  }
}

extension CredentialEntry: JSONEncodable {
  /// What clients see: no secret.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("protectionSpace", Optional(space))
      writer.field("credential", Optional(credential))
    }
  }
}
