import ArgumentParser
import EventLoop
import FerrySettings
import Glibc
import Processes

/// The command line: one subcommand, one file.
@main
struct Ferry: AsyncParsableCommand {
  static let version = "0.1.0"
  static let configuration = CommandConfiguration(
    commandName: "ferry", abstract: "URLSession for every program, as a REST service.",
    version: VersionText.text,
    subcommands: [
      ServeCommand.self, WorkerCommand.self, ConfigCommand.self, StopCommand.self, HealthCommand.self,
      RotateKeyCommand.self,
    ])

  static func main() async {
    ProcessLimits.boundHeap()
    do {
      var command = try await asyncParseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      end(with: error)
    }
  }

  /// Help goes to standard output; what is wrong is one line on standard error, and the exit status says of what kind it is.
  private static func end(with error: any Error) -> Never {
    guard !exitCode(for: error).isSuccess else { exit(withError: error) }
    let (line, status) = ending(for: error)
    if let line { StandardError.write(Array("ferry: \(printable(line))\n".utf8)) }
    Glibc.exit(status)
  }

  private static func ending(for error: any Error) -> (line: String?, status: Int32) {
    switch error {
    case let error as SettingsError: return (error.description, EX_CONFIG)
    case let error as StartError: return (error.description, EXIT_FAILURE)
    case let code as ExitCode: return (nil, code.rawValue)
    default: break
    }
    let status = exitCode(for: error).rawValue
    guard status == EX_USAGE else { return ("\(error)", EXIT_FAILURE) }
    return (message(for: error) + help(for: error), status)
  }

  /// Which help the usage that ArgumentParser would print refers to.
  private static func help(for error: any Error) -> String {
    fullMessage(for: error).firstMatch(of: /See '([^']+)'/).map { " (see '\($0.1)')" } ?? ""
  }

  /// In one line.
  private static func printable(_ text: String) -> String {
    text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }.joined()
  }
}
