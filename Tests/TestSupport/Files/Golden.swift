import Foundation
package import Testing

/// Documents as some version has written them, in `Tests/Golden`: a file that is there never changes, and is read for ever.
package enum Golden {
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

  /// The names of those in a folder.
  package static func names(in folder: String) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path))
  }

  /// What is written now is what stands in the file, byte for byte. Where there is no such file it is made, for somebody to look at;
  /// the test fails once.
  package static func expect(
    _ written: [UInt8], is name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let file = root.appendingPathComponent(name)
    guard FileManager.default.fileExists(atPath: file.path) else {
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(written).write(to: file)
      Issue.record("there was no \(name), and is one now: look at it", sourceLocation: sourceLocation)
      return
    }
    #expect(
      String(decoding: written, as: UTF8.self) == String(decoding: try bytes(name), as: UTF8.self),
      "\(name) is written another way: that is another version", sourceLocation: sourceLocation)
  }

  package static func expect(
    _ written: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try expect(Array(written.utf8), is: name, sourceLocation: sourceLocation)
  }
}
