internal import CLinux
private import Glibc

/// Gives memory back to the system that was freed in the midst of the allocator's arenas: after a peak, much of it is there, and the
/// allocator gives back by itself only what lies at an arena's end (malloc_trim(3)).
package struct HeapTrim: Sendable {
  /// Bytes by which the process has to grow before it looks.
  static let growth = 32 << 20
  /// Resident bytes after the last look.
  private var resident = 0

  package init() {}

  /// Called now and then. It takes a few milliseconds where there is something to give back, in which others wait for the arena that they
  /// share.
  /// - Returns: whether it had grown by enough.
  @discardableResult package mutating func look() -> Bool {
    let now = Self.residentBytes
    guard now > resident + Self.growth else {
      resident = min(resident, now)
      return false
    }
    clinux_trim_heap()
    resident = Self.residentBytes
    return true
  }

  /// Of this process; 0 where the system does not tell (proc_pid_statm(5)).
  static var residentBytes: Int {
    let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 128)
    let count = read(descriptor, &text, text.count)
    let words = text.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
    guard words.count > 1, let pages = Int(String(decoding: words[1], as: UTF8.self)) else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }
}
