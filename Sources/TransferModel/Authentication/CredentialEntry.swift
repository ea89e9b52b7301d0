package import JSON

/// A credential that a session stores, with its protection space.
package struct CredentialEntry: Sendable, Equatable {
  package var space: ProtectionSpace
  package var credential: Credential

  package init(space: ProtectionSpace, credential: Credential) {
    self.space = space
    self.credential = credential
  }
}

extension CredentialEntry: JSONEncodable {
  /// Writes the entry as clients see it, without secrets.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("protectionSpace", Optional(space))
      writer.field("credential", Optional(credential))
    }
  }
}
