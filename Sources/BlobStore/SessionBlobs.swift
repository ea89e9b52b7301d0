internal import CLinux
internal import EventLoop
internal import Glibc
package import TransferModel

/// The blobs of one ephemeral session: files in memory, which write nothing to disk.
package final class SessionBlobs: BlobStore, MemoryQuota {
  private let files: MemoryFiles
  private let session: SessionID

  package init(_ files: MemoryFiles, of session: SessionID) {
    self.files = files
    self.session = session
  }

  package var isDurable: Bool { false }
  package var memoryQuota: (any MemoryQuota)? { self }

  package func create(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobDraft>) {
    let descriptor = files.create(key.description, of: session)
    guard descriptor >= 0 else { return done(.failure(.last("open"))) }
    done(.success(FileDraft(key, in: .memory(self), descriptor)))
  }

  package func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobCompletion<any BlobDraft>) {
    done(
      Result { () throws(BlobError) in
        let draft = FileDraft(key, in: .memory(self), try descriptor(of: key))
        guard files.truncate(key.description, of: session, to: offset) else { throw .last("open") }
        return draft
      })
  }

  package func open(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobReader>) {
    done(Result { () throws(BlobError) in FileReader(descriptor: try descriptor(of: key)) })
  }

  private func descriptor(of key: BlobKey) throws(BlobError) -> Int32 {
    let descriptor = files.open(key.description, of: session)
    guard descriptor >= 0 else { throw .last("open") }
    return descriptor
  }

  package func size(of key: BlobKey, _ done: @escaping BlobCompletion<Int64>) {
    done(size(of: key).map { .success($0) } ?? .failure(BlobError("size", ENOENT)))
  }

  private func size(of key: BlobKey) -> Int64? { files.size(key.description, of: session) }

  package func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    let isDone = files.alias(key.description, as: other.description, of: session)
    done(isDone ? .success(()) : .failure(.last("link")))
  }

  package func claim(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobCompletion<Void>) {
    done(
      Result { () throws(BlobError) in
        if let refusal = key.claimError(to: draft) { throw refusal }
        let found = self.size(of: key)
        guard let found, found < size else { return try rename(key, to: draft, "claim") }
        throw BlobError(.incomplete, "claim: the file has \(found) bytes, not \(size)")
      })
  }

  package func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    done(Result { () throws(BlobError) in try rename(key, to: other, "move") })
  }

  func rename(_ key: BlobKey, to other: BlobKey, _ operation: String) throws(BlobError) {
    guard files.rename(key.description, to: other.description, of: session) else {
      throw BlobError(operation, ENOENT)
    }
  }

  package func delete(_ key: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    remove(key)
    done(.success(()))
  }

  func remove(_ key: BlobKey) { files.remove(key.description, of: session) }

  package func list(
    _ shelf: BlobCategory, _ page: @escaping @Sendable ([BlobKey]) -> Void,
    _ done: @escaping BlobCompletion<Void>
  ) {
    page(files.names(of: session).compactMap { BlobKey($0) }.filter { ($0.task != nil) == (shelf == .tasks) })
    done(.success(()))
  }

  package func reserve(_ size: Int, as key: BlobKey) -> Bool {
    files.reserve(Int64(size), as: key.description, of: session)
  }

  func grow(_ key: BlobKey, by count: Int) -> Bool {
    files.grow(key.description, of: session, by: Int64(count))
  }
}
