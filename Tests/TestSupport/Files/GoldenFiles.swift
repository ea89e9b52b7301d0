import Foundation
package import Testing

/// Stored documents of each version, in `Tests/Golden`. These files never change and must stay readable.
package enum GoldenFiles {
  private static let root = Checkout.root.appendingPathComponent("Tests/Golden")

  package static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: root.appendingPathComponent(name)))
  }

  package static func text(_ name: String) throws -> String {
    String(decoding: try bytes(name), as: UTF8.self)
  }

  package static func lines(_ name: String) throws -> [String] {
    try text(name).split(separator: "\n").map(String.init)
  }

  /// Returns the names of the files in a folder.
  package static func names(in folder: String) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path))
  }

  /// Expects that the written bytes equal the golden file. If there is no such file, the function creates the file
  /// for review, and the test fails once.
  package static func expect(
    _ written: [UInt8], is name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let file = root.appendingPathComponent(name)
    guard FileManager.default.fileExists(atPath: file.path) else {
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(written).write(to: file)
      Issue.record(
        "the golden file \(name) did not exist and was created; review it", sourceLocation: sourceLocation)
      return
    }
    #expect(
      String(decoding: written, as: UTF8.self) == String(decoding: try bytes(name), as: UTF8.self),
      "the output differs from the golden file \(name); a different format needs a new version",
      sourceLocation: sourceLocation)
  }

  package static func expect(
    _ written: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try expect(Array(written.utf8), is: name, sourceLocation: sourceLocation)
  }
}
