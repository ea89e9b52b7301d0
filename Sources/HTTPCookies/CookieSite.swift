internal import TransferModel

/// The cookies of one site, of which a jar has a limited number (RFC 6265bis §5.7). A cookie is found, replaced or evicted without
/// reading the texts of the others.
struct CookieSite: Sendable {
  struct Entry: Sendable {
    var cookie: Cookie
    /// The place among all that were ever stored, for what the clock does not tell apart.
    let serial: UInt64

    var age: Age {
      Age(
        isSecure: cookie.isSecure, lastAccess: cookie.lastAccess.microseconds,
        created: cookie.created.microseconds, serial: serial)
    }
  }

  /// The order of eviction within a site: cookies that are not secure go first, then those unused for longest. What has expired is
  /// removed before anything is evicted.
  struct Age: Sendable, Comparable {
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
    let age: Age
  }

  /// An entry keeps its slot for as long as it is stored. nil: the slot is free.
  private var slots: [Entry?] = []
  /// The fingerprint of each slot's key; 0: the slot is free.
  private var fingerprints: [UInt64] = []
  private var freeSlots: [Int] = []
  private(set) var count = 0
  /// Bytes that the cookies take in memory, approximately.
  private(set) var size = 0
  /// No cookie expires before.
  private var earliestExpiry = Int64.max
  /// Entries in the reverse order of their eviction. Sorted once for many evictions, it may have entries that are no longer stored or
  /// have been used since.
  private var victims: [Victim] = []

  var isEmpty: Bool { count == 0 }
  var entries: [Entry] { slots.compactMap { $0 } }

  func contains(_ isMeant: (Cookie) -> Bool) -> Bool {
    for case let entry? in slots where isMeant(entry.cookie) { return true }
    return false
  }

  // MARK: One cookie

  /// Stores a cookie. One that it replaces leaves it its time of creation and its serial.
  /// - Parameter serial: of the next cookie that is new.
  /// - Returns: the stored cookie; nil if nothing is different now but the time of the last access.
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
  mutating func take(_ key: CookieKey) -> Bool {
    guard let slot = slot(of: key, key.fingerprint) else { return false }
    _ = remove(slot)
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
    keepOrder(entry.age)
  }

  private mutating func update(_ slot: Int, _ entry: Entry) {
    slots[slot] = entry
    keepOrder(entry.age)
  }

  private mutating func remove(_ slot: Int) -> CookieKey? {
    guard let entry = slots[slot] else { return nil }
    slots[slot] = nil
    fingerprints[slot] = 0
    freeSlots.append(slot)
    count -= 1
    size -= entry.cookie.size
    return entry.cookie.key
  }

  // MARK: Many cookies

  /// Removes what has expired, so that nothing is compared with it.
  mutating func purge(_ now: Timestamp) -> [CookieKey] {
    guard earliestExpiry <= now.microseconds else { return [] }
    earliestExpiry = .max
    var purged: [CookieKey] = []
    for slot in slots.indices {
      guard let expiry = slots[slot]?.cookie.expiresDate else { continue }
      if expiry <= now {
        if let key = remove(slot) { purged.append(key) }
      } else {
        earliestExpiry = min(earliestExpiry, expiry.microseconds)
      }
    }
    return purged
  }

  /// The entries that are chosen; they are used now.
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
      if let entry = slots[victim.slot], entry.age == victim.age { return remove(victim.slot) }
    }
  }

  private mutating func sortVictims() {
    let all = slots.indices.compactMap { slot in slots[slot].map { Victim(slot: slot, age: $0.age) } }
    let insecure = all.filter { !$0.age.isSecure }
    victims = (insecure.isEmpty ? all : insecure).sorted { $0.age > $1.age }
  }

  /// An entry that goes before one of the sorted victims makes them useless.
  private mutating func keepOrder(_ age: Age) {
    if let last = victims.first, age < last.age { victims.removeAll() }
  }
}

extension CookieKey {
  /// A number that differs for nearly all keys (FNV-1a), and is not 0. A server may choose names with one fingerprint: then as many
  /// texts are compared as a site may have cookies.
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
