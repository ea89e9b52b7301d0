internal import CLinux
private import Glibc

/// The trimming of the heap, which returns free memory in the middle of the allocator's arenas to the system. After a peak there is much of
/// it. The allocator itself returns only the memory at the end of an arena (malloc_trim(3)).
package struct HeapTrim: Sendable {
  /// The growth of the process, in bytes, after which the heap is trimmed.
  static let growth = 32 << 20
  /// The resident size after the last trim, in bytes.
  private var resident = 0

  package init() {}

  /// Trims the heap if the process has grown enough. Called from time to time. A trim takes a few milliseconds, during which other threads
  /// wait for their arena.
  /// - Returns: whether the heap was trimmed.
  @discardableResult package mutating func trimIfNeeded() -> Bool {
    let now = Self.residentBytes
    guard now > resident + Self.growth else {
      resident = min(resident, now)
      return false
    }
    clinux_trim_heap()
    resident = Self.residentBytes
    return true
  }

  /// The resident size of this process in bytes; 0 if the system does not report it (proc_pid_statm(5)).
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
