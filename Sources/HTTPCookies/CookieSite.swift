internal import TransferModel

/// The cookies of one site, up to a limit (RFC 6265bis §5.7). Finding, replacing or evicting a cookie does not read the texts of the
/// others, unless fingerprints collide.
struct CookieSite: Sendable {
  /// A stored cookie. The cookie is on the heap, because a copy of all its texts takes longer than most operations.
  struct Entry: Sendable {
    private final class Box: Sendable {
      let cookie: Cookie
      init(_ cookie: Cookie, created: Timestamp) {
        var cookie = cookie
        cookie.created = created
        self.cookie = cookie
      }
    }
    private let box: Box
    fileprivate(set) var lastAccess: Timestamp
    /// The order in which the jar's cookies were first stored. Breaks ties between equal times.
    let serial: UInt64

    fileprivate init(_ cookie: Cookie, created: Timestamp, serial: UInt64) {
      box = Box(cookie, created: created)
      lastAccess = cookie.lastAccess
      self.serial = serial
    }

    /// The cookie as stored, with an outdated `lastAccess`.
    var stored: Cookie { box.cookie }

    var cookie: Cookie {
      var cookie = stored
      cookie.lastAccess = lastAccess
      return cookie
    }

    var priority: EvictionPriority {
      EvictionPriority(
        isSecure: stored.isSecure, lastAccess: lastAccess.microseconds,
        created: stored.created.microseconds, serial: serial)
    }
  }

  /// The order of eviction within a site: cookies that are not secure go first, then the least recently used. Expired cookies are removed
  /// before anything is evicted.
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

  /// The entries. An entry keeps its slot while it is stored; `nil` marks a free slot.
  private var slots: [Entry?] = []
  /// The fingerprint of each slot's key; 0 for a free slot.
  private var fingerprints: [UInt64] = []
  private var freeSlots: [Int] = []
  private(set) var count = 0
  /// The approximate memory of the cookies in bytes.
  private(set) var size = 0
  /// A lower bound of all expiry times, in microseconds.
  private var earliestExpiry = Int64.max
  /// The next entries to evict, the first one last. They are sorted once for many evictions. Entries that were removed or used since then
  /// are skipped, because their priority no longer matches.
  private var victims: [Victim] = []

  var isEmpty: Bool { count == 0 }
  var entries: [Entry] { slots.compactMap { $0 } }

  /// Whether some cookie passes a test.
  /// - Parameter isMeant: tests a cookie. Its `lastAccess` is outdated.
  func contains(_ isMeant: (Cookie) -> Bool) -> Bool {
    for case let entry? in slots where isMeant(entry.stored) { return true }
    return false
  }

  // MARK: One cookie

  /// Stores a cookie. A replaced cookie passes on its creation time and serial.
  /// - Parameter serial: the number for the next new cookie; incremented if this cookie is new.
  /// - Returns: the stored cookie; `nil` if only the time of the last access changed.
  mutating func place(_ cookie: Cookie, _ serial: inout UInt64) -> Cookie? {
    let fingerprint = Self.keyHash(cookie.name, cookie.path, cookie.domain, cookie.isHostOnly)
    earliestExpiry = min(earliestExpiry, cookie.expiresDate?.microseconds ?? .max)
    guard let slot = slot(fingerprint, { $0.hasSameKey(as: cookie) }), let old = slots[slot] else {
      let entry = Entry(cookie, created: cookie.created, serial: serial)
      insert(entry, fingerprint)
      serial += 1
      return entry.stored
    }
    let entry = Entry(cookie, created: old.stored.created, serial: old.serial)
    update(slot, entry)
    size += entry.stored.size - old.stored.size
    return entry.stored.hasSameContent(as: old.stored) ? nil : entry.stored
  }

  /// Removes a cookie.
  /// - Returns: whether the cookie existed.
  mutating func remove(_ key: CookieKey) -> Bool {
    let fingerprint = Self.keyHash(key.name, key.path, key.domain, key.isHostOnly)
    guard let slot = slot(fingerprint, { $0.key == key }) else { return false }
    _ = removeSlot(slot)
    return true
  }

  private func slot(_ fingerprint: UInt64, _ hasKey: (Cookie) -> Bool) -> Int? {
    let span = fingerprints.span
    for slot in span.indices where span[slot] == fingerprint {
      if let entry = slots[slot], hasKey(entry.stored) { return slot }
    }
    return nil
  }

  /// Returns a hash of a key (FNV-1a), never 0. A server can choose names whose hashes collide. A lookup then compares all keys of the
  /// site, which are at most `capacity.perSite`.
  private static func keyHash(
    _ name: String, _ path: String, _ domain: String, _ isHostOnly: Bool
  ) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ text: String) {
      let bytes = text.utf8Span.span
      for place in bytes.indices { hash = (hash ^ UInt64(bytes[place])) &* 0x100_0000_01B3 }
      hash = (hash ^ (isHostOnly ? 1 : 2)) &* 0x100_0000_01B3
    }
    add(name)
    add(path)
    add(domain)
    return hash | 1
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
    size += entry.stored.size
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
    size -= entry.stored.size
    return entry.stored.key
  }

  // MARK: Many cookies

  /// Removes expired cookies, and returns their keys.
  mutating func purge(_ now: Timestamp) -> [CookieKey] {
    guard earliestExpiry <= now.microseconds else { return [] }
    earliestExpiry = .max
    var purged: [CookieKey] = []
    for slot in slots.indices {
      guard let expiry = slots[slot]?.stored.expiresDate else { continue }
      if expiry <= now {
        if let key = removeSlot(slot) { purged.append(key) }
      } else {
        earliestExpiry = min(earliestExpiry, expiry.microseconds)
      }
    }
    return purged
  }

  /// Marks the chosen entries as used at `now`, and returns them.
  mutating func markUsed(at now: Timestamp, _ isChosen: (Entry) -> Bool) -> [Entry] {
    var chosen: [Entry] = []
    for slot in slots.indices {
      guard var entry = slots[slot], isChosen(entry) else { continue }
      entry.lastAccess = now
      update(slot, entry)
      chosen.append(entry)
    }
    return chosen
  }

  /// Removes the entry with the lowest priority.
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
