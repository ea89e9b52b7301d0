package import BlobStore
internal import Synchronization
package import TransferModel

/// A blob store that completes calls later, as a network store does. The test decides when, in which order and on which thread. Another
/// store does the work. It has no local files.
package final class SlowBlobs: BlobStore {
  package enum Call: Sendable, CaseIterable {
    case create, reopen, write, commit, discard, open, fetch, size, alias, take, move, delete, list, setAside,
      removeSetAside
  }

  /// A call whose result is pending.
  package final class PendingCall: Sendable {
    package let call: Call
    package let key: BlobKey?
    private struct Ways {
      let perform: @Sendable () -> Void
      let fail: @Sendable (BlobError) -> Void
    }
    private let ways: Mutex<Ways?>

    fileprivate init(
      _ call: Call, _ key: BlobKey?, perform: @escaping @Sendable () -> Void,
      fail: @escaping @Sendable (BlobError) -> Void
    ) {
      (self.call, self.key) = (call, key)
      ways = Mutex(Ways(perform: perform, fail: fail))
    }

    private func take() -> Ways? {
      ways.withLock { ways in
        defer { ways = nil }
        return ways
      }
    }

    /// Performs and completes the call. Returns `false` if the call has been completed or cancelled already.
    @discardableResult
    package func answer() -> Bool {
      let ways = take()
      ways?.perform()
      return ways != nil
    }

    @discardableResult
    package func fail(_ error: BlobError) -> Bool {
      let ways = take()
      ways?.fail(error)
      return ways != nil
    }
  }

  private let store: any BlobStore
  /// Called with each call when it is made.
  private let receive: @Sendable (PendingCall) -> Void
  private let isClosed = Mutex(false)
  private let refused = Mutex<Set<Call>>([])

  package init(_ store: any BlobStore, _ receive: @escaping @Sendable (PendingCall) -> Void) {
    self.store = store
    self.receive = receive
  }

  /// Fails all further and all pending calls, as if their process were dead.
  package func close() { isClosed.withLock { $0 = true } }

  /// Fails these calls at once from now on, as if the network were down; all others work.
  package func refuse(_ calls: Call...) { refused.withLock { $0 = Set(calls) } }

  @discardableResult
  fileprivate func wait<Value>(
    _ call: Call, _ key: BlobKey?, _ done: @escaping BlobCompletion<Value>,
    _ perform: @escaping @Sendable (@escaping BlobCompletion<Value>) -> Void
  ) -> PendingCall {
    let waiting = PendingCall(call, key) { [self] in
      if isClosed.withLock({ $0 }) {
        done(.failure(BlobError(.refused, "the process is dead")))
      } else {
        perform(done)
      }
    } fail: {
      done(.failure($0))
    }
    if refused.withLock({ $0.contains(call) }) {
      waiting.fail(BlobError(.refused, "no network"))
    } else {
      receive(waiting)
    }
    return waiting
  }

  private static let cancelled = BlobError(.cancelled, "cancelled")

  private final class Draft: BlobDraft {
    private let key: BlobKey
    private let draft: any BlobDraft
    private let store: SlowBlobs
    private let onItsWay = Mutex<PendingCall?>(nil)

    init(_ key: BlobKey, _ draft: any BlobDraft, _ store: SlowBlobs) {
      (self.key, self.draft, self.store) = (key, draft, store)
    }

    func write(_ bytes: [UInt8], at offset: Int64, _ done: @escaping BlobCompletion<Void>) {
      let waiting = store.wait(.write, key, done) { [draft] in draft.write(bytes, at: offset, $0) }
      onItsWay.withLock { $0 = waiting }
    }
    func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobCompletion<Void>) {
      let waiting = store.wait(.commit, key, done) { [draft] in
        draft.commit(as: key, size: size, sha256: sha256, $0)
      }
      onItsWay.withLock { $0 = waiting }
    }
    func reader() -> (any BlobReader)? { draft.reader().map { Reader($0, key, store) } }
    func discard(_ done: @escaping @Sendable () -> Void) {
      onItsWay.withLock { $0 }?.fail(SlowBlobs.cancelled)
      let ended: BlobCompletion<Void> = { _ in done() }
      store.wait(.discard, key, ended) { [draft] ended in draft.discard { ended(.success(())) } }
    }
  }

  /// A reader that keeps the bytes of its last fetch in memory.
  private final class Reader: BlobReader {
    private struct Window {
      var offset: Int64 = 0
      var bytes: [UInt8] = []
      /// Whether the blob ends after these bytes.
      var isLast = false
      var hasFailed = false
    }
    private let key: BlobKey
    private let reader: any BlobReader
    private let store: SlowBlobs
    private let window = Mutex(Window())
    private let onItsWay = Mutex<PendingCall?>(nil)

    init(_ reader: any BlobReader, _ key: BlobKey, _ store: SlowBlobs) {
      (self.reader, self.key, self.store) = (reader, key, store)
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int> {
      window.withLock { window in
        let start = offset - window.offset
        if window.hasFailed, start == 0 { return .failed }
        guard start >= 0, start <= window.bytes.count else { return .notCached }
        let found = window.bytes[Int(start)...].prefix(buffer.count)
        if found.isEmpty {
          // A draft may have more bytes by now.
          defer { window = Window() }
          return window.isLast ? .end : .notCached
        }
        unsafe buffer.copyBytes(from: found)
        return .bytes(found.count)
      }
    }

    func fetch(at offset: Int64, count: Int, _ done: @escaping BlobCompletion<Void>) {
      let waiting = store.wait(.fetch, key) { [self] (fetched: Result<[UInt8], BlobError>) in
        switch fetched {
        case .success(let bytes):
          window.withLock {
            $0 = Window(offset: offset, bytes: bytes, isLast: bytes.count < count)
          }
        case .failure(let error) where error.reason != .cancelled:
          window.withLock { $0 = Window(offset: offset, hasFailed: true) }
        case .failure: break
        }
        done(fetched.map { _ in })
      } _: { [reader] fetched in
        let bytes = reader.wait(at: offset, maximum: count)
        fetched(bytes.map { .success($0) } ?? .failure(BlobError(.refused, "fetch")))
      }
      onItsWay.withLock { $0 = waiting }
    }

    func cancel() { onItsWay.withLock { $0 }?.fail(SlowBlobs.cancelled) }
  }

  private final class Quarantine: BlobQuarantine {
    private let quarantine: any BlobQuarantine
    private let store: SlowBlobs

    init(_ quarantine: any BlobQuarantine, _ store: SlowBlobs) {
      (self.quarantine, self.store) = (quarantine, store)
    }

    func moveToQuarantine(_ key: BlobKey, at time: Timestamp, _ done: @escaping BlobCompletion<Void>) {
      store.wait(.setAside, key, done) { [quarantine] in quarantine.moveToQuarantine(key, at: time, $0) }
    }
    func removeExpired(at now: Timestamp, _ done: @escaping BlobCompletion<Int>) {
      store.wait(.removeSetAside, nil, done) { [quarantine] in quarantine.removeExpired(at: now, $0) }
    }
  }

  package var isDurable: Bool { store.isDurable }
  package var memoryQuota: (any MemoryQuota)? { store.memoryQuota }
  package var quarantine: (any BlobQuarantine)? { store.quarantine.map { Quarantine($0, self) } }

  package func create(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobDraft>) {
    wait(.create, key, done) { [self] done in
      store.create(key) { [self] in done($0.map { Draft(key, $0, self) }) }
    }
  }
  package func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobCompletion<any BlobDraft>) {
    wait(.reopen, key, done) { [self] done in
      store.reopen(key, at: offset) { [self] in done($0.map { Draft(key, $0, self) }) }
    }
  }
  package func open(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobReader>) {
    wait(.open, key, done) { [self] done in
      store.open(key) { [self] in done($0.map { Reader($0, key, self) }) }
    }
  }
  package func size(of key: BlobKey, _ done: @escaping BlobCompletion<Int64>) {
    wait(.size, key, done) { [store] in store.size(of: key, $0) }
  }
  package func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    wait(.alias, key, done) { [store] in store.alias(key, as: other, $0) }
  }
  package func claim(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobCompletion<Void>) {
    wait(.take, key, done) { [store] in store.claim(key, as: draft, size: size, $0) }
  }
  package func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    wait(.move, key, done) { [store] in store.move(key, to: other, $0) }
  }
  package func delete(_ key: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    wait(.delete, key, done) { [store] in store.delete(key, $0) }
  }
  package func list(
    _ shelf: BlobCategory, _ page: @escaping @Sendable ([BlobKey]) -> Void,
    _ done: @escaping BlobCompletion<Void>
  ) {
    wait(.list, nil, done) { [store] in store.list(shelf, page, $0) }
  }
}
