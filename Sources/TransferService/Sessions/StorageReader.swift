internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// Reads the cookies and credentials of sessions from the ledger, for the engine.
struct StorageReader: Sendable {
  let store: any Ledger
  let now: @Sendable () -> Timestamp

  /// Nil if they cannot be read now.
  func contents(of session: SessionID) async -> SessionStorages.Contents? {
    do throws(StoreError) {
      let cookies = try await store.cookies(of: session)
      let credentials = try await store.credentials(of: session)
      return SessionStorages.Contents(
        cookies: cookies,
        credentials: credentials.map { CredentialEntry(space: $0.space, credential: $0.credential) },
        readAt: now())
    } catch {
      return nil
    }
  }
}

extension MachineRoom {
  /// Where the engine reads the cookies and credentials of sessions.
  func storageSource(now: @escaping @Sendable () -> Timestamp) -> SessionStorages.Source {
    let reader = StorageReader(store: recorder.store, now: now)
    return SessionStorages.Source { [weak self] session, loaded in
      guard let self else { return loaded(nil) }
      spawn {
        var contents = await reader.contents(of: session)
        self.dropTransient(&contents, of: session)
        loaded(contents)
      }
    } settle: { [weak self] session, settled in
      let found: Void? = self?.visit(session) { _, step in step.settled.append(settled) }
      if found == nil { settled(false) }
    }
  }

  /// An invalid session has permanent credentials only.
  private func dropTransient(_ contents: inout SessionStorages.Contents?, of session: SessionID) {
    guard self.session(session)?.state == .invalid else { return }
    let gone = (contents?.credentials ?? []).filter { $0.credential.persistence != .permanent }.map(\.space)
    guard !gone.isEmpty else { return }
    contents?.credentials.removeAll { $0.credential.persistence != .permanent }
    var change = StoreChange()
    change.owner = session
    change.deletedCredentials = gone.map { (session, $0) }
    recorder.record(change)
  }
}
