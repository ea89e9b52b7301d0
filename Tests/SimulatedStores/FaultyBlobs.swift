package import BlobStore
internal import Synchronization
package import TransferModel

/// A blob store whose calls fail or block if the test says so. It has no local files.
package final class FaultyBlobs: BlobStore {
  package enum Call: Sendable, CaseIterable {
    case create, reopen, write, commit, open, alias, claim
  }
  /// Called before each call. A result other than `nil` replaces the call's result.
  package typealias Fault = @Sendable (Call, BlobKey) -> BlobError?

  private let store: any BlobStore
  private struct State {
    var fault: Fault?
  }
  private let state = Mutex(State())

  package init(_ store: any BlobStore) { self.store = store }

  /// - Parameter fault: the fault to inject; `nil` for none.
  package func fail(_ fault: Fault?) { state.withLock { $0.fault = fault } }

  /// Calls `done` with the injected fault. Returns `false` if there is none.
  fileprivate func fails<Value>(_ call: Call, _ key: BlobKey, _ done: @escaping BlobCompletion<Value>) -> Bool
  {
    guard let error = state.withLock({ $0 }).fault?(call, key) else { return false }
    done(.failure(error))
    return true
  }

  private final class Draft: BlobDraft {
    private let key: BlobKey
    private let draft: any BlobDraft
    private let store: FaultyBlobs

    init(_ key: BlobKey, _ draft: any BlobDraft, _ store: FaultyBlobs) {
      (self.key, self.draft, self.store) = (key, draft, store)
    }

    func write(_ bytes: [UInt8], at offset: Int64, _ done: @escaping BlobCompletion<Void>) {
      if !store.fails(.write, key, done) { draft.write(bytes, at: offset, done) }
    }
    func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobCompletion<Void>) {
      if !store.fails(.commit, self.key, done) { draft.commit(as: key, size: size, sha256: sha256, done) }
    }
    func reader() -> (any BlobReader)? { draft.reader() }
    func discard(_ done: @escaping @Sendable () -> Void) { draft.discard(done) }
  }

  package var isDurable: Bool { store.isDurable }
  package var quarantine: (any BlobQuarantine)? { store.quarantine }
  package var memoryQuota: (any MemoryQuota)? { store.memoryQuota }

  package func create(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobDraft>) {
    guard !fails(.create, key, done) else { return }
    store.create(key) { [self] in done($0.map { Draft(key, $0, self) }) }
  }
  package func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobCompletion<any BlobDraft>) {
    guard !fails(.reopen, key, done) else { return }
    store.reopen(key, at: offset) { [self] in done($0.map { Draft(key, $0, self) }) }
  }
  package func open(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobReader>) {
    if !fails(.open, key, done) { store.open(key, done) }
  }
  package func size(of key: BlobKey, _ done: @escaping BlobCompletion<Int64>) { store.size(of: key, done) }
  package func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    if !fails(.alias, key, done) { store.alias(key, as: other, done) }
  }
  package func claim(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobCompletion<Void>) {
    if !fails(.claim, key, done) { store.claim(key, as: draft, size: size, done) }
  }
  package func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    store.move(key, to: other, done)
  }
  package func delete(_ key: BlobKey, _ done: @escaping BlobCompletion<Void>) { store.delete(key, done) }
  package func list(
    _ shelf: BlobCategory, _ page: @escaping @Sendable ([BlobKey]) -> Void,
    _ done: @escaping BlobCompletion<Void>
  ) { store.list(shelf, page, done) }
}
