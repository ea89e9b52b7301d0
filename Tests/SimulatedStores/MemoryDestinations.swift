package import BlobStore
package import EventLoop
internal import Synchronization
package import TransferModel

/// Destinations in memory, for simulations. The files outlive the processes that share them. Each process has its own `Connection`.
package final class MemoryDestinations: Sendable {
  package struct File: Sendable {
    /// The task that wrote the file; `nil` for a file of someone else.
    package let task: TaskID?
    let epoch: Int64
    package let bytes: [UInt8]
    package let mark: FileMark
  }
  private struct State {
    var files: [String: File] = [:]
    var temporary: [String: File] = [:]
    var nextInode: UInt64 = 1
    var renames = 0
    /// How many calls fail, per mille.
    var failures = 0
    var calls: UInt64 = 0
  }
  private let state = Mutex(State())
  package let directories = DestinationDirectories([.init(tenant: nil, path: "/d")])

  package init() {}

  package var files: [String: File] { state.withLock { $0.files } }
  /// How many temporary files have got their names.
  package var renames: Int { state.withLock { $0.renames } }
  /// The temporary files of a process.
  package func temporaryCount(of task: TaskID) -> Int {
    state.withLock { $0.temporary.values.count { $0.task == task } }
  }

  /// - Parameter failures: how many calls fail, per mille.
  package func set(failures: Int) { state.withLock { $0.failures = failures } }

  /// Adds the file of someone else, unless the path has a file.
  package func add(_ path: String) {
    state.withLock { state in
      guard state.files[path] == nil else { return }
      state.nextInode += 1
      state.files[path] = File(
        task: nil, epoch: 0, bytes: [0], mark: FileMark(inode: state.nextInode, size: 1, modifiedAt: 0))
    }
  }

  private func mayFail(_ what: String) throws(DestinationFailure) {
    let fails = state.withLock { state in
      state.calls += 1
      return state.failures > 0 && Int((state.calls &* 0x9E37_79B9_7F4A_7C15) >> 33) % 1000 < state.failures
    }
    if fails { throw DestinationFailure("\(what): no space", code: 28) }
  }

  private func write(_ file: DestinationFile, _ bytes: [UInt8]) throws(DestinationFailure) -> FileMark {
    try mayFail("write")
    return state.withLock { state in
      state.nextInode += 1
      let mark = FileMark(inode: state.nextInode, size: Int64(bytes.count), modifiedAt: 1)
      state.temporary[file.temporaryName] = File(task: file.task, epoch: file.epoch, bytes: bytes, mark: mark)
      return mark
    }
  }

  private func ownFile(_ file: DestinationFile, _ mark: FileMark) -> PlacedFile? {
    state.withLock { state in
      (0..<100).lazy.map { "/d/" + file.destination.name($0) }
        .first { NameStep(file.destination.ifExists, found: state.files[$0]?.mark, own: mark) == .alreadyOwn }
        .map { PlacedFile(file: $0, mark: mark) }
    }
  }

  private func rename(_ file: DestinationFile, _ mark: FileMark) throws(DestinationFailure) -> PlacedFile {
    defer { discard(file) }
    try mayFail("rename")
    let found: PlacedFile? = state.withLock { state in
      for number in 0..<100 {
        let path = "/d/" + file.destination.name(number)
        switch NameStep(file.destination.ifExists, found: state.files[path]?.mark, own: mark) {
        case .tryNext: continue
        case .refuse: return nil
        case .alreadyOwn: break
        case .rename:
          guard let temporary = state.temporary.removeValue(forKey: file.temporaryName),
            temporary.mark == mark
          else { return nil }
          state.files[path] = temporary
          state.renames += 1
        }
        return PlacedFile(file: path, mark: mark)
      }
      return nil
    }
    guard let found else { throw DestinationFailure("\(file.destination.file) exists, or is lost", code: 17) }
    return found
  }

  private func discard(_ file: DestinationFile) { state.withLock { $0.temporary[file.temporaryName] = nil } }

  private func removeLeftovers(_ isLiving: (Int64) -> Bool) {
    let epochs = Set(state.withLock { $0.temporary.values.map(\.epoch) })
    let dead = epochs.filter { !isLiving($0) }
    state.withLock { state in state.temporary = state.temporary.filter { !dead.contains($0.value.epoch) } }
  }

  /// The destinations as one process uses them.
  package final class Connection: DestinationStore {
    private let disk: MemoryDestinations
    private let isClosed = Atomic(false)

    package init(_ disk: MemoryDestinations) { self.disk = disk }

    /// Ends the process. Its calls have no effect any longer, and no result.
    package func close() { isClosed.store(true, ordering: .relaxed) }
    private var isOpen: Bool { !isClosed.load(ordering: .relaxed) }

    package var directories: DestinationDirectories { disk.directories }

    package func fault(of destination: Destination) -> DestinationFailure? {
      let found = disk.files[destination.file]?.mark
      guard NameStep(destination.ifExists, found: found, own: nil) == .refuse else { return nil }
      return DestinationFailure("exists", code: 17)
    }

    package func prepare(
      _ file: DestinationFile, from source: DestinationSource, earlier: FileMark?, on pool: ThreadPool,
      isCancelled: @escaping @Sendable () -> Bool,
      _ done: @escaping @Sendable (Result<PreparedFile, DestinationFailure>) -> Void
    ) {
      guard isOpen else { return }
      if let earlier, let placed = disk.ownFile(file, earlier) { return done(.success(.placed(placed))) }
      let end: @Sendable ([UInt8]) -> Void = { [self] bytes in
        guard isOpen else { return }
        guard !isCancelled() else { return done(.failure(DestinationFailure("cancelled"))) }
        done(
          Result { () throws(DestinationFailure) in .temporary(try disk.write(file, bytes)) })
      }
      switch source {
      case .bytes(let bytes): end(bytes)
      case .local: preconditionFailure("the simulator has no local files")
      case .reader(let reader):
        let bytes = Bytes()
        BlobScan(reader, 0..<file.size, on: pool) {
          bytes.append($0)
        } done: { result in
          if case .failure(let error) = result { return done(.failure(DestinationFailure(error.message))) }
          end(bytes.all)
        }.start()
      }
    }

    package func rename(_ file: DestinationFile, _ mark: FileMark) -> Result<PlacedFile, DestinationFailure> {
      Result { () throws(DestinationFailure) in
        guard isOpen else { throw DestinationFailure("the process has ended") }
        return try disk.rename(file, mark)
      }
    }

    package func discard(_ file: DestinationFile) { if isOpen { disk.discard(file) } }
    package func removeLeftovers(isLiving: (Int64) -> Bool) { if isOpen { disk.removeLeftovers(isLiving) } }
    package func open(_ file: PlacedFile, of tenant: Tenant) -> (any BlobReader)? { nil }
  }

  private final class Bytes: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    var all: [UInt8] { bytes.withLock { $0 } }
    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }
  }
}
