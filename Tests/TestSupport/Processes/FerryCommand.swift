package import Foundation

/// The real binary, run to its end.
package enum FerryCommand {
  /// Whom a test runs it as that wants to be refused something: root is refused nothing.
  package static let nobody: UInt32 = 65_534

  /// - Parameters:
  ///   - wrapper: a command to run the binary with, such as `unshare`.
  ///   - environment: variables beside this process's.
  ///   - patience: seconds after which it is killed: it runs instead of saying what is wrong.
  package static func run(
    _ arguments: [String], wrapper: [String] = [], environment: [String: String] = [:],
    input: FileHandle? = nil, patience: Double = 30
  ) throws -> ChildProcess.Result {
    try ChildProcess.run(
      "/usr/bin/env", wrapper + [FerryProcess.binary] + arguments,
      environment: ChildProcess.environment(with: environment), input: input.map { .file($0) } ?? .nothing,
      patience: patience)
  }

  /// Runs the binary as a user without rights, where this process has them all.
  package static var asNobody: [String] {
    guard geteuid() == 0 else { return [] }
    return ["setpriv", "--reuid=\(nobody)", "--regid=\(nobody)", "--clear-groups", "--inh-caps=-all", "--"]
  }

  /// Gives a file to that user.
  package static func giveToNobody(_ path: String) {
    if geteuid() == 0 { chown(path, nobody, nobody) }
  }
}
