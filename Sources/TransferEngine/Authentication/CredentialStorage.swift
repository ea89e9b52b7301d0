package import BlobStore
internal import Limits
internal import Synchronization
package import TransferModel

/// The credentials that sessions remember, each for its own (URLCredentialStorage). In memory: what is permanent comes
/// from the store and goes there.
package final class CredentialStorage: Sendable {
  /// By host, so that a request looks at those of its own host only.
  private struct Shelf {
    var hosts: [String: [ProtectionSpace: Credential]] = [:]
    var count = 0
    /// Bytes that they take in memory, approximately.
    var size = 0
    /// Number of credentials that are being stored.
    var arriving = 0

    func hasRoom(for space: ProtectionSpace) -> Bool {
      count + arriving < Limits.credentials.value || hosts[space.host]?[space] != nil
    }
  }
  private let sessions = Mutex<[SessionID: Shelf]>([:])
  /// The budgets of ephemeral sessions.
  private let counts = Mutex<[SessionID: MemoryFiles]>([:])
  /// Under which they count.
  private static let name = "credentials"

  package init() {}

  /// What is used in that space unless somebody says otherwise (URLCredentialStorage.defaultCredential(for:)).
  package func credential(for space: ProtectionSpace, in session: SessionID) -> Credential? {
    sessions.withLock { sessions in
      let good = (sessions[session]?.hosts[space.host] ?? [:]).filter { $0.key.covers(space) }
      return good.max { $1.key.isCloser(to: space, than: $0.key) }?.value
    }
  }

  /// In one order, whenever and in whatever order they were set.
  package func entries(of session: SessionID) -> [CredentialEntry] {
    let hosts = sessions.withLock { $0[session]?.hosts ?? [:] }
    return hosts.values.joined().map { CredentialEntry(space: $0.key, credential: $0.value) }
      .sorted { $0.space.isListed(before: $1.space) }
  }

  /// Whether one more credential may be kept, or this space has one that it would replace.
  package func hasRoom(for space: ProtectionSpace, in session: SessionID) -> Bool {
    sessions.withLock { $0[session]?.hasRoom(for: space) ?? true }
  }

  /// Reserves room for a credential that is being stored. If it returns true, the caller must call `releaseRoom`.
  package func reserveRoom(for space: ProtectionSpace, in session: SessionID) -> Bool {
    sessions.withLock { sessions in
      guard sessions[session, default: Shelf()].hasRoom(for: space) else { return false }
      sessions[session, default: Shelf()].arriving += 1
      return true
    }
  }

  /// Releases a reservation, whether or not the credential was stored.
  package func releaseRoom(in session: SessionID) {
    sessions.withLock { sessions in
      sessions[session]?.arriving -= 1
      Self.dropIfEmpty(session, &sessions)
    }
  }

  private static func dropIfEmpty(_ session: SessionID, _ sessions: inout [SessionID: Shelf]) {
    if let shelf = sessions[session], shelf.count == 0, shelf.arriving == 0 { sessions[session] = nil }
  }

  /// Remembers a credential in place of that which was there.
  package func set(_ credential: Credential, for space: ProtectionSpace, in session: SessionID) {
    sessions.withLock { sessions in
      let replaced = sessions[session, default: Shelf()].hosts[space.host, default: [:]]
        .updateValue(credential, forKey: space)
      if replaced == nil { sessions[session]?.count += 1 }
      sessions[session]?.size += credential.size - (replaced?.size ?? 0)
      count(session, sessions)
    }
  }

  /// Makes the session's credentials count towards `files`.
  package func count(_ session: SessionID, in files: MemoryFiles) { counts.withLock { $0[session] = files } }

  private func count(_ session: SessionID, _ sessions: [SessionID: Shelf]) {
    let files = counts.withLock { $0.isEmpty ? nil : $0[session] }
    files?.count(Int64(sessions[session]?.size ?? 0), as: Self.name, of: session, mustFit: false)
  }

  /// Forgets those of some spaces.
  package func remove(_ spaces: [ProtectionSpace], in session: SessionID) {
    sessions.withLock { sessions in
      for space in spaces {
        guard let removed = sessions[session]?.hosts[space.host]?.removeValue(forKey: space) else { continue }
        sessions[session]?.count -= 1
        sessions[session]?.size -= removed.size
        if sessions[session]?.hosts[space.host]?.isEmpty == true {
          sessions[session]?.hosts[space.host] = nil
        }
      }
      Self.dropIfEmpty(session, &sessions)
      count(session, sessions)
    }
  }

  package func forget(_ session: SessionID) {
    sessions.withLock { $0[session] = nil }
    counts.withLock { $0.removeValue(forKey: session) }?
      .count(0, as: Self.name, of: session, mustFit: false)
  }
}

extension Credential {
  /// Bytes that it takes in memory, approximately.
  package var size: Int {
    switch kind {
    case .password(let user, let password): 256 + user.utf8.count + password.utf8.count
    case .certificate(let certificates, let key): 256 + certificates.utf8.count + key.utf8.count
    }
  }
}
