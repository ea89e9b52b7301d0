internal import BlobStore
internal import Cluster
internal import EventLoop
internal import Ledger
internal import Logging
internal import Synchronization
internal import TransferModel

/// Files that no row speaks of: a process died between a rename and a commit, or the other way round; or the database is not the one
/// that the files belong to. What it knows, and does not want, is removed. What it knows nothing of is set aside.
final class Sweeper: Sendable {
  /// Files that are looked at with one reading of the store.
  private static let page = 500

  private let room: MachineRoom
  private let blobs: any BlobStore
  private let now: @Sendable () -> Timestamp
  private let logger: Logger
  /// What was there of stored files when this process began.
  private let foundFiles = Mutex<[BlobKey]>([])

  init(
    room: MachineRoom, blobs: any BlobStore, now: @escaping @Sendable () -> Timestamp,
    logger: Logger
  ) {
    self.room = room
    self.blobs = blobs
    self.now = now
    self.logger = logger
  }

  private var store: any Ledger { room.recorder.store }

  /// Before anyone is served: files that come later are not looked at, since their rows may be on the way.
  func noteFoundFiles() async throws(BlobError) {
    let found = try await blobs.keys(.files, on: room.pool)
    foundFiles.withLock { $0 = found }
  }

  /// Looks at every file once, beside serving. Called after `catchUp`.
  func sweep() async throws(ServiceError) {
    let time = now()
    var aside: [BlobKey] = []
    let found: [BlobKey]
    do throws(BlobError) {
      found = try await blobs.keys(.tasks, on: room.pool) { self.mayBeLeft($0) }
    } catch { throw .blob(error) }
    do throws(StoreError) {
      // Whoever has been overtaken writes nothing, and hears it here: so none of these is a later owner's.
      try await store.write(StoreChange())
      // What one task has is looked at together.
      var rest = found.filter { $0.task != nil }.sorted(by: Self.isOfEarlierTask)[...]
      while !rest.isEmpty {
        var page = rest.prefix(Self.page)
        rest = rest.dropFirst(page.count)
        while let next = rest.first, next.task == page.last?.task { page.append(rest.removeFirst()) }
        aside += try await sweep(Array(page), at: time)
      }
      aside += try await sweepFiles(foundFiles.withLock { $0 }.filter(mayBeLeft), at: time)
    } catch {
      throw .store(error)
    }
    foundFiles.withLock { $0 = [] }
    guard let first = aside.first else { return }
    logger.warning(
      "files that the database does not know were set aside; they are removed after 7 days",
      metadata: ["files": "\(aside.count)", "first": "\(first)"])
  }

  /// While other processes live, what one of them may be writing is left alone. So is what was written without an epoch.
  private func mayBeLeft(_ key: BlobKey) -> Bool {
    if room.keepsPartialFiles.load(ordering: .relaxed), key.part == .draft || key.part == .partial {
      return false
    }
    guard !room.cluster.isAlone else { return true }
    return key.stamp.epoch != 0 && !room.cluster.isLiving(key.stamp.epoch)
  }

  private func sweepFiles(_ found: [BlobKey], at time: Timestamp) async throws(StoreError) -> [BlobKey] {
    // What an earlier owner was receiving: nobody was told of it.
    let drafts = found.filter { $0.part != .body }
    await blobs.delete(drafts, on: room.pool)
    var unknown: [BlobKey] = []
    for key in found where key.part == .body {
      if let id = key.file, try await !isStored(id) { unknown.append(key) }
    }
    return await setAside(unknown, at: time)
  }

  /// Whether a file has a row, be it one that cannot be read.
  private func isStored(_ id: FileID) async throws(StoreError) -> Bool {
    do throws(StoreError) { return try await store.file(id) != nil } catch .unreadable { return true }
  }

  private static func isOfEarlierTask(_ left: BlobKey, _ right: BlobKey) -> Bool {
    guard let left = left.task, let right = right.task else { return false }
    return left < right
  }

  /// - Returns: those that were set aside.
  private func sweep(_ found: [BlobKey], at time: Timestamp) async throws(StoreError) -> [BlobKey] {
    let epoch = room.stamp.epoch
    // The directory first: a task that it does not know has ended with a commit, or is in no row.
    let sessions = found.map { key in key.task.flatMap { room.directory[$0] } }
    let idle = zip(found, sessions).filter { $0.1 == nil }.map(\.0)
    let bodies = Dictionary(grouping: idle.filter { $0.part == .body }, by: \.task)
    let kept = try await store.bodyFiles(among: bodies.keys.compactMap(\.self))
    // The only body that a task has is its own, where it has one.
    let doubtful = idle.filter { key in
      key.part != .body || bodies[key.task]?.count != 1 || key.task.map { kept.contains($0) } == false
    }
    let tasks = Dictionary(
      try await store.tasks(Array(Set(doubtful.compactMap(\.task)))).map { ($0.id, $0) },
      uniquingKeysWith: { $1 })
    let verdicts = doubtful.filter { key in
      // Its owner may be about to take it up.
      key.task.flatMap { tasks[$0]?.sessionID }.map { room.cluster.owns($0.shard) } ?? true
    }.map { key in
      (key, Leftover(key, of: key.task.flatMap { tasks[$0] }))
    }
    // What could be gone on with is moved by now: whoever carries the task out here writes under another epoch.
    let given = zip(found, sessions).filter { key, session in
      session.map { room.background?.has($0) != true } == true && key.part == .draft
        && key.stamp.epoch != epoch
    }
    let removed = verdicts.filter { $0.1 == .remove }.map(\.0) + given.map(\.0)
    await blobs.delete(removed, on: room.pool)
    // The row of a task that cannot be read may be mended: then it needs its files.
    let unknown = verdicts.filter { key, verdict in
      verdict == .setAside && key.task.map { store.unreadable.row(.task, $0) == nil } == true
    }
    return await setAside(unknown.map(\.0), at: time)
  }

  private func setAside(_ keys: [BlobKey], at time: Timestamp) async -> [BlobKey] {
    guard let quarantine = blobs.quarantine else { return [] }
    var aside: [BlobKey] = []
    for key in keys {
      do throws(BlobError) {
        try await blobAnswer(on: room.pool) { quarantine.setAside(key, at: time, $0) }
        aside.append(key)
      } catch {
        if error.reason == .gone { continue }
        logger.error(
          "cannot quarantine an unknown file; the next start tries again",
          metadata: ["file": "\(key)", "reason": "\(error.message)"])
      }
    }
    return aside
  }

  /// Removes what was set aside long ago.
  func removeSetAside() async {
    let time = now()
    guard let quarantine = blobs.quarantine,
      let count = try? await blobAnswer(on: room.pool, to: { quarantine.removeSetAside(at: time, $0) }),
      count > 0
    else { return }
    logger.notice("files that were set aside are removed", metadata: ["files": "\(count)"])
  }
}
