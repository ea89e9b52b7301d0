internal import Synchronization
package import TransferModel

/// The credentials that sessions remember, each for its own (URLCredentialStorage). In memory: what is permanent comes
/// from the store and goes there.
package final class CredentialStorage: Sendable {
  private let sessions = Mutex<[SessionID: [CredentialEntry]]>([:])

  package init() {}

  /// What is used in that space unless somebody says otherwise (URLCredentialStorage.defaultCredential(for:)).
  package func credential(for space: ProtectionSpace, in session: SessionID) -> Credential? {
    sessions.withLock { sessions in
      let good = (sessions[session] ?? []).filter { $0.space.covers(space) }
      return good.max { $1.space.isCloser(to: space, than: $0.space) }?.credential
    }
  }

  /// In one order, whenever and in whatever order they were set.
  package func entries(of session: SessionID) -> [CredentialEntry] {
    sessions.withLock { $0[session] ?? [] }.sorted { $0.space.isListed(before: $1.space) }
  }

  /// Remembers a credential in place of that which was there.
  package func set(_ credential: Credential, for space: ProtectionSpace, in session: SessionID) {
    sessions.withLock { sessions in
      sessions[session, default: []].removeAll { $0.space == space }
      sessions[session, default: []].append(CredentialEntry(space: space, credential: credential))
    }
  }

  /// Forgets what `matches` says, and returns it.
  @discardableResult
  package func remove(in session: SessionID, where matches: (CredentialEntry) -> Bool) -> [ProtectionSpace] {
    sessions.withLock { sessions in
      let gone = (sessions[session] ?? []).filter(matches).map(\.space)
      sessions[session]?.removeAll { gone.contains($0.space) }
      if sessions[session]?.isEmpty == true { sessions[session] = nil }
      return gone
    }
  }

  package func forget(_ session: SessionID) { sessions.withLock { $0[session] = nil } }
}
