internal import EventLoop
internal import CLinux
internal import Glibc

/// Small files that are replaced atomically.
package enum DurableFile {
  /// Replaces a file that only its owner may read; `false` on failure. After a crash the file has the old or the new content.
  package static func write(_ bytes: [UInt8], to path: String) -> Bool {
    let temporary = path + ".new"
    let descriptor = Disk.open(temporary, O_WRONLY | O_CREAT | O_TRUNC)
    guard descriptor >= 0 else { return false }
    let isWritten =
      Glibc.write(descriptor, bytes, bytes.count) == bytes.count && Disk.syncData(descriptor) == 0
    Disk.close(descriptor)
    guard isWritten, Disk.rename(temporary, path) == 0 else {
      _ = Disk.unlink(temporary)
      return false
    }
    Disk.syncParent(of: path)
    return true
  }
}
