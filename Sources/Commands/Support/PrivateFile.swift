internal import FoundationEssentials
internal import Glibc
internal import Processes
internal import EventLoop

/// Files that only the user can read.
enum PrivateFile {
  /// Makes a directory that only the user can read, with its parents.
  static func makeDirectory(_ path: String) throws(CommandFailure) {
    try OutputDirectory.make(path, permissions: 0o700)
  }

  /// Replaces a file by one of mode 0600.
  static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
    try makeDirectory(OutputDirectory.of(path))
    let draft = path + ".new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw CommandFailure(.file, "\(draft): \(ProcessHandle.text(ofError: errno))")
    }
    let isWhole = DescriptorTransfer.writeAll(bytes, to: descriptor) && fsync(descriptor) == 0
    close(descriptor)
    guard isWhole, rename(draft, path) == 0 else {
      let reason = ProcessHandle.text(ofError: errno)
      unlink(draft)
      throw CommandFailure(.file, "\(path) cannot be written: \(reason)")
    }
  }

  /// Returns the first line of a file; `nil` if it does not exist.
  static func line(_ path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    return text.firstLine
  }
}
