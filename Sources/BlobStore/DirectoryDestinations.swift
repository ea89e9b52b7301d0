internal import CLinux
package import EventLoop
internal import Glibc
internal import Limits
internal import Synchronization
package import TransferModel

/// Destinations in directories of this machine. Ferry follows no symbolic link below an opened directory (openat2(2)), so no link leads
/// out of it, even if another process swaps directories and links meanwhile.
///
/// While a temporary file exists, a symbolic link in the directory `register` names it. Ferry itself never follows these links. They only
/// store paths, so that the next service finds the temporary files of a dead one.
package final class DirectoryDestinations: DestinationStore {
  package let directories: DestinationDirectories
  private let mode: UInt32
  private let register: String

  /// - Parameters:
  ///   - mode: the mode of the files. Ferry creates missing directories, whose mode allows searches to all who may read the files.
  ///   - register: a directory for the names of temporary files. It is created when the first one is.
  package init(_ directories: DestinationDirectories, mode: UInt32, register: String) {
    self.directories = directories
    self.mode = mode
    self.register = register
  }

  /// Returns why an opened directory cannot be used; `nil` if it can.
  package static func fault(ofDirectory path: String) -> String? {
    do throws(OpenDirectory.Fault) {
      let directory = try OpenDirectory(path)
      guard directory.isWritable else {
        let code = errno
        let remedy =
          code == EROFS
          ? "mount it for writing, or add it to ReadWritePaths= of the systemd unit"
          : "give this process's user write access"
        return "\(path) cannot be written: \(SystemError(code)); \(remedy)"
      }
      Glibc.close(try directory.open(".", O_RDONLY | O_DIRECTORY))
      return nil
    } catch {
      switch error.code {
      case ENOENT: return "\(path) does not exist; create it for this process's user"
      case ENOTDIR: return "\(path) is not a directory; name a directory"
      case ENOSYS, EPERM:
        return
          "\(path) cannot be used: \(SystemError(error.code)); destinations need openat2, which Linux has since 5.6 and a "
          + "container's seccomp profile must allow"
      default: return "\(path) cannot be used: \(SystemError(error.code)); check its path and its mode"
      }
    }
  }

  // MARK: Checks

  package func fault(of destination: Destination) -> DestinationFailure? {
    do throws(DestinationFailure) {
      let (parent, name) = try parent(of: destination, nil, creates: false)
      guard parent.isWritable else { throw failure(destination, errno) }
      guard let found = try mark(of: name, in: parent, destination) else { return nil }
      return NameStep(destination.ifExists, found: found, own: nil) == .refuse
        ? Self.exists(destination) : nil
    } catch {
      // Missing directories are created later.
      return error.code == ENOENT ? nil : error
    }
  }

  private static func exists(_ destination: Destination) -> DestinationFailure {
    DestinationFailure(
      "\(destination.file) exists; remove it, name another file, or set ifExists to replace or rename",
      code: EEXIST)
  }

  private func failure(_ destination: Destination, _ code: Int32) -> DestinationFailure {
    let remedy =
      switch code {
      case ENOSPC, EDQUOT: "free space there, and retry the task"
      case EACCES, EPERM: "give the service's user write access to the directory, and retry the task"
      case EROFS: "mount the directory for writing or add it to ReadWritePaths=, and retry the task"
      case ELOOP, EXDEV: "its path has a symbolic link, which Ferry does not follow; name the real path"
      case ENOTDIR: "a part of its path is a file; name a path of directories"
      case EISDIR: "it is a directory; name a file"
      case ENAMETOOLONG: "shorten the name"
      default: "check the directory, and retry the task"
      }
    return DestinationFailure(
      "\(destination.file) cannot be written: \(SystemError(code)); \(remedy)", code: code)
  }

  /// Opens the directory of a destination.
  private func parent(
    of destination: Destination, _ tenant: Tenant?, creates: Bool
  ) throws(DestinationFailure) -> (OpenDirectory, String) {
    guard let place = directories.place(of: destination.file, for: tenant) else {
      throw DestinationFailure(
        "\(destination.file) is in no directory that the operator has opened for this tenant; name another file"
      )
    }
    do throws(OpenDirectory.Fault) {
      let root = try OpenDirectory(place.root)
      let searchable = mode | (mode & 0o444) >> 2
      return (
        try root.directory(at: place.directories, creating: creates ? searchable | 0o700 : nil), place.name
      )
    } catch {
      throw failure(destination, error.code)
    }
  }

  private func mark(
    of name: String, in directory: OpenDirectory, _ destination: Destination
  ) throws(DestinationFailure) -> FileMark? {
    do throws(OpenDirectory.Fault) { return try directory.entry(name).map { FileMark($0) } } catch {
      throw failure(destination, error.code)
    }
  }

  // MARK: Temporary files

  package func prepare(
    _ file: DestinationFile, from source: DestinationSource, earlier: FileMark?, on pool: ThreadPool,
    isCancelled: @escaping @Sendable () -> Bool,
    _ done: @escaping @Sendable (Result<PreparedFile, DestinationFailure>) -> Void
  ) {
    let destination = file.destination
    do throws(DestinationFailure) {
      let (parent, _) = try parent(of: destination, file.tenant, creates: true)
      if let earlier, let placed = try ownFile(file, earlier, in: parent) {
        return done(.success(.placed(placed)))
      }
      do throws(OpenDirectory.Fault) {
        try remember(file)
        try parent.unlink(file.temporaryName)
        switch source {
        case .bytes(let bytes):
          let target = try Target(file, in: parent)
          try target.write(bytes)
          done(.success(.temporary(try target.complete(mode: mode))))
        case .local(let local): done(.success(.temporary(try write(local, file, in: parent, isCancelled))))
        case .reader(let reader): scan(reader, file, try Target(file, in: parent), pool, isCancelled, done)
        }
      } catch {
        throw failure(destination, error.code)
      }
    } catch {
      discard(file)
      done(.failure(error))
    }
  }

  /// An open temporary file. Used by one thread at a time.
  private final class Target: Sendable {
    let descriptor: Int32
    private let size: Int64

    init(_ file: DestinationFile, in parent: OpenDirectory) throws(OpenDirectory.Fault) {
      descriptor = try parent.open(file.temporaryName, O_WRONLY | O_CREAT | O_EXCL)
      size = file.size
    }

    deinit { Disk.close(descriptor) }

    func write(_ bytes: [UInt8]) throws(OpenDirectory.Fault) {
      try OpenDirectory.write(bytes, to: descriptor)
    }

    func complete(mode: UInt32) throws(OpenDirectory.Fault) -> FileMark {
      try OpenDirectory.complete(descriptor, mode: mode)
      let entry = try OpenDirectory.Entry(of: descriptor)
      guard entry.size == size else { throw OpenDirectory.Fault(code: EIO) }
      return FileMark(entry)
    }
  }

  /// Links a file of the same file system, or copies it. A file with other names is copied, because a change under one name would change
  /// the bytes of all.
  private func write(
    _ local: LocalFile, _ file: DestinationFile, in parent: OpenDirectory, _ isCancelled: () -> Bool
  ) throws(OpenDirectory.Fault) -> FileMark {
    let source = Disk.open(local.path, O_RDONLY)
    guard source >= 0 else { throw OpenDirectory.Fault(code: errno) }
    defer { Disk.close(source) }
    if try OpenDirectory.Entry(of: source).linkCount == 1,
      (try? parent.link(local.path, as: file.temporaryName)) != nil
    {
      try OpenDirectory.complete(source, mode: mode)
      let entry = try OpenDirectory.Entry(of: source)
      guard entry.size == file.size else { throw OpenDirectory.Fault(code: EIO) }
      return FileMark(entry)
    }
    let target = try Target(file, in: parent)
    var offset: Int64 = 0
    while true {
      guard !isCancelled() else { throw OpenDirectory.Fault(code: ECANCELED) }
      let count = try OpenDirectory.copy(source, to: target.descriptor, at: offset, count: 16 << 20)
      guard count > 0 else { return try target.complete(mode: mode) }
      offset += Int64(count)
    }
  }

  private func scan(
    _ reader: any BlobReader, _ file: DestinationFile, _ target: Target, _ pool: ThreadPool,
    _ isCancelled: @escaping @Sendable () -> Bool,
    _ done: @escaping @Sendable (Result<PreparedFile, DestinationFailure>) -> Void
  ) {
    let holder = FaultHolder()
    let scan = BlobScan(reader, 0..<file.size, on: pool) { bytes in
      guard holder.fault == nil else { return }
      guard !isCancelled() else { return holder.set(OpenDirectory.Fault(code: ECANCELED)) }
      do throws(OpenDirectory.Fault) { try target.write(bytes) } catch { holder.set(error) }
    } done: { [self] end in
      do throws(DestinationFailure) {
        if let fault = holder.fault { throw failure(file.destination, fault.code) }
        if case .failure(let error) = end {
          throw DestinationFailure(
            "the received body cannot be read: \(error.message); retry the task", code: error.code)
        }
        do throws(OpenDirectory.Fault) {
          done(.success(.temporary(try target.complete(mode: mode))))
        } catch {
          throw failure(file.destination, error.code)
        }
      } catch {
        discard(file)
        done(.failure(error))
      }
    }
    scan.start()
  }

  /// The first fault of a scan, which cannot throw.
  private final class FaultHolder: Sendable {
    private let state = Mutex<OpenDirectory.Fault?>(nil)
    var fault: OpenDirectory.Fault? { state.withLock { $0 } }
    func set(_ fault: OpenDirectory.Fault) { state.withLock { $0 = $0 ?? fault } }
  }

  // MARK: Final names

  /// Finds the file that an earlier service has renamed.
  private func ownFile(
    _ file: DestinationFile, _ mark: FileMark, in parent: OpenDirectory
  ) throws(DestinationFailure) -> PlacedFile? {
    let destination = file.destination
    let count = destination.ifExists == .rename ? Limits.destinationNames.value : 1
    for number in 0..<count {
      let name = destination.name(number)
      let found = try self.mark(of: name, in: parent, destination)
      if NameStep(destination.ifExists, found: found, own: mark) == .alreadyOwn {
        return PlacedFile(file: destination.directory + "/" + name, mark: mark)
      }
    }
    return nil
  }

  package func rename(_ file: DestinationFile, _ mark: FileMark) -> Result<PlacedFile, DestinationFailure> {
    let result = Result { () throws(DestinationFailure) in try renamed(file, mark) }
    discard(file)
    return result
  }

  private func renamed(_ file: DestinationFile, _ mark: FileMark) throws(DestinationFailure) -> PlacedFile {
    let destination = file.destination
    let (parent, _) = try parent(of: destination, file.tenant, creates: false)
    var number = 0
    while number < Limits.destinationNames.value {
      let name = destination.name(number)
      switch NameStep(
        destination.ifExists, found: try self.mark(of: name, in: parent, destination), own: mark)
      {
      case .tryNext: number += 1
      case .refuse: throw Self.exists(destination)
      case .alreadyOwn: return PlacedFile(file: destination.directory + "/" + name, mark: mark)
      case .rename(let mayReplace):
        do throws(OpenDirectory.Fault) {
          try parent.rename(file.temporaryName, to: name, mayReplace: mayReplace)
        } catch {
          // Another process has created the file in the meantime. Look at the name again.
          guard error.code != EEXIST || mayReplace else { continue }
          throw failure(destination, error.code)
        }
        parent.sync()
        return PlacedFile(file: destination.directory + "/" + name, mark: mark)
      }
    }
    throw DestinationFailure(
      "\(destination.file) and its next \(number - 1) names exist; remove files, or name another file",
      code: EEXIST)
  }

  // MARK: The register of temporary files

  private func entry(of file: DestinationFile) -> String { "\(register)/\(file.task).\(file.epoch)" }

  private func remember(_ file: DestinationFile) throws(OpenDirectory.Fault) {
    let path = file.destination.directory + "/" + file.temporaryName
    if symlink(path, entry(of: file)) == 0 || errno == EEXIST { return }
    guard errno == ENOENT, Disk.mkdir(register) == 0 || errno == EEXIST, symlink(path, entry(of: file)) == 0
    else {
      throw OpenDirectory.Fault(code: errno)
    }
  }

  package func discard(_ file: DestinationFile) {
    if removeTemporary(file.temporaryName, of: file.destination) { _ = Disk.unlink(entry(of: file)) }
  }

  /// Deletes a temporary file.
  /// - Returns: whether the file is gone. Otherwise it stays registered, and a later service tries again.
  private func removeTemporary(_ name: String, of destination: Destination) -> Bool {
    do throws(DestinationFailure) {
      let (parent, _) = try parent(of: destination, nil, creates: false)
      return (try? parent.unlink(name)) != nil
    } catch {
      return error.code == ENOENT
    }
  }

  package func removeLeftovers(isLiving: (Int64) -> Bool) {
    for name in Disk.names(in: register) {
      guard let dot = name.lastIndex(of: "."), let epoch = Int64(name[name.index(after: dot)...]),
        let task = TaskID(String(name[..<dot])), !isLiving(epoch),
        let path = Self.target("\(register)/\(name)")
      else { continue }
      let destination = Destination(file: path)
      let isOwn =
        destination.name == ".\(task).\(epoch).ferry" && directories.place(of: path, for: nil) != nil
      if !isOwn || removeTemporary(destination.name, of: destination) {
        _ = Disk.unlink("\(register)/\(name)")
      }
    }
  }

  private static func target(_ link: String) -> String? {
    let bytes = [UInt8](unsafeUninitializedCapacity: Limits.destinationBytes.value + 512) { buffer, count in
      count = buffer.withMemoryRebound(to: CChar.self) { max(0, readlink(link, $0.baseAddress!, $0.count)) }
    }
    return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
  }

  // MARK: Reading

  package func open(_ file: PlacedFile, of tenant: Tenant) -> (any BlobReader)? {
    guard let (parent, name) = try? parent(of: Destination(file: file.file), tenant, creates: false),
      let descriptor = try? parent.open(name, O_RDONLY)
    else { return nil }
    let reader = FileReader(descriptor: descriptor)
    guard let entry = try? OpenDirectory.Entry(of: descriptor), entry.isRegularFile,
      FileMark(entry) == file.mark
    else { return nil }
    return reader
  }
}

extension FileMark {
  init(_ entry: OpenDirectory.Entry) {
    self.init(inode: entry.inode, size: entry.size, modifiedAt: entry.modifiedAt)
  }
}
