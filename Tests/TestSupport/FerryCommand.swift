import EventLoop
package import Foundation

/// The real binary, run to its end.
package enum FerryCommand {
  /// Whom a test runs it as that wants to be refused something: root is refused nothing.
  package static let nobody: UInt32 = 65_534

  package struct Result: Sendable {
    package let status: Int32
    /// What it wrote to its standard output and error.
    package let output: String
  }

  /// - Parameters:
  ///   - wrapper: a command to run the binary with, such as `unshare`.
  ///   - environment: variables beside this process's.
  ///   - patience: seconds after which it is killed: it runs instead of saying what is wrong.
  package static func run(
    _ arguments: [String], wrapper: [String] = [], environment: [String: String] = [:],
    input: FileHandle? = nil, patience: Double = 30
  ) throws -> Result {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = wrapper + [FerryProcess.binary] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    if let input { process.standardInput = input }
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let pid = process.processIdentifier
    let isOver = Gate()
    Thread.spawn(name: "test-patience") {
      if !isOver.wait(seconds: patience) { kill(pid, SIGKILL) }
    }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    isOver.open()
    return Result(status: process.terminationStatus, output: String(decoding: data, as: UTF8.self))
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
