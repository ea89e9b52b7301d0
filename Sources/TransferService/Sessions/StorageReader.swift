internal import EngineAPI
internal import Ledger
internal import Logging
internal import Records
internal import TransferModel

/// Reads the cookies and credentials of sessions from the ledger, for the engine.
struct StorageReader: Sendable {
  let store: any Ledger
  let now: @Sendable () -> Timestamp
  let logger: Logger

  /// Nil if they cannot be read now.
  func contents(of session: SessionID) async -> SessionStorages.Contents? {
    do throws(StoreError) {
      let found = try await store.storage(of: session)
      return SessionStorages.Contents(
        cookies: found.cookies,
        credentials: found.credentials.map { CredentialEntry(space: $0.space, credential: $0.credential) },
        readAt: now())
    } catch {
      logger.error(
        "the cookies and credentials of a session cannot be read: its tasks fail",
        metadata: ["session": "\(session)", "reason": "\(error)"])
      return nil
    }
  }
}

extension SessionStorages.Source {
  /// The ledger of a service.
  init(_ reader: StorageReader, in room: MachineRoom) {
    self.init { [weak room] session, loaded in
      guard let room else { return loaded(nil) }
      room.spawn { [weak room] in
        var contents = await reader.contents(of: session)
        if let room, room.session(session)?.state == .invalid {
          contents?.dropTransient { room.recorder.record(StoreChange($0, of: session)) }
        }
        loaded(contents)
      }
    } settle: { [weak room] session, settled in
      let found: Void? = room?.visit(session) { _, step in step.settled.append(settled) }
      if found == nil { settled(false) }
    }
  }
}

extension SessionStorages.Contents {
  /// An invalid session keeps only permanent credentials.
  /// - Parameter remove: gets what is removed, if there is any.
  fileprivate mutating func dropTransient(_ remove: ([CredentialStorage.Change]) -> Void) {
    let gone = credentials.filter { $0.credential.persistence != .permanent }
    credentials.removeAll { $0.credential.persistence != .permanent }
    if !gone.isEmpty { remove(gone.map { .removed($0.space) }) }
  }
}

extension StoreChange {
  /// Writes what was changed in a session's credentials.
  init(_ changes: [CredentialStorage.Change], of session: SessionID) {
    self.init()
    owner = session
    add(changes, of: session)
  }

  mutating func add(_ changes: [CredentialStorage.Change], of session: SessionID) {
    for change in changes {
      switch change {
      case .stored(let space, let credential):
        credentials.append(StoredCredential(session: session, space: space, credential: credential))
      case .removed(let space): deletedCredentials.append((session, space))
      }
    }
  }
}
