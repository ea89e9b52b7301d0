import Foundation

/// The text files of the checkout.
enum SourceTree {
  struct File {
    let path: String
    let text: String
    private static let visibilities: Set<Substring> = [
      "package", "internal", "public", "private", "@testable",
    ]
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    var imports: [String] {
      lines.compactMap { line in
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), Self.visibilities.isSuperset(of: words[..<index])
        else { return nil }
        return words.dropFirst(index + 1).first.map(String.init)
      }
    }
  }

  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// Returns the paths of all files in a folder.
  static func files(under folder: String) throws -> [String] {
    let base = root.appendingPathComponent(folder)
    return try FileManager.default.subpathsOfDirectory(atPath: base.path).map { "\(folder)/\($0)" }
      .filter { path in
        var isDirectory: ObjCBool = false
        let path = root.appendingPathComponent(path).path
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
          && !isDirectory.boolValue
      }
  }

  /// Returns the Swift files by target.
  static func swiftFiles(under folder: String) throws -> [String: [File]] {
    var files: [String: [File]] = [:]
    let base = root.appendingPathComponent(folder)
    for target in try FileManager.default.contentsOfDirectory(atPath: base.path) {
      for name in try FileManager.default.subpathsOfDirectory(
        atPath: base.appendingPathComponent(target).path)
      where name.hasSuffix(".swift") {
        let path = "\(folder)/\(target)/\(name)"
        files[target, default: []].append(File(path: path, text: try text(path)))
      }
    }
    return files
  }
}
