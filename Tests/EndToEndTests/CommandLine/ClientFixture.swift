import Foundation
import JSON
import TestSupport
import Testing

/// Runs of the client's commands with directories of their own.
final class ClientFixture: Sendable {
  let directory = TemporaryDirectory.make("client")
  let state = TemporaryDirectory.make("client-state")
  /// `FERRY_SERVER` for the commands; `nil` if they start a service of their own.
  let server: String?

  init(server: FerryProcess? = nil) { self.server = server.map { "http://127.0.0.1:\($0.port)" } }

  var environment: [String: String] {
    var environment = ["XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state + "/config"]
    if let server { environment["FERRY_SERVER"] = server }
    return environment
  }

  /// Runs a command to its end.
  func run(
    _ arguments: String..., environment more: [String: String] = [:], input: FileHandle? = nil
  ) throws -> ChildProcess.Result {
    try ChildProcess.run(
      FerryProcess.binary, arguments,
      environment: ChildProcess.environment(with: environment.merging(more) { $1 }), directory: directory,
      input: input.map { .file($0) } ?? .nothing, patience: 120)
  }

  /// Runs `ferry get` for origins on loopback.
  func get(_ arguments: String...) throws -> ChildProcess.Result {
    let own = server == nil ? ["--allow-network", "127.0.0.0/8"] : []
    return try ChildProcess.run(
      FerryProcess.binary, ["get"] + own + arguments,
      environment: ChildProcess.environment(with: environment), directory: directory, patience: 120)
  }

  /// Starts `ferry get` for origins on loopback.
  func start(_ arguments: String...) throws -> ChildProcess {
    let own = server == nil ? ["--allow-network", "127.0.0.0/8"] : []
    return try ChildProcess(
      FerryProcess.binary, ["get"] + own + arguments,
      environment: ChildProcess.environment(with: environment), directory: directory, output: .nothing,
      error: .nothing)
  }

  var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted() }

  func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: directory + "/" + name).map { Array($0) }
  }

  /// The directories of state that are left.
  var states: [String] { (try? FileManager.default.contentsOfDirectory(atPath: state + "/ferry")) ?? [] }

  /// The ids of the processes of the commands' own services.
  var services: [Int32] {
    states.flatMap { name in
      ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }.filter
      {
        guard let line = FileManager.default.contents(atPath: "/proc/\($0)/cmdline") else { return false }
        return String(decoding: line, as: UTF8.self).contains("\(state)/ferry/\(name)/data")
      }
    }
  }

  deinit { for pid in services { kill(pid, SIGKILL) } }
}

extension ChildProcess.Result {
  /// The output as lines of JSON.
  var objects: [JSONValue] {
    output.split(separator: "\n").compactMap { try? JSONParser.parse(Array($0.utf8)) }
  }
}
