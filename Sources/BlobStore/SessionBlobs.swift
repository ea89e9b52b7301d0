internal import CLinux
internal import EventLoop
internal import Glibc
package import TransferModel

/// The blobs of one ephemeral session: files in memory, which leave nothing on a disk.
package final class SessionBlobs: BlobStore {
  private let files: MemoryFiles
  private let session: SessionID

  package init(_ files: MemoryFiles, of session: SessionID) {
    self.files = files
    self.session = session
  }

  package var isDurable: Bool { false }

  package func create(_ key: BlobKey) throws(BlobError) -> any BlobDraft {
    let descriptor = files.create(key.description, of: session)
    guard descriptor >= 0 else { throw .last("open") }
    return FileDraft(key, in: .memory(self), descriptor)
  }

  package func reopen(_ key: BlobKey, at offset: Int64) throws(BlobError) -> any BlobDraft {
    let draft = FileDraft(key, in: .memory(self), try descriptor(of: key))
    guard files.truncate(key.description, of: session, to: offset) else { throw .last("open") }
    return draft
  }

  package func open(_ key: BlobKey) throws(BlobError) -> BlobReader {
    BlobReader(descriptor: try descriptor(of: key))
  }

  private func descriptor(of key: BlobKey) throws(BlobError) -> Int32 {
    let descriptor = files.open(key.description, of: session)
    guard descriptor >= 0 else { throw BlobError("open", ENOENT) }
    return descriptor
  }

  package func size(of key: BlobKey) -> Int64? { files.size(key.description, of: session) }

  package func alias(_ key: BlobKey, as other: BlobKey) throws(BlobError) {
    guard files.alias(key.description, as: other.description, of: session) else {
      throw BlobError("link", size(of: key) == nil ? ENOENT : EDQUOT)
    }
  }

  package func take(_ key: BlobKey, as draft: BlobKey, size: Int64) throws(BlobError) {
    if let refusal = key.refusal(to: draft) { throw refusal }
    guard let found = self.size(of: key) else { throw BlobError("claim", ENOENT) }
    guard found >= size else { throw BlobError(.torn, "claim: \(found) bytes are there in place of \(size)") }
    guard move(key, to: draft) else { throw BlobError("claim", ENOENT) }
  }

  package func move(_ key: BlobKey, to other: BlobKey) -> Bool {
    files.rename(key.description, to: other.description, of: session)
  }

  package func delete(_ key: BlobKey) { files.remove(key.description, of: session) }

  package func list(_ shelf: BlobShelf) -> [BlobKey] {
    files.names(of: session).compactMap { BlobKey($0) }.filter { ($0.task != nil) == (shelf == .tasks) }
  }

  package func reserve(_ size: Int, as key: BlobKey) -> Bool {
    files.reserve(Int64(size), as: key.description, of: session)
  }

  func grow(_ key: BlobKey, by count: Int) -> Bool {
    files.grow(key.description, of: session, by: Int64(count))
  }
}
