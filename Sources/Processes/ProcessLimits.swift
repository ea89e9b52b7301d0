internal import CLinux
internal import CProcess
private import Glibc

/// Limits of the process's memory and core files.
package enum ProcessLimits {
  /// Creates an empty file at `path` if the process crashes (a trap, a bad access, an abort).
  package static func markCrashes(at path: String) { cprocess_mark_crashes(path) }

  /// The size in bytes from which allocations are mapped separately, so that freeing them returns the memory to the system.
  private static let mappedSize: Int32 = 256 * 1024
  /// The most free bytes at the end of the heap that stay with the process.
  private static let keptBytes: Int32 = 1024 * 1024

  /// Limits the memory that the allocator keeps. By default it creates eight arenas per core and never returns free memory in the middle of
  /// an arena. Each thread with a peak adds to that. Call before threads exist.
  package static func boundHeap() {
    let arenas = 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    clinux_limit_heap(Int32(arenas), mappedSize, keptBytes)
  }

  /// Forbids core files, because memory holds secrets.
  package static func forbidCoreFiles() { clinux_forbid_core_files() }
}
