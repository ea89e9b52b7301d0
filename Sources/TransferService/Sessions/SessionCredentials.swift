internal import BlobStore
internal import EngineAPI
package import JSON
internal import Ledger
package import TransferModel

/// Use cases of session credentials (URLCredentialStorage).
struct SessionCredentials: Sendable {
  let sessions: Sessions

  private var engine: any TransferExecuting { sessions.runtime.engine }

  /// Returns a session's credentials (URLCredentialStorage.allCredentials).
  func credentials(of id: SessionID) async throws(ServiceError) -> [CredentialEntry] {
    _ = try sessions.session(id)
    return try await sessions.withStorage(of: id) { engine.credentials.entries(of: id) }
  }

  /// Stores a credential as the default of its protection space (URLCredentialStorage.setDefaultCredential(_:for:)).
  func set(
    _ credential: Credential, for space: ProtectionSpace, in id: SessionID
  ) async throws(ServiceError) {
    let session = try sessions.session(id)
    guard session.configuration.urlCredentialStorage else { throw .noCredentialStorage }
    guard session.state != .invalid else { throw .sessionInvalid }
    let isStored = session.type.stores(credential)
    try await sessions.changeStorage(of: id) { (change, isBackground) throws(ServiceError) in
      switch engine.credentials.set(credential, for: space, in: id, isStored: isStored) {
      case .limit(let limit): throw .credentialsFull(limit)
      case .memoryFull: throw .memoryFull(limit: engine.memoryFiles.capacity)
      case nil: break
      }
      engine.forgetCredentials(of: id, for: [space])
      guard isBackground else { return }
      change.add([isStored ? .stored(space, credential) : .removed(space)], of: id)
      change.command(.keepCredential(credential, space), of: id)
    }
  }

  /// Deletes the credentials of the protection spaces that `matches` accepts.
  func remove(
    of id: SessionID, where matches: @Sendable (ProtectionSpace) -> Bool
  ) async throws(ServiceError) {
    _ = try sessions.session(id)
    try await sessions.changeStorage(of: id) { change, isBackground in
      let spaces = engine.credentials.entries(of: id).map(\.space).filter(matches)
      engine.credentials.remove(spaces, in: id)
      engine.forgetCredentials(of: id, for: spaces)
      guard isBackground else { return }
      change.add(spaces.map { .removed($0) }, of: id)
      change.command(.forgetCredentials(spaces), of: id)
    }
  }
}

extension CredentialEntry {
  /// Reads the credential that a client stores in a session.
  package init(_ value: JSONValue) throws(InvalidFields) {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    var space: ProtectionSpace?
    if var fields = reader.object("protectionSpace") {
      space = ProtectionSpace(validating: &fields)
    } else if reader.isMissing("protectionSpace") {
      reader.reject("protectionSpace", "is required")
    }
    var credential: Credential?
    if var fields = reader.object("credential") {
      credential = Credential(validating: &fields)
      if let read = credential {
        // A credential with the persistence `none` serves one task only, so it cannot be stored.
        let persistence = fields.value("persistence") == nil ? .forSession : read.persistence
        credential?.persistence = persistence
        if persistence == .none { fields.reject("persistence", "must be forSession or permanent, not none") }
        _ = read.fits(space?.authenticationMethod ?? .default, &fields)
      }
    } else if reader.isMissing("credential") {
      reader.reject("credential", "is required")
    }
    reader.finish()
    guard let space, let credential, violations.isEmpty else { throw InvalidFields(violations) }
    self.init(space: space, credential: credential)
  }
}
