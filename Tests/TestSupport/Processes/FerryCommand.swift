package import Foundation

/// Runs of the real binary to its end.
package enum FerryCommand {
  /// The user without privileges. Tests of refused access use it, because root is refused nothing.
  package static let nobody: UInt32 = 65_534

  /// - Parameters:
  ///   - wrapper: A command that runs the binary, such as `unshare`.
  ///   - environment: Additional variables.
  ///   - patience: The seconds after which the binary is killed, in case it serves instead of reporting an error.
  package static func run(
    _ arguments: [String], wrapper: [String] = [], environment: [String: String] = [:],
    input: FileHandle? = nil, patience: Double = Patience.seconds
  ) throws -> ChildProcess.Result {
    try ChildProcess.run(
      "/usr/bin/env", wrapper + [FerryProcess.binary] + arguments,
      environment: ChildProcess.environment(with: environment), input: input.map { .file($0) } ?? .nothing,
      patience: patience)
  }

  /// The wrapper that runs the binary as the user without privileges. Empty unless this process is root.
  package static var asNobody: [String] {
    guard geteuid() == 0 else { return [] }
    return ["setpriv", "--reuid=\(nobody)", "--regid=\(nobody)", "--clear-groups", "--inh-caps=-all", "--"]
  }

  /// Makes the user without privileges the owner of a file.
  package static func giveToNobody(_ path: String) {
    if geteuid() == 0 { chown(path, nobody, nobody) }
  }
}
