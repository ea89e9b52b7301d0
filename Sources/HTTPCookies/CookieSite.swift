internal import TransferModel

/// The cookies of one site, whose number is limited (RFC 6265bis §5.7). Finding, replacing or evicting a cookie does not read the texts
/// of the others, unless fingerprints collide.
struct CookieSite: Sendable {
  struct Entry: Sendable {
    var cookie: Cookie
    /// The order in which the jar's cookies were first stored. Breaks ties between equal times.
    let serial: UInt64

    var priority: EvictionPriority {
      EvictionPriority(
        isSecure: cookie.isSecure, lastAccess: cookie.lastAccess.microseconds,
        created: cookie.created.microseconds, serial: serial)
    }
  }

  /// The order of eviction within a site: cookies that are not secure go first, then those unused for longest. Expired cookies
  /// are removed before anything is evicted.
  struct EvictionPriority: Sendable, Comparable {
    var isSecure: Bool
    var lastAccess: Int64
    var created: Int64
    var serial: UInt64

    static func < (one: Self, other: Self) -> Bool {
      if one.isSecure != other.isSecure { return other.isSecure }
      if one.lastAccess != other.lastAccess { return one.lastAccess < other.lastAccess }
      if one.created != other.created { return one.created < other.created }
      return one.serial < other.serial
    }
  }

  private struct Victim: Sendable {
    let slot: Int
    let priority: EvictionPriority
  }

  /// An entry keeps its slot for as long as it is stored. nil: the slot is free.
  private var slots: [Entry?] = []
  /// The fingerprint of each slot's key; 0: the slot is free.
  private var fingerprints: [UInt64] = []
  private var freeSlots: [Int] = []
  private(set) var count = 0
  /// Bytes that the cookies take in memory, approximately.
  private(set) var size = 0
  /// No cookie expires before this time, in microseconds.
  private var earliestExpiry = Int64.max
  /// The next entries to evict, the first one last. Sorted once for many evictions: some may have been removed or used since, and are
  /// skipped when their priority no longer matches.
  private var victims: [Victim] = []

  var isEmpty: Bool { count == 0 }
  var entries: [Entry] { slots.compactMap { $0 } }

  func contains(_ isMeant: (Cookie) -> Bool) -> Bool {
    for case let entry? in slots where isMeant(entry.cookie) { return true }
    return false
  }

  // MARK: One cookie

  /// Stores a cookie. If it replaces another, it keeps that cookie's creation time and serial.
  /// - Parameter serial: the number for the next new cookie; incremented if this cookie is new.
  /// - Returns: the stored cookie; nil if only the time of the last access changed.
  mutating func place(_ cookie: Cookie, _ serial: inout UInt64) -> Cookie? {
    let key = cookie.key
    let fingerprint = key.fingerprint
    earliestExpiry = min(earliestExpiry, cookie.expiresDate?.microseconds ?? .max)
    guard let slot = slot(of: key, fingerprint), let old = slots[slot] else {
      insert(Entry(cookie: cookie, serial: serial), fingerprint)
      serial += 1
      return cookie
    }
    var cookie = cookie
    cookie.created = old.cookie.created
    update(slot, Entry(cookie: cookie, serial: old.serial))
    size += cookie.size - old.cookie.size
    return cookie.isSame(as: old.cookie) ? nil : cookie
  }

  /// - Returns: whether there was such a cookie.
  mutating func remove(_ key: CookieKey) -> Bool {
    guard let slot = slot(of: key, key.fingerprint) else { return false }
    _ = removeSlot(slot)
    return true
  }

  private func slot(of key: CookieKey, _ fingerprint: UInt64) -> Int? {
    let span = fingerprints.span
    for slot in span.indices where span[slot] == fingerprint && slots[slot]?.cookie.key == key { return slot }
    return nil
  }

  private mutating func insert(_ entry: Entry, _ fingerprint: UInt64) {
    if let slot = freeSlots.popLast() {
      slots[slot] = entry
      fingerprints[slot] = fingerprint
    } else {
      slots.append(entry)
      fingerprints.append(fingerprint)
    }
    count += 1
    size += entry.cookie.size
    invalidateVictims(ifAfter: entry.priority)
  }

  private mutating func update(_ slot: Int, _ entry: Entry) {
    slots[slot] = entry
    invalidateVictims(ifAfter: entry.priority)
  }

  private mutating func removeSlot(_ slot: Int) -> CookieKey? {
    guard let entry = slots[slot] else { return nil }
    slots[slot] = nil
    fingerprints[slot] = 0
    freeSlots.append(slot)
    count -= 1
    size -= entry.cookie.size
    return entry.cookie.key
  }

  // MARK: Many cookies

  /// Removes expired cookies, and returns their keys.
  mutating func purge(_ now: Timestamp) -> [CookieKey] {
    guard earliestExpiry <= now.microseconds else { return [] }
    earliestExpiry = .max
    var purged: [CookieKey] = []
    for slot in slots.indices {
      guard let expiry = slots[slot]?.cookie.expiresDate else { continue }
      if expiry <= now {
        if let key = removeSlot(slot) { purged.append(key) }
      } else {
        earliestExpiry = min(earliestExpiry, expiry.microseconds)
      }
    }
    return purged
  }

  /// Marks the chosen entries as used at `now`, and returns them.
  mutating func use(at now: Timestamp, _ isChosen: (Cookie) -> Bool) -> [Entry] {
    var chosen: [Entry] = []
    for slot in slots.indices {
      guard var entry = slots[slot], isChosen(entry.cookie) else { continue }
      entry.cookie.lastAccess = now
      update(slot, entry)
      chosen.append(entry)
    }
    return chosen
  }

  /// Removes the entry that goes before all others.
  mutating func evict() -> CookieKey? {
    while true {
      if victims.isEmpty { sortVictims() }
      guard let victim = victims.popLast() else { return nil }
      if let entry = slots[victim.slot], entry.priority == victim.priority { return removeSlot(victim.slot) }
    }
  }

  private mutating func sortVictims() {
    let all = slots.indices.compactMap { slot in slots[slot].map { Victim(slot: slot, priority: $0.priority) }
    }
    let insecure = all.filter { !$0.priority.isSecure }
    victims = (insecure.isEmpty ? all : insecure).sorted { $0.priority > $1.priority }
  }

  /// Discards the sorted victims if an entry with this priority must be evicted before one of them.
  private mutating func invalidateVictims(ifAfter priority: EvictionPriority) {
    if let last = victims.first, priority < last.priority { victims.removeAll() }
  }
}

extension CookieKey {
  /// A hash of the key (FNV-1a), never 0. A server can choose names whose hashes collide: then a lookup compares all keys of the site, of
  /// which there are at most `capacity.perSite`.
  fileprivate var fingerprint: UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    for text in [name, path, domain] {
      let bytes = text.utf8Span.span
      for place in bytes.indices { add(bytes[place]) }
      add(isHostOnly ? 1 : 2)
    }
    return hash | 1
  }
}
