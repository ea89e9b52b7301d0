internal import Limits
internal import JSON
internal import TransferModel

/// What a cache knows of its entries, without any file: which there are, what they take, and what has to go.
///
/// Changes of the disk are collected as effects; their order is the order in which they must be done.
struct CacheIndex: Sendable {
  enum Effect: Sendable {
    case writeMeta(CachedResponse, [UInt8], used: Timestamp)
    case touch(String, used: Timestamp)
    case removeMeta(String)
    case removeBody(String)
    case removeAll(keeping: Set<String>)
  }
  private enum Place { case memory, writing, disk }
  private struct Entry {
    var response: CachedResponse
    var metaSize: Int64
    var place: Place
    var bytes: [UInt8]?
    /// When the disk was told of its use.
    var touched: Timestamp

    var isVisible: Bool { bytes != nil || place == .disk }
  }

  /// Uses of an entry are told to the disk that often.
  private static let touchInterval = 60.0
  /// Of one URL, so that no request has to look through thousands.
  private static let maximumVariants = Limits.cacheVariants.value

  let memoryCapacity: Int64
  let diskCapacity: Int64?
  /// All metadata are in memory, some KiB for each, whatever the disk may hold.
  let maximumCount: Int
  private var entries: [String: Entry] = [:]
  private var idsByKey: [String: String] = [:]
  private var idsByURL: [String: [String]] = [:]
  /// Bytes in memory and on the disk, in the order of their use.
  private var memory = RecencyList<String>()
  private var disk = RecencyList<String>()
  private var leases: [String: Int] = [:]
  /// Bodies that are gone but for those who read them.
  private var doomed: Set<String> = []
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

  // MARK: Looking

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

  /// The last used first: those on the disk, then the others.
  func list(_ limit: Int) -> [CacheUsage.Entry] {
    let onDisk = disk.keys.lazy.compactMap { entries[$0] }
    let others = memory.keys.lazy.compactMap { entries[$0] }.filter { $0.place == .memory }
    return (Array(onDisk.prefix(limit)) + others.prefix(limit)).prefix(limit).map { entry in
      CacheUsage.Entry(
        response: entry.response, isInMemory: entry.bytes != nil, isOnDisk: entry.place == .disk)
    }
  }

  // MARK: Storing

  /// Whether body and metadata may take that much.
  func fits(_ size: Int64, isOnDisk: Bool) -> Bool {
    Storability.fits(size, memoryCapacity: memoryCapacity, diskCapacity: isOnDisk ? diskCapacity : nil)
  }

  /// Takes a response in the place of what would answer the same requests. Where it goes to the disk, its body has to
  /// be written after these effects; `written` hears of that.
  mutating func insert(
    _ response: CachedResponse, bytes: [UInt8]?, metaSize: Int64, goesToDisk: Bool, now: Timestamp
  ) {
    if let old = idsByKey[response.key] { remove(old, keepsMeta: goesToDisk) }
    if let all = idsByURL[response.url], all.count >= Self.maximumVariants { remove(all[0]) }
    add(
      Entry(response: response, metaSize: metaSize, place: goesToDisk ? .writing : .memory, touched: now))
    if let bytes { keep(bytes, of: response.id) }
    makeRoom()
  }

  /// Takes what was on the disk at the start.
  mutating func restore(_ response: CachedResponse, metaSize: Int64, used: Timestamp) {
    add(Entry(response: response, metaSize: metaSize, place: .disk, touched: used))
    makeRoom()
  }

  private mutating func add(_ entry: Entry) {
    let response = entry.response
    entries[response.id] = entry
    idsByKey[response.key] = response.id
    idsByURL[response.url, default: []].append(response.id)
    if entry.place != .memory { disk.insert(response.id, cost: response.size + entry.metaSize) }
  }

  /// Keeps a body in memory, where it is small enough or has no other place.
  mutating func keep(_ bytes: [UInt8], of id: String) {
    guard let entry = entries[id], entry.bytes == nil else { return }
    let cost = entry.response.size + (entry.place == .memory ? entry.metaSize : 0)
    guard entry.place == .memory || fits(cost, isOnDisk: false) else { return }
    entries[id]?.bytes = bytes
    memory.insert(id, cost: cost)
    makeRoom()
  }

  /// Body and metadata are on the disk, or could not be brought there.
  mutating func written(_ id: String, isStored: Bool) {
    guard entries[id] != nil else { return }
    if isStored { entries[id]?.place = .disk } else { remove(id) }
  }

  private mutating func makeRoom() {
    while memory.cost > memoryCapacity, let id = memory.oldest {
      if entries[id]?.place == .memory { remove(id) } else { forgetBytes(of: id) }
    }
    while disk.cost > diskCapacity ?? 0, let id = disk.oldest { remove(id) }
    while entries.count > maximumCount, let id = disk.oldest ?? memory.oldest { remove(id) }
  }

  private mutating func forgetBytes(of id: String) {
    memory.remove(id)
    entries[id]?.bytes = nil
  }

  // MARK: Changing

  /// The entry was used.
  mutating func touch(_ id: String, now: Timestamp) {
    memory.touch(id)
    disk.touch(id)
    guard let index = entries.index(forKey: id) else { return }
    let isDue = abs(now.since(entries.values[index].touched)) >= Self.touchInterval
    guard isDue, entries.values[index].place != .memory else { return }
    entries.values[index].touched = now
    effects.append(.touch(entries.values[index].response.key, used: now))
  }

  /// The entry of that id has other metadata now; false where it is gone.
  mutating func update(_ response: CachedResponse, now: Timestamp) -> Bool {
    guard var entry = entries[response.id] else { return false }
    let (oldKey, newKey) = (entry.response.key, response.key)
    if newKey != oldKey, let other = idsByKey[newKey] { remove(other, keepsMeta: entry.place != .memory) }
    let meta = response.json
    entry.response = response
    entry.metaSize = Int64(meta.count)
    entry.touched = now
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
    doomed.formUnion(leases.keys)
    entries = [:]
    idsByKey = [:]
    idsByURL = [:]
    memory = RecencyList()
    disk = RecencyList()
  }

  /// - Parameter keepsMeta: its file is about to be replaced.
  mutating func remove(_ id: String, keepsMeta: Bool = false) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    idsByKey[entry.response.key] = nil
    idsByURL[entry.response.url]?.removeAll { $0 == id }
    if idsByURL[entry.response.url] == [] { idsByURL[entry.response.url] = nil }
    memory.remove(id)
    disk.remove(id)
    guard entry.place != .memory else { return }
    if !keepsMeta { effects.append(.removeMeta(entry.response.key)) }
    if leases[id] == nil { effects.append(.removeBody(id)) } else { doomed.insert(id) }
  }

  // MARK: Readers of bodies

  mutating func lease(_ id: String) { leases[id, default: 0] += 1 }

  mutating func release(_ id: String) {
    guard let count = leases[id] else { return }
    leases[id] = count > 1 ? count - 1 : nil
    if count == 1, doomed.remove(id) != nil { effects.append(.removeBody(id)) }
  }
}
