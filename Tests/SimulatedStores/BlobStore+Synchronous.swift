package import BlobStore
internal import Dispatch
internal import Synchronization
package import TransferModel

// Synchronous variants of the calls of blob stores, drafts and readers, for tests.

private final class Answer<Value: Sendable>: Sendable {
  private let answer = Mutex<Value?>(nil)
  private let isHere = DispatchSemaphore(value: 0)

  func come(_ value: Value) {
    answer.withLock { $0 = value }
    isHere.signal()
  }

  func wait() -> Value {
    while true {
      isHere.wait()
      if let value = answer.withLock({ $0 }) { return value }
    }
  }
}

private func answer<Value: Sendable>(
  _ call: (@escaping BlobCompletion<Value>) -> Void
) throws(BlobError) -> Value {
  let answer = Answer<Result<Value, BlobError>>()
  call { answer.come($0) }
  return try answer.wait().get()
}

extension BlobStore {
  package func create(_ key: BlobKey) throws(BlobError) -> any BlobDraft { try answer { create(key, $0) } }
  package func reopen(_ key: BlobKey, at offset: Int64) throws(BlobError) -> any BlobDraft {
    try answer { reopen(key, at: offset, $0) }
  }
  package func open(_ key: BlobKey) throws(BlobError) -> any BlobReader { try answer { open(key, $0) } }
  package func size(of key: BlobKey) -> Int64? { try? answer { size(of: key, $0) } }
  package func alias(_ key: BlobKey, as other: BlobKey) throws(BlobError) {
    try answer { alias(key, as: other, $0) }
  }
  package func claim(_ key: BlobKey, as draft: BlobKey, size: Int64) throws(BlobError) {
    try answer { claim(key, as: draft, size: size, $0) }
  }
  @discardableResult
  package func move(_ key: BlobKey, to other: BlobKey) -> Bool {
    (try? answer { move(key, to: other, $0) }) != nil
  }
  package func delete(_ key: BlobKey) { try? answer { delete(key, $0) } }
  package func list(_ shelf: BlobCategory) -> [BlobKey] {
    let keys = Keys()
    try? answer { list(shelf, { page in keys.all.withLock { $0 += page } }, $0) }
    return keys.all.withLock { $0 }
  }
  package func setAside(_ key: BlobKey, at time: Timestamp) -> Bool {
    guard let quarantine else { return false }
    return (try? answer { quarantine.moveToQuarantine(key, at: time, $0) }) != nil
  }
  package func removeSetAside(at now: Timestamp) -> Int {
    guard let quarantine else { return 0 }
    return (try? answer { quarantine.removeExpired(at: now, $0) }) ?? 0
  }
}

private final class Keys: Sendable {
  let all = Mutex<[BlobKey]>([])
}

extension BlobDraft {
  package func write(_ chunks: [[UInt8]], at offset: Int64) throws(BlobError) {
    var offset = offset
    for chunk in chunks {
      try answer { write(chunk, at: offset, $0) }
      offset += Int64(chunk.count)
    }
  }
  package func commit(as key: BlobKey, size: Int64, sha256: String) throws(BlobError) {
    try answer { commit(as: key, size: size, sha256: sha256, $0) }
  }
  package func discard() {
    try? answer { (done: @escaping BlobCompletion<Void>) in discard { done(.success(())) } }
  }
}

extension BlobReader {
  /// Returns at most `maximum` bytes from `offset` on, fewer at the end; `nil` after an error.
  package func wait(at offset: Int64, maximum: Int) -> [UInt8]? {
    var all: [UInt8] = []
    while all.count < maximum {
      let place = offset + Int64(all.count)
      switch read(at: place, maximum: maximum - all.count) {
      case .bytes(let bytes): all += bytes
      case .end: return all
      case .failed: return nil
      case .notCached:
        do throws(BlobError) { try answer { fetch(at: place, count: maximum - all.count, $0) } } catch {
          return nil
        }
      }
    }
    return all
  }
}
