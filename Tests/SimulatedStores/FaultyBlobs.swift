package import BlobStore
internal import Synchronization
package import TransferModel

/// A store whose calls fail, or take their time, when its owner says so.
package final class FaultyBlobs: BlobStore {
  package enum Call: Sendable, CaseIterable {
    case create, reopen, write, commit, open, alias, take
  }
  /// Is called before each call; what it returns is thrown in its place.
  package typealias Fault = @Sendable (Call, BlobKey) -> BlobError?

  private let store: any BlobStore
  private struct State {
    var fault: Fault?
  }
  private let state = Mutex(State())

  package init(_ store: any BlobStore) { self.store = store }

  /// - Parameter fault: nil: all is well.
  package func fail(_ fault: Fault?) { state.withLock { $0.fault = fault } }

  fileprivate func check(_ call: Call, _ key: BlobKey) throws(BlobError) {
    if let error = state.withLock({ $0 }).fault?(call, key) { throw error }
  }

  private struct Draft: BlobDraft {
    let key: BlobKey
    let draft: any BlobDraft
    let store: FaultyBlobs

    func write(_ chunks: [[UInt8]], at offset: Int64) throws(BlobError) {
      try store.check(.write, key)
      try draft.write(chunks, at: offset)
    }
    func commit(as key: BlobKey, size: Int64, sha256: String) throws(BlobError) {
      try store.check(.commit, self.key)
      try draft.commit(as: key, size: size, sha256: sha256)
    }
    func reader() -> BlobReader? { draft.reader() }
    func discard() { draft.discard() }
  }

  package var isDurable: Bool { store.isDurable }
  package var hasLocalFiles: Bool { store.hasLocalFiles }

  package func create(_ key: BlobKey) throws(BlobError) -> any BlobDraft {
    try check(.create, key)
    return Draft(key: key, draft: try store.create(key), store: self)
  }
  package func reopen(_ key: BlobKey, at offset: Int64) throws(BlobError) -> any BlobDraft {
    try check(.reopen, key)
    return Draft(key: key, draft: try store.reopen(key, at: offset), store: self)
  }
  package func adopt(_ file: LocalFile, as key: BlobKey, size: Int64) throws(BlobError) -> any BlobDraft {
    try check(.create, key)
    return Draft(key: key, draft: try store.adopt(file, as: key, size: size), store: self)
  }
  package func open(_ key: BlobKey) throws(BlobError) -> BlobReader {
    try check(.open, key)
    return try store.open(key)
  }
  package func size(of key: BlobKey) -> Int64? { store.size(of: key) }
  package func localFile(of key: BlobKey) -> LocalFile? { store.localFile(of: key) }
  package func alias(_ key: BlobKey, as other: BlobKey) throws(BlobError) {
    try check(.alias, key)
    try store.alias(key, as: other)
  }
  package func take(_ key: BlobKey, as draft: BlobKey, size: Int64) throws(BlobError) {
    try check(.take, key)
    try store.take(key, as: draft, size: size)
  }
  package func move(_ key: BlobKey, to other: BlobKey) -> Bool { store.move(key, to: other) }
  package func delete(_ key: BlobKey) { store.delete(key) }
  package func list(_ shelf: BlobShelf) -> [BlobKey] { store.list(shelf) }
  package func reserve(_ size: Int, as key: BlobKey) -> Bool { store.reserve(size, as: key) }
  package func setAside(_ key: BlobKey, at time: Timestamp) -> Bool { store.setAside(key, at: time) }
  package func removeSetAside(at now: Timestamp) -> Int { store.removeSetAside(at: now) }
}
