internal import BlobStore
internal import Cluster
internal import EventLoop
internal import Ledger
internal import Logging
internal import Synchronization
internal import TransferModel

/// Collects files without a row. A process may have died between a rename and a commit, or the database may not belong to the
/// files.
/// Files that are known to be unneeded are deleted. Unknown files are quarantined for a week.
final class OrphanCollector: Sendable {
  /// The number of files whose rows are read together.
  private static let page = 500

  private let runtime: SessionRuntime
  private let blobs: any BlobStore
  private let now: @Sendable () -> Timestamp
  private let logger: Logger
  /// The stored files that existed when this process started.
  private let foundFiles = Mutex<[BlobKey]>([])

  init(
    runtime: SessionRuntime, blobs: any BlobStore, now: @escaping @Sendable () -> Timestamp,
    logger: Logger
  ) {
    self.runtime = runtime
    self.blobs = blobs
    self.now = now
    self.logger = logger
  }

  private var store: any Ledger { runtime.recorder.store }

  /// Lists the stored files. Called before requests are served: the rows of later files may be uncommitted, so the collector skips
  /// these files.
  func listFilesAtStart() async throws(BlobError) {
    let found = try await blobs.keys(.files, on: runtime.pool)
    foundFiles.withLock { $0 = found }
  }

  /// Checks every file once, while requests are served. Call it after `catchUp`.
  func collect() async throws(ServiceError) {
    let time = now()
    var aside: [BlobKey] = []
    let found: [BlobKey]
    do throws(BlobError) {
      found = try await blobs.keys(.tasks, on: runtime.pool) { self.mayBeOrphan($0) }
    } catch { throw .blob(error) }
    do throws(LedgerError) {
      // This commit fails if another process has taken over, so none of the files belongs to a later owner.
      try await store.write(LedgerChange())
      // All files of one task belong to the same page.
      var rest = found.filter { $0.task != nil }.sorted(by: Self.isOfEarlierTask)[...]
      while !rest.isEmpty {
        var page = rest.prefix(Self.page)
        rest = rest.dropFirst(page.count)
        while let next = rest.first, next.task == page.last?.task { page.append(rest.removeFirst()) }
        aside += try await collect(Array(page), at: time)
      }
      aside += try await sweepFiles(foundFiles.withLock { $0 }.filter(mayBeOrphan), at: time)
    } catch {
      throw .store(error)
    }
    foundFiles.withLock { $0 = [] }
    guard let first = aside.first else { return }
    logger.warning(
      "quarantined files that the database does not know; they are deleted after 7 days",
      metadata: ["files": "\(aside.count)", "first": "\(first)"])
  }

  /// Whether a file may be an orphan. A living process may still be writing its files. While other services live, files without
  /// an epoch are kept too.
  private func mayBeOrphan(_ key: BlobKey) -> Bool {
    if runtime.keepsPartialFiles.load(ordering: .relaxed), key.part == .draft || key.part == .partial {
      return false
    }
    guard !runtime.cluster.isSingleNode else { return true }
    return key.stamp.epoch != 0 && !runtime.cluster.isLiving(key.stamp.epoch)
  }

  private func sweepFiles(_ found: [BlobKey], at time: Timestamp) async throws(LedgerError) -> [BlobKey] {
    // Drafts of an earlier owner. No client has received their ids.
    let drafts = found.filter { $0.part != .body }
    await blobs.delete(drafts, on: runtime.pool)
    var unknown: [BlobKey] = []
    for key in found where key.part == .body {
      if let id = key.file, try await !isStored(id) { unknown.append(key) }
    }
    return await setAside(unknown, at: time)
  }

  /// Whether a file has a row, readable or not.
  private func isStored(_ id: FileID) async throws(LedgerError) -> Bool {
    do throws(LedgerError) { return try await store.file(id) != nil } catch .unreadable { return true }
  }

  private static func isOfEarlierTask(_ left: BlobKey, _ right: BlobKey) -> Bool {
    guard let left = left.task, let right = right.task else { return false }
    return left < right
  }

  /// - Returns: the keys of the quarantined files.
  private func collect(_ found: [BlobKey], at time: Timestamp) async throws(LedgerError) -> [BlobKey] {
    let epoch = runtime.stamp.epoch
    // The directory is read first: a task that it lacks has ended in a commit, or has no row.
    let sessions = found.map { key in key.task.flatMap { runtime.directory[$0] } }
    let idle = zip(found, sessions).filter { $0.1 == nil }.map(\.0)
    let bodies = Dictionary(grouping: idle.filter { $0.part == .body }, by: \.task)
    let kept = try await store.bodyFiles(among: bodies.keys.compactMap(\.self))
    // If a task has exactly one body file and its row has a body, they belong together.
    let doubtful = idle.filter { key in
      key.part != .body || bodies[key.task]?.count != 1 || key.task.map { kept.contains($0) } == false
    }
    let tasks = Dictionary(
      try await store.tasks(Array(Set(doubtful.compactMap(\.task)))).map { ($0.id, $0) },
      uniquingKeysWith: { $1 })
    let dispositions = doubtful.filter { key in
      // The owner of the task's shard may be about to take over.
      key.task.flatMap { tasks[$0]?.sessionID }.map { runtime.cluster.owns($0.shard) } ?? true
    }.map { key in
      (key, OrphanDisposition(key, of: key.task.flatMap { tasks[$0] }))
    }
    // Files to resume from were moved by now. This process writes drafts under a new epoch, so these drafts are unneeded.
    let given = zip(found, sessions).filter { key, session in
      session.map { runtime.background?.has($0) != true } == true && key.part == .draft
        && key.stamp.epoch != epoch
    }
    let removed = dispositions.filter { $0.1 == .remove }.map(\.0) + given.map(\.0)
    await blobs.delete(removed, on: runtime.pool)
    // An unreadable row may be repaired later; then the task needs its files.
    let unknown = dispositions.filter { key, disposition in
      disposition == .quarantine && key.task.map { store.unreadable.row(.task, $0) == nil } == true
    }
    return await setAside(unknown.map(\.0), at: time)
  }

  private func setAside(_ keys: [BlobKey], at time: Timestamp) async -> [BlobKey] {
    guard let quarantine = blobs.quarantine else { return [] }
    var aside: [BlobKey] = []
    for key in keys {
      do throws(BlobError) {
        try await awaitBlob(on: runtime.pool) { quarantine.moveToQuarantine(key, at: time, $0) }
        aside.append(key)
      } catch {
        if error.reason == .notFound { continue }
        logger.error(
          "cannot quarantine an unknown file; the next start tries again",
          metadata: ["file": "\(key)", "reason": "\(error.message)"])
      }
    }
    return aside
  }

  /// Deletes files that were quarantined a week ago.
  func removeExpiredQuarantine() async {
    let time = now()
    guard let quarantine = blobs.quarantine,
      let count = try? await awaitBlob(on: runtime.pool, to: { quarantine.removeExpired(at: time, $0) }),
      count > 0
    else { return }
    logger.notice("deleted quarantined files", metadata: ["files": "\(count)"])
  }
}
