import Foundation

/// Files for the tests' servers.
package enum ServerFiles {
  /// Returns the path of a file in `Tests/Servers`.
  package static func path(_ name: String) -> String {
    checkout + "/Tests/Servers/" + name
  }

  /// Returns the path of a program in `Tests/Clients`.
  package static func client(_ name: String) -> String { checkout + "/Tests/Clients/" + name }

  /// Returns the path of a program in `clients/tests`.
  package static func clientTest(_ name: String) -> String { checkout + "/clients/tests/" + name }

  /// The program that generates the clients.
  package static var generator: String { checkout + "/clients/generate.py" }

  package static var openAPI: String { checkout + "/openapi.yaml" }

  /// The Python that `scripts/test-venv.sh` installs.
  package static var python: String { checkout + "/.build/test-venv/bin/python" }

  private static var checkout: String { Checkout.root.path }

  /// Writes static files with `NginxServer.contents(_:)`, given by name and size, to a folder.
  static func write(_ files: [String: Int], to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for (name, size) in files { try write(NginxServer.contents(size), to: folder + "/" + name) }
  }

  static func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

  static func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}
