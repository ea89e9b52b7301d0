import Foundation
import TestSupport
import Testing

/// A program of `examples`, in one of its languages.
struct ExampleProgram: CustomTestStringConvertible {
  enum Language: String, CaseIterable, Sendable {
    case shell, python, typescript
  }
  static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  let language: Language
  let name: String
  var testDescription: String { "\(name) in \(language)" }

  private func command(_ packages: ClientPackages) -> [String] {
    let path = "\(packages.source)/examples/\(language)/"
    return switch language {
    case .shell: ["bash", path + name + ".sh"]
    case .python: [packages.python, path + name + ".py"]
    case .typescript: ["node", path + "dist/" + name + ".js"]
    }
  }

  private func environment(_ packages: ClientPackages, _ others: [String: String]) -> [String: String] {
    let login = ["SECRET": Self.secret, "ORIGIN_USER": "alice", "ORIGIN_PASSWORD": "wonderland"]
    return packages.environment(login.merging(others) { $1 })
  }

  /// Runs the program in a directory and waits for its end.
  func run(_ arguments: [String], environment: [String: String], in directory: String) throws
    -> ChildProcess.Result
  {
    let packages = try ClientPackages.shared()
    return try ChildProcess.run(
      "/usr/bin/env", command(packages) + arguments, environment: self.environment(packages, environment),
      directory: directory, patience: 120)
  }

  /// Starts a program that listens on a port. Its output is in `output.log`.
  func server(_ environment: [String: String] = [:]) throws -> ServerProcess {
    let packages = try ClientPackages.shared()
    return try ServerProcess(
      name,
      command: { _, ports in
        ServerProcess.Command(
          executable: "/usr/bin/env", arguments: command(packages) + ["\(ports[0])"],
          environment: self.environment(packages, environment))
      })
  }
}
