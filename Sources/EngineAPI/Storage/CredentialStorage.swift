package import BlobStore
package import Limits
internal import Synchronization
package import TransferModel

/// The credentials that sessions remember, each for its own (URLCredentialStorage). They are in memory: `SessionStorages` loads and unloads
/// those that are in the ledger as well.
package final class CredentialStorage: Sendable {
  /// A change that the ledger has to make, too.
  package enum Change: Sendable {
    case stored(ProtectionSpace, Credential)
    case removed(ProtectionSpace)
  }
  /// Why a credential is not kept.
  package enum Refusal: Sendable {
    case limit(Limit)
    /// There is no room for credentials that are in memory only.
    case memoryFull
  }

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

    /// The limit that the credential would exceed; nil if there is room.
    func limit(for credential: Credential, in space: ProtectionSpace) -> Limit? {
      let replaced = hosts[space.host]?[space]
      if replaced == nil, count >= Limits.credentials.value { return Limits.credentials }
      let growth = credential.size - (replaced?.credential.size ?? 0)
      let isTooLarge = growth > 0 && size + growth > Limits.credentialBytes.value
      return isTooLarge ? Limits.credentialBytes : nil
    }

    /// Bytes of the credential of that space, if it is in memory only.
    func unstoredSize(in space: ProtectionSpace) -> Int {
      hosts[space.host]?[space].map { $0.isStored ? 0 : $0.credential.size } ?? 0
    }

    /// - Returns: the entry that was there.
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
    var shelves: [SessionID: Shelf] = [:]
    /// The budget for credentials that are not in the ledger.
    var files: [SessionID: MemoryFiles] = [:]
    var hear: (@Sendable (SessionID, [Change]) -> Void)?

    /// Counts the session's credentials that are not in the ledger, and drops an empty shelf.
    mutating func settle(_ session: SessionID) {
      let shelf = shelves[session]
      if shelf?.count == 0 { shelves[session] = nil }
      let size = shelf.map { $0.size - $0.storedSize } ?? 0
      files[session]?.count(Int64(size), as: CredentialStorage.name, of: session, mustFit: false)
    }
  }
  private let state = Mutex(State())
  /// Under which they count.
  private static let name = "credentials"

  package init() {}

  /// Calls `hear` with each change of what is in the ledger as well, in their order; it must not block.
  package func onChange(_ hear: @escaping @Sendable (SessionID, [Change]) -> Void) {
    state.withLock { $0.hear = hear }
  }

  /// What is used in that space unless somebody says otherwise (URLCredentialStorage.defaultCredential(for:)).
  package func credential(for space: ProtectionSpace, in session: SessionID) -> Credential? {
    state.withLock { state in
      let good = (state.shelves[session]?.hosts[space.host] ?? [:]).filter { $0.key.covers(space) }
      return good.max { $1.key.isCloser(to: space, than: $0.key) }?.value.credential
    }
  }

  /// In one order, whenever and in whatever order they were set.
  package func entries(of session: SessionID) -> [CredentialEntry] {
    let hosts = state.withLock { $0.shelves[session]?.hosts ?? [:] }
    return hosts.values.joined().map { CredentialEntry(space: $0.key, credential: $0.value.credential) }
      .sorted { $0.space.isListed(before: $1.space) }
  }

  /// Remembers a credential, and replaces the one of the same space.
  /// - Parameter isStored: whether it belongs in the ledger as well.
  /// - Returns: why it is not kept; nil if it is.
  package func set(
    _ credential: Credential, for space: ProtectionSpace, in session: SessionID, isStored: Bool
  ) -> Refusal? {
    state.withLock { state in
      if let limit = state.shelves[session]?.limit(for: credential, in: space) { return .limit(limit) }
      let growth = credential.size - (state.shelves[session]?.unstoredSize(in: space) ?? 0)
      guard isStored || growth <= 0 || state.files[session]?.hasRoom(for: growth) != false else {
        return .memoryFull
      }
      let entry = Shelf.Entry(credential: credential, isStored: isStored)
      let replaced = state.shelves[session, default: Shelf()].set(entry, for: space)
      state.settle(session)
      if isStored {
        state.hear?(session, [.stored(space, credential)])
      } else if replaced?.isStored == true {
        state.hear?(session, [.removed(space)])
      }
      return nil
    }
  }

  /// Forgets those of some spaces.
  package func remove(_ spaces: [ProtectionSpace], in session: SessionID) {
    state.withLock { state in
      let removed = spaces.filter { state.shelves[session]?.set(nil, for: $0)?.isStored == true }
      state.settle(session)
      if !removed.isEmpty { state.hear?(session, removed.map { .removed($0) }) }
    }
  }

  /// Makes the session's credentials that are not in the ledger count towards `files`.
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

  /// Puts back the credentials that the ledger has of a session. Those that are in memory are newer.
  package func restore(_ entries: [CredentialEntry], of session: SessionID) {
    state.withLock { state in
      for entry in entries where state.shelves[session]?.hosts[entry.space.host]?[entry.space] == nil {
        state.shelves[session, default: Shelf()]
          .set(Shelf.Entry(credential: entry.credential, isStored: true), for: entry.space)
      }
    }
  }

  /// Takes over a credential that was stored elsewhere, and is in the ledger.
  package func apply(_ credential: Credential, for space: ProtectionSpace, to session: SessionID) {
    state.withLock { state in
      _ = state.shelves[session, default: Shelf()]
        .set(Shelf.Entry(credential: credential, isStored: true), for: space)
    }
  }

  /// Bytes in memory, approximately, of credentials that are in the ledger as well.
  package func storedSize(of session: SessionID) -> Int {
    state.withLock { $0.shelves[session]?.storedSize ?? 0 }
  }

  /// Forgets the credentials that are in the ledger as well.
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
