internal import EngineAPI
internal import Ledger
internal import Logging
internal import Records
internal import TransferModel

/// Reads the cookies and credentials of sessions from the ledger, for the engine.
struct SessionStorageReader: Sendable {
  let store: any Ledger
  let now: @Sendable () -> Timestamp
  let logger: Logger

  /// - Returns: `nil` if they cannot be read now.
  func contents(of session: SessionID) async -> SessionStorageLoader.Contents? {
    do throws(LedgerError) {
      let found = try await store.storage(of: session)
      return SessionStorageLoader.Contents(
        cookies: found.cookies,
        credentials: found.credentials.map { CredentialEntry(space: $0.space, credential: $0.credential) },
        readAt: now())
    } catch {
      logger.error(
        "cannot read the cookies and credentials of a session; its tasks fail",
        metadata: ["session": "\(session)", "reason": "\(error)"])
      return nil
    }
  }
}

extension SessionStorageLoader.Source {
  /// Makes the source of a service, which reads its ledger.
  init(_ reader: SessionStorageReader, in runtime: SessionRuntime) {
    self.init { [weak runtime] session, loaded in
      guard let runtime else { return loaded(nil) }
      runtime.spawn { [weak runtime] in
        var contents = await reader.contents(of: session)
        if let runtime, runtime.session(session)?.state == .invalid {
          contents?.dropTransient { runtime.recorder.record(LedgerChange($0, of: session)) }
        }
        loaded(contents)
      }
    } settle: { [weak runtime] session, settled in
      let found: Void? = runtime?.update(session) { _, step in step.onCommit.append(settled) }
      if found == nil { settled(false) }
    }
  }
}

extension SessionStorageLoader.Contents {
  /// Drops all credentials but permanent ones, because the session is invalid.
  /// - Parameter remove: called with the dropped credentials, if there are any.
  fileprivate mutating func dropTransient(_ remove: ([CredentialStorage.Change]) -> Void) {
    let gone = credentials.filter { $0.credential.persistence != .permanent }
    credentials.removeAll { $0.credential.persistence != .permanent }
    if !gone.isEmpty { remove(gone.map { .removed($0.space) }) }
  }
}

extension LedgerChange {
  /// Makes the change that stores a session's changed credentials.
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
