import Foundation
import Glibc
import Synchronization

/// Temporary directories of tests, which are deleted when the process exits, whether its tests pass or fail.
package enum TemporaryDirectory {
  private struct State {
    /// The root directory of this process, by the directory that contains it.
    var roots: [String: String] = [:]
    var count = 0
  }
  private static let state = Mutex(State())
  private static let removal: Void = {
    atexit { TemporaryDirectory.remove() }
  }()

  /// - Parameter inMemory: Whether to use the file system in memory, if this machine has one.
  package static func make(_ name: String, inMemory: Bool = false) -> String {
    _ = removal
    let memory = "/dev/shm"
    let base = inMemory && access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory()
    let path = state.withLock { state in
      let root = state.roots[base] ?? makeRoot(in: base)
      state.roots[base] = root
      state.count += 1
      return "\(root)/\(name)-\(state.count)"
    }
    try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private static func makeRoot(in base: String) -> String {
    let name = base.hasSuffix("/") ? base + "ferry-XXXXXX" : base + "/ferry-XXXXXX"
    return name.withCString { name in
      guard let template = strdup(name), let made = mkdtemp(template) else {
        preconditionFailure("no directory can be made in \(base)")
      }
      defer { free(template) }
      // Servers that root starts run as another user, and that user has to enter the directory.
      chmod(made, 0o755)
      return String(cString: made)
    }
  }

  private static func remove() {
    for root in state.withLock({ $0.roots.values }) { try? FileManager.default.removeItem(atPath: root) }
  }
}
