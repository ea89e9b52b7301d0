import Foundation

/// The files in which a service keeps bodies, by the names that they would have if nobody had written others.
package enum BodyFiles {
  /// Names without what says who wrote them.
  package static func names(in directory: String) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: directory + "/bodies").map(plain))
  }

  /// The path of a file; nil where there is none.
  /// - Parameter name: without what says who wrote it.
  package static func path(_ name: String, in directory: String) -> String? {
    let bodies = directory + "/bodies"
    let names = try? FileManager.default.contentsOfDirectory(atPath: bodies)
    return names?.first { plain($0) == name }.map { "\(bodies)/\($0)" }
  }

  private static func plain(_ name: String) -> String { name.replacing(/\.[0-9]+-[0-9]+/, with: "") }
}
