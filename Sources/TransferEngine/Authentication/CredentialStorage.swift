package import BlobStore
package import Limits
internal import Synchronization
package import TransferModel

/// The credentials that sessions remember, each for its own (URLCredentialStorage). They are in memory: `SessionStorages` loads and unloads
/// those that are in the ledger as well.
package final class CredentialStorage: Sendable {
  /// By host, so that a request looks at those of its own host only.
  private struct Shelf {
    struct Entry {
      var credential: Credential
      /// Whether it is in the ledger as well.
      var isStored: Bool
    }
    private(set) var hosts: [String: [ProtectionSpace: Entry]] = [:]
    private(set) var count = 0
    /// Bytes that they take in memory, approximately.
    private(set) var size = 0
    private(set) var storedSize = 0
    /// Credentials that are being stored.
    var arriving = (count: 0, size: 0)

    /// The limit that the credential would exceed; nil if there is room.
    func limit(for credential: Credential, in space: ProtectionSpace) -> Limit? {
      let replaced = hosts[space.host]?[space]
      if replaced == nil, count + arriving.count >= Limits.credentials.value { return Limits.credentials }
      let growth = credential.size - (replaced?.credential.size ?? 0)
      let isTooLarge = growth > 0 && size + arriving.size + growth > Limits.credentialBytes.value
      return isTooLarge ? Limits.credentialBytes : nil
    }

    mutating func set(_ entry: Entry?, for space: ProtectionSpace) {
      let replaced = hosts[space.host]?[space]
      for (entry, sign) in [(replaced, -1), (entry, 1)] {
        guard let entry else { continue }
        count += sign
        size += sign * entry.credential.size
        if entry.isStored { storedSize += sign * entry.credential.size }
      }
      hosts[space.host, default: [:]][space] = entry
      if hosts[space.host]?.isEmpty == true { hosts[space.host] = nil }
    }
  }
  private let sessions = Mutex<[SessionID: Shelf]>([:])
  /// The budget for credentials that are not in the ledger.
  private let counts = Mutex<[SessionID: MemoryFiles]>([:])
  /// Under which they count.
  private static let name = "credentials"

  init() {}

  /// What is used in that space unless somebody says otherwise (URLCredentialStorage.defaultCredential(for:)).
  package func credential(for space: ProtectionSpace, in session: SessionID) -> Credential? {
    sessions.withLock { sessions in
      let good = (sessions[session]?.hosts[space.host] ?? [:]).filter { $0.key.covers(space) }
      return good.max { $1.key.isCloser(to: space, than: $0.key) }?.value.credential
    }
  }

  /// In one order, whenever and in whatever order they were set.
  package func entries(of session: SessionID) -> [CredentialEntry] {
    let hosts = sessions.withLock { $0[session]?.hosts ?? [:] }
    return hosts.values.joined().map { CredentialEntry(space: $0.key, credential: $0.value.credential) }
      .sorted { $0.space.isListed(before: $1.space) }
  }

  /// Whether the session may keep this credential, perhaps in place of another.
  func hasRoom(for credential: Credential, in space: ProtectionSpace, of session: SessionID, isStored: Bool)
    -> Bool
  {
    sessions.withLock { $0[session]?.limit(for: credential, in: space) == nil }
      && (isStored || files(of: session)?.hasRoom(for: credential.size) != false)
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
  /// - Parameter isStored: whether it is in the ledger as well, or about to be.
  package func set(
    _ credential: Credential, for space: ProtectionSpace, in session: SessionID, isStored: Bool
  ) {
    sessions.withLock { sessions in
      sessions[session, default: Shelf()]
        .set(Shelf.Entry(credential: credential, isStored: isStored), for: space)
      count(session, sessions)
    }
  }

  /// Makes the session's credentials that are not in the ledger count towards `files`.
  package func count(_ session: SessionID, in files: MemoryFiles) { counts.withLock { $0[session] = files } }

  private func files(of session: SessionID) -> MemoryFiles? { counts.withLock { $0[session] } }

  private func count(_ session: SessionID, _ sessions: [SessionID: Shelf]) {
    let size = sessions[session].map { $0.size - $0.storedSize } ?? 0
    files(of: session)?.count(Int64(size), as: Self.name, of: session, mustFit: false)
  }

  /// Forgets those of some spaces.
  package func remove(_ spaces: [ProtectionSpace], in session: SessionID) {
    sessions.withLock { sessions in
      for space in spaces { sessions[session]?.set(nil, for: space) }
      Self.dropIfEmpty(session, &sessions)
      count(session, sessions)
    }
  }

  /// Forgets all credentials of a session that goes on.
  package func removeAll(of session: SessionID) {
    sessions.withLock { sessions in
      sessions[session] = nil
      count(session, sessions)
    }
  }

  func forget(_ session: SessionID) {
    sessions.withLock { $0[session] = nil }
    counts.withLock { $0.removeValue(forKey: session) }?
      .count(0, as: Self.name, of: session, mustFit: false)
  }

  // MARK: The ledger

  /// Puts back the credentials that the ledger has of a session.
  func restore(_ entries: [CredentialEntry], of session: SessionID) {
    for entry in entries { set(entry.credential, for: entry.space, in: session, isStored: true) }
  }

  /// Bytes in memory, approximately, of credentials that are in the ledger as well.
  func storedSize(of session: SessionID) -> Int { sessions.withLock { $0[session]?.storedSize ?? 0 } }

  /// Forgets the credentials that are in the ledger as well.
  func unload(_ session: SessionID) {
    sessions.withLock { sessions in
      let spaces = (sessions[session]?.hosts ?? [:]).values.joined().filter(\.value.isStored).map(\.key)
      for space in spaces { sessions[session]?.set(nil, for: space) }
      Self.dropIfEmpty(session, &sessions)
    }
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

extension SessionType {
  /// Whether a credential is in the ledger as well: a background session is the same one after a restart of its processes.
  package func stores(_ credential: Credential) -> Bool {
    switch self {
    case .ephemeral: false
    case .background: credential.persistence != .none
    case .default: credential.persistence == .permanent
    }
  }
}
