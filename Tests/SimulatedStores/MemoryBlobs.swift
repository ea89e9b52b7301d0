package import BlobStore
internal import Crypto
internal import Synchronization
package import TransferModel

/// Blobs in memory, for a world that is simulated, and for tests. They outlive the processes that share them; of what was not committed
/// `crash` decides.
package final class MemoryBlobs: BlobStore, BlobQuarantine {
  fileprivate final class File: Sendable {
    let bytes: Mutex<[UInt8]>
    init(_ bytes: [UInt8] = []) { self.bytes = Mutex(bytes) }

    var count: Int { bytes.withLock { $0.count } }

    func read(_ offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int> {
      bytes.withLock { bytes in
        let found = bytes.dropFirst(Int(clamping: offset)).prefix(buffer.count)
        unsafe buffer.copyBytes(from: found)
        return found.isEmpty ? .end : .bytes(found.count)
      }
    }
  }
  private final class Reader: BlobReader {
    private let file: File
    init(_ file: File) { self.file = file }
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> BlobRead<Int> {
      unsafe file.read(offset, into: buffer)
    }
    func fetch(at offset: Int64, count: Int, _ done: @escaping BlobDone<Void>) { done(.success(())) }
    func cancel() {}
  }
  private struct State {
    var files: [BlobKey: File] = [:]
    var aside: [(key: BlobKey, time: Timestamp)] = []
  }

  /// Bytes of all of them together.
  private let capacity: Int
  private let state = Mutex(State())

  package init(capacity: Int = .max) { self.capacity = capacity }

  package var quarantine: (any BlobQuarantine)? { self }

  private func file(_ key: BlobKey, _ operation: String) throws(BlobError) -> File {
    guard let file = state.withLock({ $0.files[key] }) else {
      throw BlobError(.gone, "\(operation): there is no \(key)")
    }
    return file
  }

  // MARK: Drafts

  package func create(_ key: BlobKey, _ done: @escaping BlobDone<any BlobDraft>) {
    let file = File()
    state.withLock { $0.files[key] = file }
    done(.success(Draft(key, file, self)))
  }

  package func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobDone<any BlobDraft>) {
    done(
      Result { () throws(BlobError) in
        let file = try file(key, "open")
        file.bytes.withLock { bytes in
          bytes += Array(repeating: 0, count: max(0, Int(offset) - bytes.count))
          bytes.removeLast(bytes.count - Int(offset))
        }
        return Draft(key, file, self)
      })
  }

  private final class Draft: BlobDraft {
    private let key: BlobKey
    private let file: File
    private let store: MemoryBlobs

    init(_ key: BlobKey, _ file: File, _ store: MemoryBlobs) {
      self.key = key
      self.file = file
      self.store = store
    }

    func write(_ new: [UInt8], at offset: Int64, _ done: @escaping BlobDone<Void>) {
      guard store.hasRoom(for: new.count) else {
        return done(.failure(BlobError(.full, "write: no room is left")))
      }
      file.bytes.withLock { bytes in
        let (start, end) = (Int(offset), Int(offset) + new.count)
        bytes += Array(repeating: 0, count: max(0, end - bytes.count))
        bytes.replaceSubrange(start..<end, with: new)
      }
      done(.success(()))
    }

    func reader() -> (any BlobReader)? { Reader(file) }

    func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobDone<Void>) {
      let bytes = file.bytes.withLock { $0 }
      guard Int64(bytes.count) == size, Hexadecimal.text(Array(SHA256.hash(data: bytes))) == sha256 else {
        return done(
          .failure(
            BlobError(
              .torn, "finish: \(bytes.count) bytes are there, or others than those that were digested")))
      }
      done(Result { () throws(BlobError) in try store.commit(self.key, file, as: key) })
    }

    func discard(_ done: @escaping @Sendable () -> Void) {
      store.discard(key, file)
      done()
    }
  }

  private func discard(_ draft: BlobKey, _ file: File) {
    state.withLock { if $0.files[draft] === file { $0.files[draft] = nil } }
  }

  private func hasRoom(for count: Int) -> Bool {
    let used = state.withLock { $0.files.values.reduce(0) { $0 + $1.count } }
    return count <= capacity - used
  }

  private func commit(_ draft: BlobKey, _ file: File, as key: BlobKey) throws(BlobError) {
    let failure: BlobError? = state.withLock { state in
      guard state.files[draft] === file else { return BlobError(.gone, "finish: there is no \(draft)") }
      guard key.isNobodyElses || state.files[key] == nil else {
        return BlobError(.fencedOff, "finish: there is a \(key)")
      }
      state.files[draft] = nil
      state.files[key] = file
      return nil
    }
    if let failure { throw failure }
  }

  /// The machine, or all processes, end: of each draft so many of its bytes are left.
  /// - Parameter left: for a draft and its size, from 0 to that; nil: not even its name is.
  package func crash(_ left: (BlobKey, Int) -> Int?) {
    state.withLock { state in
      for (key, file) in state.files where key.part == .draft {
        let bytes = file.bytes.withLock { $0 }
        // Who still has it open writes to nothing.
        state.files[key] = left(key, bytes.count).map { File(Array(bytes.prefix($0))) }
      }
    }
  }

  // MARK: What is there

  package func open(_ key: BlobKey, _ done: @escaping BlobDone<any BlobReader>) {
    done(Result { () throws(BlobError) in Reader(try file(key, "open")) })
  }

  package func size(of key: BlobKey, _ done: @escaping BlobDone<Int64>) {
    done(Result { () throws(BlobError) in Int64(try file(key, "size").count) })
  }

  package func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobDone<Void>) {
    done(
      Result { () throws(BlobError) in
        let file = try file(key, "link")
        let isNew = state.withLock { state in
          guard state.files[other] == nil else { return false }
          state.files[other] = file
          return true
        }
        if !isNew { throw BlobError(.fencedOff, "link: there is a \(other)") }
      })
  }

  package func take(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobDone<Void>) {
    done(Result { () throws(BlobError) in try take(key, as: draft, size: size) })
  }

  private func take(_ key: BlobKey, as draft: BlobKey, size: Int64) throws(BlobError) {
    if let refusal = key.refusal(to: draft) { throw refusal }
    let file = try file(key, "claim")
    let bytes = file.bytes.withLock { $0 }
    guard Int64(bytes.count) >= size else {
      throw BlobError(.torn, "claim: \(bytes.count) bytes are there in place of \(size)")
    }
    let isFirst = state.withLock { state in
      guard state.files[key] === file else { return false }
      state.files[key] = nil
      // Whoever still has the other open does not reach it.
      state.files[draft] = File(bytes)
      return true
    }
    if !isFirst { throw BlobError(.gone, "claim: there is no \(key)") }
  }

  package func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobDone<Void>) {
    let isMoved = state.withLock { state in
      guard let file = state.files.removeValue(forKey: key) else { return false }
      state.files[other] = file
      return true
    }
    done(isMoved ? .success(()) : .failure(BlobError(.gone, "move: there is no \(key)")))
  }

  package func delete(_ key: BlobKey, _ done: @escaping BlobDone<Void>) {
    state.withLock { $0.files[key] = nil }
    done(.success(()))
  }

  /// Each page has one key.
  package func list(
    _ shelf: BlobShelf, _ page: @escaping @Sendable ([BlobKey]) -> Void, _ done: @escaping BlobDone<Void>
  ) {
    let keys = state.withLock { Array($0.files.keys) }
    for key in keys.filter({ ($0.task != nil) == (shelf == .tasks) }).sorted(by: {
      $0.description < $1.description
    }) { page([key]) }
    done(.success(()))
  }

  package func setAside(_ key: BlobKey, at time: Timestamp, _ done: @escaping BlobDone<Void>) {
    let isThere = state.withLock { state in
      guard state.files.removeValue(forKey: key) != nil else { return false }
      state.aside.append((key, time))
      return true
    }
    done(isThere ? .success(()) : .failure(BlobError(.gone, "set aside: there is no \(key)")))
  }

  package func removeSetAside(at now: Timestamp, _ done: @escaping BlobDone<Int>) {
    done(
      .success(
        state.withLock { state in
          let count = state.aside.count
          state.aside.removeAll { now.since($0.time) > SetAside.retention }
          return count - state.aside.count
        }))
  }
}
