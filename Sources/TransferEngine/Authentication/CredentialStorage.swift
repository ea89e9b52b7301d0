package import BlobStore
package import Limits
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
    /// Credentials that are being stored.
    var arriving = (count: 0, size: 0)

    /// The limit that the credential would exceed; nil if there is room.
    func limit(for credential: Credential, in space: ProtectionSpace) -> Limit? {
      let replaced = hosts[space.host]?[space]
      if replaced == nil, count + arriving.count >= Limits.credentials.value { return Limits.credentials }
      let growth = credential.size - (replaced?.size ?? 0)
      let isTooLarge = growth > 0 && size + arriving.size + growth > Limits.credentialBytes.value
      return isTooLarge ? Limits.credentialBytes : nil
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

  /// Whether the session may keep this credential, perhaps in place of another.
  package func hasRoom(for credential: Credential, in space: ProtectionSpace, of session: SessionID) -> Bool {
    sessions.withLock { $0[session]?.limit(for: credential, in: space) == nil }
  }

  /// Reserves room for a credential that is being stored. If it returns nil, the caller must call `releaseRoom`.
  /// - Returns: the limit that the credential would exceed.
  package func reserveRoom(
    for credential: Credential, in space: ProtectionSpace, of session: SessionID
  ) -> Limit? {
    sessions.withLock { sessions in
      if let limit = sessions[session]?.limit(for: credential, in: space) { return limit }
      sessions[session, default: Shelf()].arriving.count += 1
      sessions[session]?.arriving.size += credential.size
      return nil
    }
  }

  /// Releases a reservation, whether or not the credential was stored.
  package func releaseRoom(for credential: Credential, of session: SessionID) {
    sessions.withLock { sessions in
      sessions[session]?.arriving.count -= 1
      sessions[session]?.arriving.size -= credential.size
      Self.dropIfEmpty(session, &sessions)
    }
  }

  private static func dropIfEmpty(_ session: SessionID, _ sessions: inout [SessionID: Shelf]) {
    if let shelf = sessions[session], shelf.count == 0, shelf.arriving.count == 0 { sessions[session] = nil }
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
