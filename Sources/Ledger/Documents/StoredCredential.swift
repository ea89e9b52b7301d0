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
  package var document: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field(DocumentVersion.member, DocumentVersion.current)
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
  package static func key(_ space: ProtectionSpace) -> String { String(decoding: space.json, as: UTF8.self) }

  /// - Parameter session: whose row has the document.
  package init(stored: inout StoredObject, of session: SessionID) throws(StoredObject.Fault) {
    var (space, credential) = (try stored.object("space"), try stored.object("credential"))
    self.init(
      session: try stored.id("session"), space: try ProtectionSpace(stored: &space),
      credential: try Credential(stored: &credential))
    guard self.session == session else { throw stored.fault("session", "is not that of the row") }
  }
}

extension ProtectionSpace {
  fileprivate init(stored: inout StoredObject) throws(StoredObject.Fault) {
    self.init(
      host: try stored.string("host"), port: Int(try stored.integer("port")),
      protocolName: try stored.string("protocol"), realm: try stored.stringIfAny("realm"),
      authenticationMethod: try stored.choice("authenticationMethod"),
      isProxy: try stored.boolIfAny("isProxy") ?? false)
    try stored.finish()
  }
}

extension Credential {
  fileprivate init(stored: inout StoredObject) throws(StoredObject.Fault) {
    let persistence: Persistence = try stored.choice("persistence")
    if let user = try stored.stringIfAny("user") {
      self.init(user: user, password: try stored.string("password"), persistence: persistence)
    } else {
      self.init(
        .certificate(try stored.string("clientCertificate"), privateKey: try stored.string("privateKey")),
        persistence: persistence)
    }
    try stored.finish()
  }
}
