internal import CLinux
internal import CProcess
private import Glibc

/// What the process may use.
package enum ProcessLimits {
  /// Where the process dies by its own fault (a trap, a bad access, an abort), it leaves an empty file at `path`.
  package static func markCrashes(at path: String) { cprocess_mark_crashes(path) }

  /// From this size on, bytes are given back to the system as soon as they are freed.
  private static let mappedSize: Int32 = 256 * 1024
  /// So many bytes that are free at the end of the heap stay with the process.
  private static let keptBytes: Int32 = 1024 * 1024

  /// Bounds what the allocator keeps. By itself it makes eight arenas for each core, and never gives back what is free in the midst of
  /// one: the more threads had a peak, the more stays. Called before there are threads.
  package static func boundHeap() {
    let arenas = 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    clinux_bound_heap(Int32(arenas), mappedSize, keptBytes)
  }

  /// Leaves no core file behind: memory holds what nobody is to read.
  package static func forbidCoreFiles() { clinux_forbid_core_files() }
}
