import Foundation
import TestSupport

/// A command on a pseudoterminal, which `script` of util-linux provides.
final class TerminalSession {
  /// The terminal can show colours, and the user wants them.
  private static let terminal = ["TERM": "xterm", "NO_COLOR": ""]
  private let child: ChildProcess
  private let input = Pipe()
  private let output = Pipe()
  private(set) var text = ""

  /// The text without escape sequences.
  var plain: String { text.replacing(/\u{1B}\[[0-9]*[A-Za-z]/, with: "") }

  init(
    _ arguments: [String], columns: Int = 80, environment more: [String: String] = [:],
    _ client: ClientFixture
  ) throws {
    let command = ([FerryProcess.binary] + arguments).map { "'\($0)'" }.joined(separator: " ")
    child = try ChildProcess(
      "/usr/bin/script", ["-qec", "stty cols \(columns) rows 24; \(command)", "/dev/null"],
      environment: ChildProcess.environment(
        with: Self.terminal.merging(client.environment) { $1 }.merging(more) { $1 }),
      directory: client.directory,
      input: .pipe(input), output: .pipe(output), error: nil)
  }

  /// Reads until the output has a text as often as given.
  func expect(_ part: String, _ times: Int = 1) -> Bool {
    while text.ranges(of: part).count < times {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { return false }
      text += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  func type(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

  func end() -> Int32 {
    while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
      text += String(decoding: data, as: UTF8.self)
    }
    return child.terminationStatus
  }
}
