internal import CLinux
package import EventLoop
internal import Glibc
package import TransferModel

/// Blobs as files in two directories: one for the blobs of tasks, one for stored files. Each file is named by its key.
package final class DirectoryBlobs: LocalBlobs, BlobQuarantine {
  private let bodies: String
  private let files: String

  /// Uses two directories, which must be on the same file system.
  package init(bodies: String, files: String) {
    self.bodies = bodies
    self.files = files
  }

  package var local: (any LocalBlobs)? { self }
  package var quarantine: (any BlobQuarantine)? { self }

  /// Creates missing directories.
  package func prepare() throws(UsableDirectory.Fault) {
    for directory in [bodies, files] { try UsableDirectory.prepare(directory) }
  }

  /// Whether the directories contain files; `false` if they do not exist.
  package var containsBlobs: Bool {
    [bodies, files].contains { directory in
      var found = false
      Disk.forEachName(in: directory) { name in
        // Directories that contain no blobs.
        found = !["lost+found", QuarantineDirectory.name].contains(name)
        return !found
      }
      return found
    }
  }

  private func directory(_ shelf: BlobCategory) -> String { shelf == .tasks ? bodies : files }
  private func directory(of key: BlobKey) -> String { key.task == nil ? files : bodies }
  private func path(_ key: BlobKey) -> String { "\(directory(of: key))/\(key)" }

  // MARK: Drafts

  package func create(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobDraft>) {
    done(Result { () throws(BlobError) in try create(key) })
  }

  private func create(_ key: BlobKey) throws(BlobError) -> FileDraft {
    let path = path(key)
    let flags = O_RDWR | O_CREAT | O_EXCL
    // Create a new file. The old file may have other names, under which it must stay complete.
    var descriptor = Descriptors.rejectingReserved(Disk.open(path, flags))
    if descriptor < 0, errno == EEXIST, Disk.unlink(path) == 0 {
      descriptor = Descriptors.rejectingReserved(Disk.open(path, flags))
    }
    guard descriptor >= 0 else { throw .last("open") }
    return FileDraft(key, in: .directory(self), descriptor)
  }

  package func reopen(_ key: BlobKey, at offset: Int64, _ done: @escaping BlobCompletion<any BlobDraft>) {
    done(Result { () throws(BlobError) in try reopen(key, at: offset) })
  }

  private func reopen(_ key: BlobKey, at offset: Int64) throws(BlobError) -> FileDraft {
    let descriptor = Disk.open(path(key), O_RDWR)
    guard descriptor >= 0 else { throw .last("open") }
    let draft = FileDraft(key, in: .directory(self), descriptor)
    guard Disk.truncate(descriptor, to: offset) == 0 else { throw .last("open") }
    return draft
  }

  package func adopt(_ file: LocalFile, as key: BlobKey, size: Int64) throws(BlobError) -> any BlobDraft {
    let path = path(key)
    if Disk.link(file.path, path) != 0 {
      guard errno == EEXIST, Disk.unlink(path) == 0, Disk.link(file.path, path) == 0 else {
        throw .last("link")
      }
    }
    let descriptor = Disk.open(path, O_RDONLY)
    guard descriptor >= 0 else { throw .last("open") }
    let draft = FileDraft(key, in: .directory(self), descriptor, knownSize: size)
    let found = Disk.size(of: descriptor)
    guard found == size else {
      throw BlobError(.incomplete, "link: the file has \(found ?? -1) bytes, not \(size)")
    }
    return draft
  }

  func commit(_ descriptor: Int32, _ draft: BlobKey, as key: BlobKey) throws(BlobError) {
    let (path, final) = (path(draft), path(key))
    guard Disk.syncData(descriptor) == 0 else { throw .last("finish") }
    let isRenamed = key.isWriterExclusive ? Disk.rename(path, final) : Disk.renameNew(path, final)
    guard isRenamed == 0 else { throw .last("finish") }
    Disk.syncParent(of: final)
  }

  // MARK: Committed blobs

  package func open(_ key: BlobKey, _ done: @escaping BlobCompletion<any BlobReader>) {
    let descriptor = Disk.open(path(key), O_RDONLY)
    done(descriptor >= 0 ? .success(FileReader(descriptor: descriptor)) : .failure(.last("open")))
  }

  package func size(of key: BlobKey, _ done: @escaping BlobCompletion<Int64>) {
    done(Disk.size(path(key)).map { .success($0) } ?? .failure(.last("size")))
  }

  package func localFile(of key: BlobKey) -> LocalFile { LocalFile(path: path(key)) }

  package func alias(_ key: BlobKey, as other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    let path = path(other)
    guard Disk.link(self.path(key), path) == 0 else { return done(.failure(.last("link"))) }
    Disk.syncParent(of: path)
    done(.success(()))
  }

  package func claim(_ key: BlobKey, as draft: BlobKey, size: Int64, _ done: @escaping BlobCompletion<Void>) {
    done(Result { () throws(BlobError) in try claim(key, as: draft, size: size) })
  }

  private func claim(_ key: BlobKey, as draft: BlobKey, size: Int64) throws(BlobError) {
    if let refusal = key.claimError(to: draft) { throw refusal }
    guard let found = Disk.size(path(key)) else { throw .last("claim") }
    guard found >= size else {
      throw BlobError(.incomplete, "claim: the file has \(found) bytes, not \(size)")
    }
    guard Disk.rename(path(key), path(draft)) == 0 else { throw .last("claim") }
    guard key.stamp.epoch != draft.stamp.epoch else { return }
    let descriptor = Disk.open(path(draft), O_RDWR)
    guard descriptor >= 0 else {
      let error = BlobError.last("claim")
      _ = Disk.rename(path(draft), path(key))
      throw error
    }
    let source = FileReader(descriptor: descriptor)
    if clinux_is_open_once(descriptor) != 0 { return }
    // An earlier owner may still have the file open for writing. In that case, copy the bytes to a new file.
    guard Disk.rename(path(draft), path(key)) == 0 else { throw .last("claim") }
    do throws(BlobError) { try copy(source, size, to: draft) } catch {
      remove(draft)
      throw error
    }
    remove(key)
  }

  private func copy(_ source: FileReader, _ size: Int64, to draft: BlobKey) throws(BlobError) {
    let copy = try create(draft)
    var offset: Int64 = 0
    while offset < size {
      let room = Int(min(size - offset, 1 << 20))
      let bytes = try source.bytes(at: offset, maximum: room)
      guard !bytes.isEmpty else { throw BlobError(.incomplete, "claim: the file ends at \(offset)") }
      try copy.write(bytes, at: offset)
      offset += Int64(bytes.count)
    }
  }

  package func move(_ key: BlobKey, to other: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    let isMoved = Disk.rename(path(key), path(other)) == 0
    done(isMoved ? .success(()) : .failure(.last("move")))
  }

  package func delete(_ key: BlobKey, _ done: @escaping BlobCompletion<Void>) {
    let isDeleted = remove(key) || errno == ENOENT
    done(isDeleted ? .success(()) : .failure(.last("delete")))
  }

  /// Deletes a blob.
  /// - Returns: `false` with errno if that fails.
  @discardableResult
  func remove(_ key: BlobKey) -> Bool { Disk.unlink(path(key)) == 0 }

  package func list(
    _ shelf: BlobCategory, _ page: @escaping @Sendable ([BlobKey]) -> Void,
    _ done: @escaping BlobCompletion<Void>
  ) {
    var keys: [BlobKey] = []
    let error = Disk.forEachName(in: directory(shelf)) { name in
      if let key = BlobKey(name), (key.task != nil) == (shelf == .tasks) { keys.append(key) }
      return true
    }
    guard error == 0 else { return done(.failure(BlobError("list \(directory(shelf))", error))) }
    page(keys)
    done(.success(()))
  }

  // MARK: Quarantine

  package func moveToQuarantine(_ key: BlobKey, at time: Timestamp, _ done: @escaping BlobCompletion<Void>) {
    let place = QuarantineDirectory(in: directory(of: key)).move(key.description, at: time)
    done(place != nil ? .success(()) : .failure(.last("quarantine")))
  }

  package func removeExpired(at now: Timestamp, _ done: @escaping BlobCompletion<Int>) {
    done(.success([bodies, files].reduce(0) { $0 + QuarantineDirectory(in: $1).removeExpired(at: now) }))
  }
}
