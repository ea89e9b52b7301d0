package import BlobStore
internal import Crypto
internal import Synchronization
package import TransferModel

/// Blobs in memory, for simulations and tests. They outlive the processes that share them. `crash` decides how much of uncommitted drafts
/// stays.
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
    func fetch(at offset: Int64, count: Int, _ done: @escaping BlobCompletion<Void>) { done(.success(())) }
    func cancel() {}
  }
  private struct State {
    var files: [BlobKey: File] = [:]
    var aside: [(key: BlobKey, time: Timestamp)] = []
  }

  /// The limit of the size of all blobs together, in bytes.
  private let capacity: Int
  private let state = Mutex(State())

  package init(capacity: Int = .max) { self.capacity = capacity }

  package var quarantine: (any BlobQuarantine)? { self }

  private func file(_ key: BlobKey, _ operation: String) throws(BlobError) -> File {
    guard let file = state.withLock({ $0.files[key] }) else {
      throw BlobError(.notFound, "\(operation): there is no \(key)")
    }
    return file
  }

  // MARK: Drafts

  package func create(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobDraft>) {
    let file = File()
    state.withLock { $0.files[key] = file }
    done(.success(Draft(key, file, self)))
  }

  package func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobCompletion<any BlobDraft>) {
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

    func write(_ new: [UInt8], at offset: Int64, _ done: @escaping BlobCompletion<Void>) {
      guard store.hasRoom(for: new.count) else {
        return done(.failure(BlobError(.full, "write: the store is full")))
      }
      file.bytes.withLock { bytes in
        let (start, end) = (Int(offset), Int(offset) + new.count)
        bytes += Array(repeating: 0, count: max(0, end - bytes.count))
        bytes.replaceSubrange(start..<end, with: new)
      }
      done(.success(()))
    }

    func reader() -> (any BlobReader)? { Reader(file) }

    func commit(as key: BlobKey, size: Int64, sha256: String, _ done: @escaping BlobCompletion<Void>) {
      let bytes = file.bytes.withLock { $0 }
      guard Int64(bytes.count) == size, Hexadecimal.text(Array(SHA256.hash(data: bytes))) == sha256 else {
        return done(
          .failure(
            BlobError(
              .incomplete, "finish: the file has \(bytes.count) bytes, or its bytes differ from the digest")))
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
      guard state.files[draft] === file else { return BlobError(.notFound, "finish: there is no \(draft)") }
      guard key.isWriterExclusive || state.files[key] == nil else {
        return BlobError(.fencedOff, "finish: \(key) exists already")
      }
      state.files[draft] = nil
      state.files[key] = file
      return nil
    }
    if let failure { throw failure }
  }

  /// Simulates a crash of the machine or of all processes, which truncates drafts.
  /// - Parameter left: returns how many bytes of a draft stay, at most its size; `nil` to delete the draft.
  package func crash(_ left: (BlobKey, Int) -> Int?) {
    state.withLock { state in
      for (key, file) in state.files where key.part == .draft {
        let bytes = file.bytes.withLock { $0 }
        // A process that still has the old draft open writes to an unused copy.
        state.files[key] = left(key, bytes.count).map { File(Array(bytes.prefix($0))) }
      }
    }
  }

  // MARK: Existing blobs

  package func open(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobReader>) {
    done(Result { () throws(BlobError) in Reader(try file(key, "open")) })
  }

  package func size(of key: BlobKey, _ done: @escaping BlobCompletion<Int64>) {
    done(Result { () throws(BlobError) in Int64(try file(key, "size").count) })
  }

  package func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    done(
      Result { () throws(BlobError) in
        let file = try file(key, "link")
        let isNew = state.withLock { state in
          guard state.files[other] == nil else { return false }
          state.files[other] = file
          return true
        }
        if !isNew { throw BlobError(.fencedOff, "link: \(other) exists already") }
      })
  }

  package func claim(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobCompletion<Void>) {
    done(Result { () throws(BlobError) in try claim(key, as: draft, size: size) })
  }

  private func claim(_ key: BlobKey, as draft: BlobKey, size: Int64) throws(BlobError) {
    if let refusal = key.claimError(to: draft) { throw refusal }
    let file = try file(key, "claim")
    let bytes = file.bytes.withLock { $0 }
    guard Int64(bytes.count) >= size else {
      throw BlobError(.incomplete, "claim: the file has \(bytes.count) bytes, not \(size)")
    }
    let isFirst = state.withLock { state in
      guard state.files[key] === file else { return false }
      state.files[key] = nil
      // A process that still has the old blob open does not reach the new draft.
      state.files[draft] = File(bytes)
      return true
    }
    if !isFirst { throw BlobError(.notFound, "claim: there is no \(key)") }
  }

  package func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    let isMoved = state.withLock { state in
      guard let file = state.files.removeValue(forKey: key) else { return false }
      state.files[other] = file
      return true
    }
    done(isMoved ? .success(()) : .failure(BlobError(.notFound, "move: there is no \(key)")))
  }

  package func delete(_ key: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    state.withLock { $0.files[key] = nil }
    done(.success(()))
  }

  /// Lists the keys, one per page.
  package func list(
    _ shelf: BlobCategory, _ page: @escaping @Sendable ([BlobKey]) -> Void,
    _ done: @escaping BlobCompletion<Void>
  ) {
    let keys = state.withLock { Array($0.files.keys) }
    for key in keys.filter({ ($0.task != nil) == (shelf == .tasks) }).sorted(by: {
      $0.description < $1.description
    }) { page([key]) }
    done(.success(()))
  }

  package func moveToQuarantine(_ key: BlobKey, at time: Timestamp, _ done: @escaping BlobCompletion<Void>) {
    let isThere = state.withLock { state in
      guard state.files.removeValue(forKey: key) != nil else { return false }
      state.aside.append((key, time))
      return true
    }
    done(isThere ? .success(()) : .failure(BlobError(.notFound, "quarantine: there is no \(key)")))
  }

  package func removeExpired(at now: Timestamp, _ done: @escaping BlobCompletion<Int>) {
    done(
      .success(
        state.withLock { state in
          let count = state.aside.count
          state.aside.removeAll { now.since($0.time) > QuarantineDirectory.retention }
          return count - state.aside.count
        }))
  }
}
