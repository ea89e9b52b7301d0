internal import CLinux
internal import EventLoop
internal import Glibc
package import TransferModel

/// The blobs of one ephemeral session: files in memory, which leave nothing on a disk.
package final class SessionBlobs: BlobStore, BlobRoom {
  private let files: MemoryFiles
  private let session: SessionID

  package init(_ files: MemoryFiles, of session: SessionID) {
    self.files = files
    self.session = session
  }

  package var isDurable: Bool { false }
  package var room: (any BlobRoom)? { self }

  package func create(_ key: BlobKey, _ done: @escaping BlobDone<any BlobDraft>) {
    let descriptor = files.create(key.description, of: session)
    guard descriptor >= 0 else { return done(.failure(.last("open"))) }
    done(.success(FileDraft(key, in: .memory(self), descriptor)))
  }

  package func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobDone<any BlobDraft>) {
    done(
      Result { () throws(BlobError) in
        let draft = FileDraft(key, in: .memory(self), try descriptor(of: key))
        guard files.truncate(key.description, of: session, to: offset) else { throw .last("open") }
        return draft
      })
  }

  package func open(_ key: BlobKey, _ done: @escaping BlobDone<any BlobReader>) {
    done(Result { () throws(BlobError) in FileReader(descriptor: try descriptor(of: key)) })
  }

  private func descriptor(of key: BlobKey) throws(BlobError) -> Int32 {
    let descriptor = files.open(key.description, of: session)
    guard descriptor >= 0 else { throw .last("open") }
    return descriptor
  }

  package func size(of key: BlobKey, _ done: @escaping BlobDone<Int64>) {
    done(size(of: key).map { .success($0) } ?? .failure(BlobError("size", ENOENT)))
  }

  private func size(of key: BlobKey) -> Int64? { files.size(key.description, of: session) }

  package func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobDone<Void>) {
    let isDone = files.alias(key.description, as: other.description, of: session)
    done(isDone ? .success(()) : .failure(.last("link")))
  }

  package func take(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobDone<Void>) {
    done(
      Result { () throws(BlobError) in
        if let refusal = key.refusal(to: draft) { throw refusal }
        let found = self.size(of: key)
        guard let found, found < size else { return try rename(key, to: draft, "claim") }
        throw BlobError(.torn, "claim: \(found) bytes are there in place of \(size)")
      })
  }

  package func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobDone<Void>) {
    done(Result { () throws(BlobError) in try rename(key, to: other, "move") })
  }

  func rename(_ key: BlobKey, to other: BlobKey, _ operation: String) throws(BlobError) {
    guard files.rename(key.description, to: other.description, of: session) else {
      throw BlobError(operation, ENOENT)
    }
  }

  package func delete(_ key: BlobKey, _ done: @escaping BlobDone<Void>) {
    remove(key)
    done(.success(()))
  }

  func remove(_ key: BlobKey) { files.remove(key.description, of: session) }

  package func list(
    _ shelf: BlobShelf, _ page: @escaping @Sendable ([BlobKey]) -> Void, _ done: @escaping BlobDone<Void>
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
