import Foundation
import Glibc
import Synchronization

/// Directories for tests. They lie in one directory of the process, which is removed when the process ends, whether its tests pass or fail.
package enum TemporaryDirectory {
  private struct State {
    /// By the directory in which each lies.
    var roots: [String: String] = [:]
    var count = 0
  }
  private static let state = Mutex(State())
  private static let removal: Void = {
    atexit { TemporaryDirectory.remove() }
  }()

  /// - Parameter inMemory: on the file system in memory, if this machine has one.
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
      // Servers that root starts work as another user.
      chmod(made, 0o755)
      return String(cString: made)
    }
  }

  private static func remove() {
    for root in state.withLock({ $0.roots.values }) { try? FileManager.default.removeItem(atPath: root) }
  }
}
