internal import BlobStore
package import JSON
internal import TransferEngine
package import TransferModel
internal import TransferStore

/// What can be done with the credentials of sessions (URLCredentialStorage).
struct SessionCredentials: Sendable {
  let sessions: Sessions

  private var engine: any LocalCarrier { sessions.room.engine }
  private var background: BackgroundCarrier? { sessions.room.background }
  private var recorder: Recorder { sessions.room.recorder }

  /// What a session remembers (URLCredentialStorage.allCredentials).
  func credentials(of id: SessionID) async throws(ServiceError) -> [CredentialEntry] {
    _ = try sessions.session(id)
    return try await sessions.withStorage(of: id) { engine.credentials.entries(of: id) }
  }

  /// Remembers a credential as the one that is used in its space (URLCredentialStorage.setDefaultCredential(_:for:)).
  func set(
    _ credential: Credential, for space: ProtectionSpace, in id: SessionID
  ) async throws(ServiceError) {
    let session = try sessions.session(id)
    guard session.configuration.urlCredentialStorage else { throw .noCredentialStorage }
    guard session.state != .invalid else { throw .sessionInvalid }
    let isStored = session.type.stores(credential)
    guard isStored || engine.memoryFiles.hasRoom(for: credential.size) else {
      throw .memoryFull(limit: engine.memoryFiles.capacity)
    }
    try await sessions.withStorage(of: id) { () async throws(ServiceError) in
      try await keep(credential, for: space, in: id, isStored: isStored)
    }
  }

  private func keep(
    _ credential: Credential, for space: ProtectionSpace, in id: SessionID, isStored: Bool
  ) async throws(ServiceError) {
    if let limit = engine.credentials.reserveRoom(for: credential, in: space, of: id) {
      throw .credentialsFull(limit)
    }
    defer { engine.credentials.releaseRoom(for: credential, of: id) }
    var change = StoreChange()
    change.owner = id
    if isStored {
      change.credentials = [.init(session: id, space: space, credential: credential)]
    } else {
      change.deletedCredentials = [(id, space)]
    }
    if background?.has(id) == true { change.command(.keepCredential(credential, space), of: id) }
    try await recorder.write(change)
    engine.keep(credential, for: space, in: id, isStored: isStored)
  }

  /// Forgets the credentials of the spaces that `matches` says.
  func remove(
    of id: SessionID, where matches: @Sendable (ProtectionSpace) -> Bool
  ) async throws(ServiceError) {
    _ = try sessions.session(id)
    try await sessions.withStorage(of: id) { () async throws(ServiceError) in
      try await forget(engine.credentials.entries(of: id).map(\.space).filter(matches), in: id)
    }
  }

  private func forget(_ spaces: [ProtectionSpace], in id: SessionID) async throws(ServiceError) {
    var change = StoreChange()
    change.owner = id
    change.deletedCredentials = spaces.map { (id, $0) }
    if background?.has(id) == true { change.command(.forgetCredentials(spaces), of: id) }
    try await recorder.write(change)
    engine.credentials.remove(spaces, in: id)
    engine.forgetCredentials(of: id, for: spaces)
  }
}

extension CredentialEntry {
  /// Reads what a client stores in a session.
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
        // What is for one task only cannot be stored.
        let persistence = fields.value("persistence") == nil ? .forSession : read.persistence
        credential?.persistence = persistence
        if persistence == .none { fields.reject("persistence", "must be forSession or permanent") }
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
