internal import Crypto
internal import EventLoop
internal import TransferModel

/// The files of a cache: `<id>.body`, which never changes, and `<digest of the key>.meta`, which names it.
///
/// A body is whole and synced before its metadata get their name, so whatever moment the process dies at, metadata
/// name a whole body or none. Everything here blocks and belongs to one lane of a pool, but for `read`.
///
/// The files are not in a `BlobStore` on purpose: a cache belongs to one process and may be lost, so it stays on the local disk even if
/// bodies are stored elsewhere.
struct CacheDisk: Sendable {
  struct Found: Sendable {
    let response: CachedResponse
    let metaSize: Int64
    let used: Timestamp
  }
  private static let maximumMetaSize: Int64 = 1024 * 1024

  let directory: String
  /// Called before each change, for tests that let the process die there.
  var willChange: (@Sendable () -> Void)?

  func bodyPath(_ id: String) -> String { "\(directory)/\(id).body" }
  func metaPath(_ key: String) -> String { "\(directory)/\(Self.metaName(key))" }
  private static func metaName(_ key: String) -> String {
    Hexadecimal.text(Array(SHA256.hash(data: Array(key.utf8)))) + ".meta"
  }

  // MARK: Storing

  /// Stores body and metadata; where that cannot be, both names have to be removed.
  func store(_ response: CachedResponse, meta: [UInt8], body: CacheBody, used: Timestamp) -> Bool {
    let path = bodyPath(response.id)
    willChange?()
    let isWritten =
      switch body {
      case .bytes(let bytes): CacheFile.write(bytes, to: path)
      case .file(let source): CacheFile.link(source, to: path, size: response.size)
      }
    return isWritten && writeMeta(meta, key: response.key, used: used)
  }

  /// Puts metadata in the place of those of the same key, whole or not at all.
  @discardableResult func writeMeta(_ meta: [UInt8], key: String, used: Timestamp) -> Bool {
    let path = metaPath(key)
    willChange?()
    let isWritten = CacheFile.write(meta, to: path + ".new", modified: used)
    willChange?()
    guard isWritten, Disk.rename(path + ".new", path) == 0 else {
      _ = Disk.unlink(path + ".new")
      return false
    }
    return true
  }

  func touch(_ key: String, used: Timestamp) { CacheFile.touch(metaPath(key), used) }

  // MARK: Removing

  func removeMeta(_ key: String) {
    willChange?()
    _ = Disk.unlink(metaPath(key))
  }

  func removeBody(_ id: String) {
    willChange?()
    _ = Disk.unlink(bodyPath(id))
  }

  func sync() { Disk.sync(directory) }

  /// Removes everything for good, but for bodies that are being read.
  func removeAll(keeping bodies: Set<String>) {
    let names = Disk.names(in: directory)
    for name in names where name.hasSuffix(".meta") { remove(name) }
    sync()
    for name in names where isOurs(name) && !bodies.contains(String(name.dropLast(5))) { remove(name) }
  }

  private func remove(_ name: String) {
    willChange?()
    _ = Disk.unlink("\(directory)/\(name)")
  }

  private func isOurs(_ name: String) -> Bool {
    name.hasSuffix(".body") || name.hasSuffix(".meta") || name.hasSuffix(".meta.new")
  }

  // MARK: Opening

  /// What is stored, the longest unused first. Everything that is not whole is removed.
  func open() -> [Found] {
    _ = Disk.mkdir(directory)
    let names = Disk.names(in: directory)
    let bodies = Set(names.filter { $0.hasSuffix(".body") })
    var found = names.filter { $0.hasSuffix(".meta") }.compactMap { find($0, bodies) }
      .sorted { ($0.used, $0.response.id) < ($1.used, $1.response.id) }
    // Metadata may name the same body twice where their key was being changed: the newer ones count.
    var kept = Set<String>()
    found = found.reversed().filter { kept.insert($0.response.id).inserted }.reversed()
    let wanted = Set(found.flatMap { ["\($0.response.id).body", Self.metaName($0.response.key)] })
    for name in names where isOurs(name) && !wanted.contains(name) { remove(name) }
    return found
  }

  private func find(_ name: String, _ bodies: Set<String>) -> Found? {
    let path = "\(directory)/\(name)"
    guard let status = CacheFile.status(path), status.size <= Self.maximumMetaSize,
      let bytes = CacheFile.read(path, size: status.size), let response = CachedResponse(json: bytes),
      Self.metaName(response.key) == name, bodies.contains("\(response.id).body"),
      CacheFile.status(bodyPath(response.id))?.size == response.size
    else { return nil }
    return Found(response: response, metaSize: status.size, used: status.modified)
  }

  /// The whole body, where it is what was stored.
  func read(_ response: CachedResponse) -> [UInt8]? {
    guard let bytes = CacheFile.read(bodyPath(response.id), size: response.size),
      Hexadecimal.text(Array(SHA256.hash(data: bytes))) == response.sha256
    else { return nil }
    return bytes
  }
}
