internal import EventLoop
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// A file that is uploaded to the service.
final class UploadFile: Sendable {
  private static let pieceSize = 256 << 10
  private let descriptor: Int32
  let size: Int64

  init(_ url: URL) throws(FerryError) {
    descriptor = Disk.open(url.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code: FerryError.Code = errno == ENOENT ? .fileDoesNotExist : .noPermissionsToReadFile
      throw FerryError(code, message: "\(url.path): \(SystemError(errno))", failingURL: url)
    }
    size = Disk.size(of: descriptor) ?? 0
  }

  deinit { close(descriptor) }

  /// Returns the next bytes; `nil` at the end.
  func read() throws -> [UInt8]? {
    guard let bytes = DescriptorTransfer.read(descriptor, upTo: Self.pieceSize) else {
      throw FerryError(.noPermissionsToReadFile, message: "\(SystemError(errno))")
    }
    return bytes.isEmpty ? nil : bytes
  }
}

/// A temporary file that receives a download. It is deleted unless it is kept.
final class DownloadFile: Sendable {
  let url: URL
  private let descriptor: Int32
  private let isKept = Mutex(false)

  init() throws(FerryError) {
    let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let path = "\(directory)/ferry-\(UUID().uuidString.lowercased()).tmp"
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw FerryError(.cannotCreateFile, message: "\(path): \(SystemError(errno))")
    }
    url = URL(fileURLWithPath: path)
  }

  deinit {
    close(descriptor)
    if !isKept.withLock({ $0 }) { _ = Disk.unlink(url.path) }
  }

  func keep() { isKept.withLock { $0 = true } }

  func write(_ data: Data) throws(FerryError) {
    guard data.withUnsafeBytes({ DescriptorTransfer.writeAll($0, to: descriptor) }) else {
      throw FerryError(.cannotWriteToFile, message: "\(SystemError(errno))")
    }
  }
}
