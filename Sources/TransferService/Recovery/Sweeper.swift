internal import EventLoop
internal import Logging
internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// Files that no row speaks of: a process died between a rename and a commit, or the other way round; or the database is not the one
/// that the files belong to. What it knows, and does not want, is removed. What it knows nothing of is set aside.
final class Sweeper: Sendable {
  /// Files that are looked at with one reading of the store.
  private static let page = 500

  private let room: MachineRoom
  private let bodies: BodyDirectory
  private let files: FileDirectory
  private let now: @Sendable () -> Timestamp
  private let logger: Logger
  /// The stored files that were there when this process began.
  private let foundFiles = Mutex<[FileID]>([])

  init(
    room: MachineRoom, bodies: BodyDirectory, files: FileDirectory, now: @escaping @Sendable () -> Timestamp,
    logger: Logger
  ) {
    self.room = room
    self.bodies = bodies
    self.files = files
    self.now = now
    self.logger = logger
  }

  private var store: any TransferStore { room.recorder.store }

  /// Before anyone is served: files that come later are not looked at, since their rows may be on the way.
  func noteFoundFiles() {
    let found = files.files()
    foundFiles.withLock { $0 = found }
  }

  /// Looks at every file once, beside serving. Called after `catchUp`.
  func sweep() async throws(ServiceError) {
    let time = now()
    var aside: [String] = []
    do throws(StoreError) {
      var rest = await onPool { [bodies] in bodies.contents() }[...]
      while !rest.isEmpty {
        aside += try await sweep(Array(rest.prefix(Self.page)), at: time)
        rest = rest.dropFirst(Self.page)
      }
      for id in foundFiles.withLock({ $0 }) where try await !isStored(id) {
        aside += await setAside([id.description], in: files.path, at: time)
      }
    } catch {
      throw .store(error)
    }
    foundFiles.withLock { $0 = [] }
    guard let first = aside.first else { return }
    logger.warning(
      "files that the database does not know were set aside; they are removed after 7 days",
      metadata: ["files": "\(aside.count)", "first": "\(first)"])
  }

  /// Whether a file has a row, be it one that cannot be read.
  private func isStored(_ id: FileID) async throws(StoreError) -> Bool {
    do throws(StoreError) { return try await store.file(id) != nil } catch .unreadable { return true }
  }

  /// - Returns: where those are now that were set aside.
  private func sweep(_ found: [Leftover], at time: Timestamp) async throws(StoreError) -> [String] {
    // The directory first: a task that it does not know has ended with a commit, or is in no row.
    let idle = found.filter { room.directory[$0.task] == nil }
    let kept = try await store.bodyFiles(among: idle.filter { $0.kind == .body }.map(\.task))
    let doubtful = idle.filter { $0.kind != .body || !kept.contains($0.task) }
    let tasks = Dictionary(
      try await store.tasks(doubtful.map(\.task)).map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    let removed = doubtful.filter { $0.verdict(tasks[$0.task]) == .remove }
    await onPool { [bodies] in
      for leftover in removed { bodies.remove(leftover) }
    }
    // The row of a task that cannot be read may be mended: then it needs its files.
    let unknown = doubtful.filter {
      $0.verdict(tasks[$0.task]) == .setAside && store.unreadable.row(.task, $0.task) == nil
    }
    return await setAside(unknown.map(\.name), in: bodies.path, at: time)
  }

  private func setAside(_ names: [String], in directory: String, at time: Timestamp) async -> [String] {
    guard !names.isEmpty else { return [] }
    return await onPool {
      let place = SetAside(in: directory)
      return names.compactMap { place.put($0, at: time) }
    }
  }

  /// Removes what was set aside long ago.
  func removeSetAside() async {
    let time = now()
    let count = await onPool { [bodies, files] in
      [bodies.path, files.path].reduce(0) { $0 + SetAside(in: $1).removeOld(at: time) }
    }
    guard count > 0 else { return }
    logger.notice("files that were set aside are removed", metadata: ["files": "\(count)"])
  }

  private func onPool<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
      room.pool.submit { continuation.resume(returning: body()) }
    }
  }
}
