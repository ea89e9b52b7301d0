import Foundation
import TestSupport

/// The packages of both clients, installed as users install them, in a directory of this test run.
struct ClientPackages {
  struct PackagingError: Error {
    let output: String
  }
  let directory: String

  /// Returns the packages of this test run. `clients/tests/prepare.sh` makes them.
  static func shared() throws -> ClientPackages { try made.get() }
  private static let made = Result { try ClientPackages() }

  private init() throws {
    directory = TemporaryDirectory.make("clients")
    let result = try ChildProcess.run(
      "/bin/bash", [ServerFiles.clientTest("prepare.sh"), directory], patience: 600)
    guard result.status == 0 else {
      throw PackagingError(output: result.output)
    }
  }

  /// The Python that has the package `ferry_client`.
  var python: String { directory + "/python/bin/python" }
  /// A package in JavaScript that has `ferry-client`.
  var node: String { directory + "/node" }
  /// Copies of the clients and examples.
  var source: String { directory + "/source" }

  /// Returns this process's variables, with others added. The path begins with the tests' Node.js.
  func environment(_ others: [String: String] = [:]) -> [String: String] {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return ChildProcess.environment(
      with: ["PATH": "\(directory)/bin:\(path)", "PYTHONDONTWRITEBYTECODE": "1"].merging(others) { $1 })
  }

  /// Starts the origin of the clients' tests.
  static func origin() throws -> ServerProcess {
    try ServerProcess(
      "origin",
      command: { _, ports in
        ServerProcess.Command(
          executable: ServerFiles.python, arguments: [ServerFiles.clientTest("origin.py"), "\(ports[0])"])
      })
  }
}
