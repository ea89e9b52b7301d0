import Foundation

/// The files of bodies in a data directory, by their names without the stamp of epoch and attempt.
package enum BodyFiles {
  /// Returns the names without stamps.
  package static func names(in directory: String) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: directory + "/bodies").map(plain))
  }

  /// Returns the path of a file, or `nil` if there is no such file.
  /// - Parameter name: The name without its stamp.
  package static func path(_ name: String, in directory: String) -> String? {
    let bodies = directory + "/bodies"
    let names = try? FileManager.default.contentsOfDirectory(atPath: bodies)
    return names?.first { plain($0) == name }.map { "\(bodies)/\($0)" }
  }

  private static func plain(_ name: String) -> String { name.replacing(/\.[0-9]+-[0-9]+/, with: "") }
}
