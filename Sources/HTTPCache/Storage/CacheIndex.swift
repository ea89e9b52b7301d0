internal import Limits
internal import JSON
internal import TransferModel

/// The entries of a cache in memory: what exists, how much room each takes, and which are evicted. The index touches no file.
///
/// Changes of the disk are collected as effects, and must be carried out in that order.
struct CacheIndex: Sendable {
  enum Effect: Sendable {
    case writeMeta(CachedResponse, [UInt8], used: Timestamp)
    case touch(String, used: Timestamp)
    case removeMeta(String)
    case removeBody(String)
    case removeAll(keeping: Set<String>)
  }
  private enum Location { case memory, writing, disk }
  private struct Entry {
    var response: CachedResponse
    var metaSize: Int64
    var place: Location
    var bytes: [UInt8]?
    /// The time of use that was last written to disk.
    var lastUsed: Timestamp

    var isVisible: Bool { bytes != nil || place == .disk }
  }

  /// The shortest time in seconds between two writes of an entry's time of use.
  private static let touchInterval = 60.0
  /// The limit of variants for one URL, so that no request searches through thousands.
  private static let maximumVariants = Limits.cacheVariants.value

  let memoryCapacity: Int64
  let diskCapacity: Int64?
  /// The limit of entries, whatever the disk's capacity. The metadata of each take some KiB of memory.
  let maximumCount: Int
  private var entries: [String: Entry] = [:]
  private var idsByKey: [String: String] = [:]
  private var idsByURL: [String: [String]] = [:]
  /// The entries in memory and on disk, in order of use, with their sizes in bytes.
  private var memory = RecencyList<String>()
  private var disk = RecencyList<String>()
  private var leases: [String: Int] = [:]
  /// The ids of deleted bodies whose files still have readers.
  private var pendingDeletion: Set<String> = []
  private var effects: [Effect] = []

  init(memoryCapacity: Int64, diskCapacity: Int64?, maximumCount: Int = 32_768) {
    self.maximumCount = maximumCount
    self.memoryCapacity = memoryCapacity
    self.diskCapacity = diskCapacity
  }

  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  // MARK: Lookup

  func variants(of url: String) -> [CachedResponse] {
    guard let ids = idsByURL[url] else { return [] }
    return ids.compactMap { id in
      guard let index = entries.index(forKey: id), entries.values[index].isVisible else { return nil }
      return entries.values[index].response
    }
  }

  func bytes(of id: String) -> [UInt8]? { entries[id]?.bytes }
  func isOnDisk(_ id: String) -> Bool { entries[id]?.place == .disk }

  var usage: CacheUsage {
    CacheUsage(
      memoryUsed: memory.cost, memoryCapacity: memoryCapacity, diskUsed: disk.cost,
      diskCapacity: diskCapacity ?? 0, count: entries.count)
  }

  /// Returns the most recently used entries: first those on disk, then the others.
  func list(_ limit: Int) -> [CacheUsage.Entry] {
    let onDisk = disk.keys.lazy.compactMap { entries[$0] }
    let others = memory.keys.lazy.compactMap { entries[$0] }.filter { $0.place == .memory }
    return (Array(onDisk.prefix(limit)) + others.prefix(limit)).prefix(limit).map { entry in
      CacheUsage.Entry(
        response: entry.response, isInMemory: entry.bytes != nil, isOnDisk: entry.place == .disk)
    }
  }

  // MARK: Storing

  /// Whether body and metadata of that size may be stored.
  func fits(_ size: Int64, isOnDisk: Bool) -> Bool {
    Storability.fits(size, memoryCapacity: memoryCapacity, diskCapacity: isOnDisk ? diskCapacity : nil)
  }

  /// Inserts a response and removes the one with the same key. If the response goes to disk, the caller writes its body after these
  /// effects and then calls `written`.
  mutating func insert(
    _ response: CachedResponse, bytes: [UInt8]?, metaSize: Int64, goesToDisk: Bool, now: Timestamp
  ) {
    if let old = idsByKey[response.key] { remove(old, keepsMeta: goesToDisk) }
    if let all = idsByURL[response.url], all.count >= Self.maximumVariants { remove(all[0]) }
    add(
      Entry(response: response, metaSize: metaSize, place: goesToDisk ? .writing : .memory, lastUsed: now))
    if let bytes { keep(bytes, of: response.id) }
    makeRoom()
  }

  /// Inserts an entry that was found on disk at start.
  mutating func restore(_ response: CachedResponse, metaSize: Int64, used: Timestamp) {
    add(Entry(response: response, metaSize: metaSize, place: .disk, lastUsed: used))
    makeRoom()
  }

  private mutating func add(_ entry: Entry) {
    let response = entry.response
    entries[response.id] = entry
    idsByKey[response.key] = response.id
    idsByURL[response.url, default: []].append(response.id)
    if entry.place != .memory { disk.insert(response.id, cost: response.size + entry.metaSize) }
  }

  /// Keeps a body in memory if the body is small enough or has no file.
  mutating func keep(_ bytes: [UInt8], of id: String) {
    guard let entry = entries[id], entry.bytes == nil else { return }
    let cost = entry.response.size + (entry.place == .memory ? entry.metaSize : 0)
    guard entry.place == .memory || fits(cost, isOnDisk: false) else { return }
    entries[id]?.bytes = bytes
    memory.insert(id, cost: cost)
    makeRoom()
  }

  /// Records whether body and metadata are on disk. A failed entry is removed.
  mutating func written(_ id: String, isStored: Bool) {
    guard entries[id] != nil else { return }
    if isStored { entries[id]?.place = .disk } else { remove(id) }
  }

  private mutating func makeRoom() {
    while memory.cost > memoryCapacity, let id = memory.oldest {
      if entries[id]?.place == .memory { remove(id) } else { evictBytes(of: id) }
    }
    while disk.cost > diskCapacity ?? 0, let id = disk.oldest { remove(id) }
    while entries.count > maximumCount, let id = disk.oldest ?? memory.oldest { remove(id) }
  }

  private mutating func evictBytes(of id: String) {
    memory.remove(id)
    entries[id]?.bytes = nil
  }

  // MARK: Changing

  /// Records the use of an entry.
  mutating func touch(_ id: String, now: Timestamp) {
    memory.touch(id)
    disk.touch(id)
    guard let index = entries.index(forKey: id) else { return }
    let isDue = abs(now.since(entries.values[index].lastUsed)) >= Self.touchInterval
    guard isDue, entries.values[index].place != .memory else { return }
    entries.values[index].lastUsed = now
    effects.append(.touch(entries.values[index].response.key, used: now))
  }

  /// Replaces the metadata of an entry; `false` if the entry no longer exists.
  mutating func update(_ response: CachedResponse, now: Timestamp) -> Bool {
    guard var entry = entries[response.id] else { return false }
    let (oldKey, newKey) = (entry.response.key, response.key)
    if newKey != oldKey, let other = idsByKey[newKey] { remove(other, keepsMeta: entry.place != .memory) }
    let meta = response.json
    entry.response = response
    entry.metaSize = Int64(meta.count)
    entry.lastUsed = now
    entries[response.id] = entry
    idsByKey[oldKey] = nil
    idsByKey[newKey] = response.id
    if entry.place == .memory {
      memory.insert(response.id, cost: response.size + entry.metaSize)
    } else {
      memory.touch(response.id)
      disk.insert(response.id, cost: response.size + entry.metaSize)
      effects.append(.writeMeta(response, meta, used: now))
      if newKey != oldKey { effects.append(.removeMeta(oldKey)) }
    }
    makeRoom()
    return true
  }

  mutating func remove(url: String) {
    for id in idsByURL[url] ?? [] { remove(id) }
  }

  mutating func remove(key: String) {
    if let id = idsByKey[key] { remove(id) }
  }

  mutating func removeAll() {
    effects = [.removeAll(keeping: Set(leases.keys))]
    pendingDeletion.formUnion(leases.keys)
    entries = [:]
    idsByKey = [:]
    idsByURL = [:]
    memory = RecencyList()
    disk = RecencyList()
  }

  /// Removes an entry.
  /// - Parameter keepsMeta: whether its metadata file is about to be replaced, and so is not deleted.
  mutating func remove(_ id: String, keepsMeta: Bool = false) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    idsByKey[entry.response.key] = nil
    idsByURL[entry.response.url]?.removeAll { $0 == id }
    if idsByURL[entry.response.url] == [] { idsByURL[entry.response.url] = nil }
    memory.remove(id)
    disk.remove(id)
    guard entry.place != .memory else { return }
    if !keepsMeta { effects.append(.removeMeta(entry.response.key)) }
    if leases[id] == nil { effects.append(.removeBody(id)) } else { pendingDeletion.insert(id) }
  }

  // MARK: Readers of bodies

  mutating func lease(_ id: String) { leases[id, default: 0] += 1 }

  mutating func release(_ id: String) {
    guard let count = leases[id] else { return }
    leases[id] = count > 1 ? count - 1 : nil
    if count == 1, pendingDeletion.remove(id) != nil { effects.append(.removeBody(id)) }
  }
}
