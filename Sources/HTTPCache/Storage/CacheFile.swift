internal import EventLoop
internal import Glibc
internal import TransferModel

/// System calls on whole files. All of them block, so only the pool's threads may call them.
enum CacheFile {
  /// Writes and syncs a file that only its owner may read; `false` on failure.
  static func write(_ bytes: [UInt8], to path: String, modified time: Timestamp? = nil) -> Bool {
    let descriptor = Disk.open(path, O_WRONLY | O_CREAT | O_TRUNC)
    guard descriptor >= 0 else { return false }
    defer { Disk.close(descriptor) }
    guard DescriptorTransfer.writeAll(bytes, to: descriptor) else { return false }
    if let time { setModified(time) { futimens(descriptor, $0) } }
    return Disk.syncData(descriptor) == 0
  }

  /// Links a file of exactly that size to a second path, or copies it if the paths are on different file systems.
  static func link(_ source: String, to path: String, size: Int64) -> Bool {
    if Disk.link(source, path) != 0 {
      guard [EXDEV, EPERM, EMLINK, ENOTSUP].contains(errno), copy(source, to: path) else { return false }
    }
    return status(path)?.size == size
  }

  static func copy(_ source: String, to path: String) -> Bool {
    let input = Disk.open(source, O_RDONLY)
    guard input >= 0 else { return false }
    defer { Disk.close(input) }
    let output = Disk.open(path, O_WRONLY | O_CREAT | O_EXCL)
    guard output >= 0 else { return false }
    defer { Disk.close(output) }
    var chunk = [UInt8](repeating: 0, count: 256 * 1024)
    while true {
      let count = Glibc.read(input, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      if count == 0 { return Disk.syncData(output) == 0 }
      guard count > 0,
        chunk.withUnsafeBytes({
          DescriptorTransfer.writeAll(UnsafeRawBufferPointer(rebasing: $0[..<count]), to: output)
        })
      else { return false }
    }
  }

  /// Returns the content of a file of exactly that size; `nil` if the file does not exist or has another size.
  static func read(_ path: String, size: Int64) -> [UInt8]? {
    let descriptor = Disk.open(path, O_RDONLY)
    guard descriptor >= 0 else { return nil }
    defer { Disk.close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, Int64(status.st_size) == size else { return nil }
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, initialized in
      while initialized < Int(size), let start = buffer.baseAddress {
        let count = pread(descriptor, start + initialized, Int(size) - initialized, off_t(initialized))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        initialized += count
      }
    }
    return Int64(bytes.count) == size ? bytes : nil
  }

  static func status(_ path: String) -> (size: Int64, modified: Timestamp)? {
    Disk.mayBlock()
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let time = status.st_mtim
    let modified = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    return (Int64(status.st_size), Timestamp(microseconds: modified))
  }

  static func touch(_ path: String, _ time: Timestamp) {
    Disk.mayBlock()
    setModified(time) { utimensat(AT_FDCWD, path, $0, AT_SYMLINK_NOFOLLOW) }
  }

  private static func setModified(_ time: Timestamp, _ set: (UnsafePointer<timespec>) -> Int32) {
    let seconds = timespec(
      tv_sec: Int(time.seconds), tv_nsec: Int(time.microseconds % 1_000_000) * 1000)
    _ = [seconds, seconds].withUnsafeBufferPointer { times in times.baseAddress.map(set) }
  }
}
