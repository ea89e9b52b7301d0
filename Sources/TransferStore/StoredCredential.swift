internal import JSON
package import TransferModel

/// A permanent credential of a session, and where it is good.
package struct StoredCredential: Sendable, Equatable {
  package let session: SessionID
  package let space: ProtectionSpace
  package let credential: Credential

  package init(session: SessionID, space: ProtectionSpace, credential: Credential) {
    self.session = session
    self.space = space
    self.credential = credential
  }

  /// All of it, to be sealed as a whole: nobody can give a secret to another host by changing a row.
  var document: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("session", session.description)
      writer.field("space", Optional(space))
      writer.objectField("credential") { writer in
        writer.field("persistence", credential.persistence.rawValue)
        switch credential.kind {
        case .password(let user, let password):
          writer.field("user", user)
          writer.field("password", password)
        case .certificate(let certificate, let key):
          writer.field("clientCertificate", certificate)
          writer.field("privateKey", key)
        }
      }
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// What tells the spaces of a session apart in the table.
  static func key(_ space: ProtectionSpace) -> String { String(decoding: space.json, as: UTF8.self) }

  init?(document: String) {
    guard let json = try? JSONParser.parse(Array(document.utf8)),
      let session = json["session"]?.string.flatMap({ SessionID($0) }), let space = json["space"],
      let stored = json["credential"]
    else { return nil }
    let violations = Violations()
    var spaceReader = ObjectReader(space, at: "", violations)
    var credentialReader = ObjectReader(stored, at: "", violations)
    self.session = session
    self.space = ProtectionSpace(validating: &spaceReader)
    guard let credential = Credential(validating: &credentialReader), violations.all.isEmpty else {
      return nil
    }
    self.credential = credential
  }
}
