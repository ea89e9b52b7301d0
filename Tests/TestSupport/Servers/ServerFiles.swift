import Foundation

/// Files that the tests' servers are made of.
package enum ServerFiles {
  /// One of those in `Tests/Servers`.
  package static func path(_ name: String) -> String {
    checkout + "/Tests/Servers/" + name
  }

  /// One of the programs in `Tests/Clients`.
  package static func client(_ name: String) -> String { checkout + "/Tests/Clients/" + name }

  package static var openAPI: String { checkout + "/openapi.yaml" }

  /// The Python of `scripts/test-venv.sh`.
  package static var python: String { checkout + "/.build/test-venv/bin/python" }

  private static var checkout: String { Checkout.root.path }

  /// Static files, name and size, in a folder; their bytes are `NginxServer.contents(_:)`.
  static func write(_ files: [String: Int], to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for (name, size) in files { try write(NginxServer.contents(size), to: folder + "/" + name) }
  }

  static func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

  static func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}
