internal import Crypto
internal import EventLoop
internal import TransferModel

/// The files of a cache: `<id>.body`, which never changes, and `<digest of the key>.meta`, which names the body.
///
/// A body is complete and synced before its metadata are renamed into place. After a crash at any moment, metadata therefore name a
/// complete body or do not exist. All functions block. Except for `read`, they run in one serial queue of a pool.
///
/// The files are deliberately not in a `BlobStore`. A cache belongs to one process and may be lost, so the cache stays on the local disk
/// even if bodies are stored elsewhere.
struct CacheDisk: Sendable {
  struct StoredEntry: Sendable {
    let response: CachedResponse
    let metaSize: Int64
    let used: Timestamp
  }
  private static let maximumMetaSize: Int64 = 1024 * 1024

  let directory: String
  /// Called before each change. Tests end the process there.
  var willChange: (@Sendable () -> Void)?

  func bodyPath(_ id: String) -> String { "\(directory)/\(id).body" }
  func metaPath(_ key: String) -> String { "\(directory)/\(Self.metaName(key))" }
  private static func metaName(_ key: String) -> String {
    Hexadecimal.text(Array(SHA256.hash(data: Array(key.utf8)))) + ".meta"
  }

  // MARK: Storing

  /// Stores body and metadata.
  ///
  /// - Returns: `false` on failure; the caller must then delete both files.
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

  /// Atomically replaces the metadata of the same key.
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

  // MARK: Deleting

  func removeMeta(_ key: String) {
    willChange?()
    _ = Disk.unlink(metaPath(key))
  }

  func removeBody(_ id: String) {
    willChange?()
    _ = Disk.unlink(bodyPath(id))
  }

  func sync() { Disk.sync(directory) }

  /// Deletes all files permanently, except for bodies that are being read.
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

  /// Returns the stored entries, least recently used first, and deletes incomplete ones.
  func open() -> [StoredEntry] {
    _ = Disk.mkdir(directory)
    let names = Disk.names(in: directory)
    let bodies = Set(names.filter { $0.hasSuffix(".body") })
    var found = names.filter { $0.hasSuffix(".meta") }.compactMap { find($0, bodies) }
      .sorted { ($0.used, $0.response.id) < ($1.used, $1.response.id) }
    // After a crash during a change of key, two metadata files may name one body. The newer one counts.
    var kept = Set<String>()
    found = found.reversed().filter { kept.insert($0.response.id).inserted }.reversed()
    let wanted = Set(found.flatMap { ["\($0.response.id).body", Self.metaName($0.response.key)] })
    for name in names where isOurs(name) && !wanted.contains(name) { remove(name) }
    return found
  }

  private func find(_ name: String, _ bodies: Set<String>) -> StoredEntry? {
    let path = "\(directory)/\(name)"
    guard let status = CacheFile.status(path), status.size <= Self.maximumMetaSize,
      let bytes = CacheFile.read(path, size: status.size), let response = CachedResponse(json: bytes),
      Self.metaName(response.key) == name, bodies.contains("\(response.id).body"),
      CacheFile.status(bodyPath(response.id))?.size == response.size
    else { return nil }
    return StoredEntry(response: response, metaSize: status.size, used: status.modified)
  }

  /// Returns the whole body; `nil` if its size or digest is wrong.
  func read(_ response: CachedResponse) -> [UInt8]? {
    guard let bytes = CacheFile.read(bodyPath(response.id), size: response.size),
      Hexadecimal.text(Array(SHA256.hash(data: bytes))) == response.sha256
    else { return nil }
    return bytes
  }
}
