package import BlobStore
package import Limits
internal import Synchronization
package import TransferModel

/// The credentials of sessions, separate for each (URLCredentialStorage). They are in memory, where `SessionStorageLoader` loads and
/// unloads those that are in the ledger as well.
package final class CredentialStorage: Sendable {
  /// A change to write to the ledger.
  package enum Change: Sendable {
    case stored(ProtectionSpace, Credential)
    case removed(ProtectionSpace)
  }
  /// The reason why a credential is not stored.
  package enum Refusal: Sendable {
    case limit(Limit)
    /// The memory quota has no room for credentials that are in memory only.
    case memoryFull
  }

  /// The credentials of a session, grouped by host so that a request examines only those of its own host.
  private struct SessionEntries {
    struct Entry {
      var credential: Credential
      /// Whether the credential is in the ledger as well.
      var isStored: Bool
    }
    private(set) var hosts: [String: [ProtectionSpace: Entry]] = [:]
    private(set) var count = 0
    /// The approximate bytes of all credentials in memory.
    private(set) var size = 0
    private(set) var storedSize = 0

    /// Returns the limit that the credential would exceed; `nil` if there is room.
    func limit(for credential: Credential, in space: ProtectionSpace) -> Limit? {
      let replaced = hosts[space.host]?[space]
      if replaced == nil, count >= Limits.credentials.value { return Limits.credentials }
      let growth = credential.size - (replaced?.credential.size ?? 0)
      let isTooLarge = growth > 0 && size + growth > Limits.credentialBytes.value
      return isTooLarge ? Limits.credentialBytes : nil
    }

    /// Returns the bytes of the credential of that space if it is in memory only, otherwise 0.
    func unstoredSize(in space: ProtectionSpace) -> Int {
      hosts[space.host]?[space].map { $0.isStored ? 0 : $0.credential.size } ?? 0
    }

    /// - Returns: The previous entry.
    @discardableResult
    mutating func set(_ entry: Entry?, for space: ProtectionSpace) -> Entry? {
      let replaced = hosts[space.host]?[space]
      for (entry, sign) in [(replaced, -1), (entry, 1)] {
        guard let entry else { continue }
        count += sign
        size += sign * entry.credential.size
        if entry.isStored { storedSize += sign * entry.credential.size }
      }
      hosts[space.host, default: [:]][space] = entry
      if hosts[space.host]?.isEmpty == true { hosts[space.host] = nil }
      return replaced
    }
  }
  private struct State {
    var shelves: [SessionID: SessionEntries] = [:]
    /// The memory quotas for credentials that are not in the ledger.
    var files: [SessionID: MemoryFiles] = [:]
    var hear: (@Sendable (SessionID, [Change]) -> Void)?

    /// Counts the session's credentials that are not in the ledger, and drops empty entries.
    mutating func settle(_ session: SessionID) {
      let shelf = shelves[session]
      if shelf?.count == 0 { shelves[session] = nil }
      let size = shelf.map { $0.size - $0.storedSize } ?? 0
      files[session]?.count(Int64(size), as: CredentialStorage.name, of: session, mustFit: false)
    }
  }
  private let state = Mutex(State())
  /// The name under which credentials count in a quota.
  private static let name = "credentials"

  package init() {}

  /// Calls `hear` with each change to write to the ledger, in their order. It must not block.
  package func onChange(_ hear: @escaping @Sendable (SessionID, [Change]) -> Void) {
    state.withLock { $0.hear = hear }
  }

  /// Returns the credential that is used in that space by default (URLCredentialStorage.defaultCredential(for:)).
  package func credential(for space: ProtectionSpace, in session: SessionID) -> Credential? {
    state.withLock { state in
      let good = (state.shelves[session]?.hosts[space.host] ?? [:]).filter { $0.key.covers(space) }
      return good.max { $1.key.isCloser(to: space, than: $0.key) }?.value.credential
    }
  }

  /// Returns all credentials in an order that does not depend on when they were set.
  package func entries(of session: SessionID) -> [CredentialEntry] {
    let hosts = state.withLock { $0.shelves[session]?.hosts ?? [:] }
    return hosts.values.joined().map { CredentialEntry(space: $0.key, credential: $0.value.credential) }
      .sorted { $0.space.isListed(before: $1.space) }
  }

  /// Stores a credential, which replaces the one of the same space.
  /// - Parameter isStored: Whether the credential belongs in the ledger as well.
  /// - Returns: The reason why the credential is not stored; `nil` if it is.
  package func set(
    _ credential: Credential, for space: ProtectionSpace, in session: SessionID, isStored: Bool
  ) -> Refusal? {
    state.withLock { state in
      if let limit = state.shelves[session]?.limit(for: credential, in: space) { return .limit(limit) }
      let growth = credential.size - (state.shelves[session]?.unstoredSize(in: space) ?? 0)
      guard isStored || growth <= 0 || state.files[session]?.hasRoom(for: growth) != false else {
        return .memoryFull
      }
      let entry = SessionEntries.Entry(credential: credential, isStored: isStored)
      let replaced = state.shelves[session, default: SessionEntries()].set(entry, for: space)
      state.settle(session)
      if isStored {
        state.hear?(session, [.stored(space, credential)])
      } else if replaced?.isStored == true {
        state.hear?(session, [.removed(space)])
      }
      return nil
    }
  }

  /// Deletes the credentials of some spaces.
  package func remove(_ spaces: [ProtectionSpace], in session: SessionID) {
    state.withLock { state in
      let removed = spaces.filter { state.shelves[session]?.set(nil, for: $0)?.isStored == true }
      state.settle(session)
      if !removed.isEmpty { state.hear?(session, removed.map { .removed($0) }) }
    }
  }

  /// Counts the session's credentials that are not in the ledger in a memory quota.
  package func count(_ session: SessionID, in files: MemoryFiles) {
    state.withLock { $0.files[session] = files }
  }

  package func forget(_ session: SessionID) {
    state.withLock { state in
      state.shelves[session] = nil
      state.settle(session)
      state.files[session] = nil
    }
  }

  // MARK: The ledger

  /// Restores the credentials of a session from the ledger. Credentials that are in memory are newer.
  package func restore(_ entries: [CredentialEntry], of session: SessionID) {
    state.withLock { state in
      for entry in entries where state.shelves[session]?.hosts[entry.space.host]?[entry.space] == nil {
        state.shelves[session, default: SessionEntries()]
          .set(SessionEntries.Entry(credential: entry.credential, isStored: true), for: entry.space)
      }
    }
  }

  /// Applies a credential that another process has stored in the ledger.
  package func apply(_ credential: Credential, for space: ProtectionSpace, to session: SessionID) {
    state.withLock { state in
      _ = state.shelves[session, default: SessionEntries()]
        .set(SessionEntries.Entry(credential: credential, isStored: true), for: space)
    }
  }

  /// Returns the approximate bytes in memory of credentials that are in the ledger as well.
  package func storedSize(of session: SessionID) -> Int {
    state.withLock { $0.shelves[session]?.storedSize ?? 0 }
  }

  /// Removes from memory the credentials that are in the ledger as well.
  package func unload(_ session: SessionID) {
    state.withLock { state in
      let entries = (state.shelves[session]?.hosts ?? [:]).values.joined()
      for space in entries.filter(\.value.isStored).map(\.key) {
        state.shelves[session]?.set(nil, for: space)
      }
      state.settle(session)
    }
  }
}

extension Credential {
  /// The approximate bytes that the credential uses in memory.
  package var size: Int {
    switch kind {
    case .password(let user, let password): 256 + user.utf8.count + password.utf8.count
    case .certificate(let certificates, let key): 256 + certificates.utf8.count + key.utf8.count
    }
  }
}

extension SessionType {
  /// Returns whether a credential is in the ledger as well. A background session outlives its processes, so it keeps session credentials
  /// too.
  package func stores(_ credential: Credential) -> Bool {
    switch self {
    case .ephemeral: false
    case .background: credential.persistence != .none
    case .default: credential.persistence == .permanent
    }
  }
}
