internal import CLinux
internal import CProcess

/// What the process may use.
package enum ProcessLimits {
  /// Where the process dies by its own fault (a trap, a bad access, an abort), it leaves an empty file at `path`.
  package static func markCrashes(at path: String) { cprocess_mark_crashes(path) }

  /// Leaves no core file behind: memory holds what nobody is to read.
  package static func forbidCoreFiles() { clinux_forbid_core_files() }
}
