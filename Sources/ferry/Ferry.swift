import ArgumentParser
import Commands
import FerrySettings
import Glibc
import Processes

/// The command line. Each subcommand has its own file.
@main
struct Ferry: AsyncParsableCommand {
  static let version = "0.1.0"
  static let configuration = CommandConfiguration(
    commandName: "ferry", abstract: "URLSession for every program, as a REST service.",
    version: VersionText.text,
    subcommands: [
      ServeCommand.self, WorkerCommand.self, ConfigCommand.self, StopCommand.self, HealthCommand.self,
      RotateKeyCommand.self,
    ] + ClientCommands.all)

  static func main() async {
    ProcessLimits.boundHeap()
    // Swift would replace the bytes, so that two names could become one.
    for number in 1..<max(1, CommandLine.argc) {
      guard let text = unsafe CommandLine.unsafeArgv[Int(number)],
        unsafe String(validatingCString: text) == nil
      else {
        continue
      }
      ErrorOutput.write("argument \(number) is not UTF-8 text; rename the file, or escape the URL")
      Glibc.exit(EX_USAGE)
    }
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

  /// Prints help to standard output. An error becomes one line on standard error and an exit status for its kind.
  private static func end(with error: any Error) -> Never {
    guard !exitCode(for: error).isSuccess else {
      do throws(CommandFailure) {
        try CommandOutput.write(Array((fullMessage(for: error) + "\n").utf8))
        Glibc.exit(EXIT_SUCCESS)
      } catch { end(with: error) }
    }
    let (line, status) = ending(for: error)
    if let line { ErrorOutput.write(printable(line)) }
    Glibc.exit(status)
  }

  private static func ending(for error: any Error) -> (line: String?, status: Int32) {
    switch error {
    case let error as SettingsError: return (error.description, EX_CONFIG)
    case let error as CommandFailure: return (error.message, error.cause.rawValue)
    case let error as StartError: return (error.description, EXIT_FAILURE)
    case let code as ExitCode: return (nil, code.rawValue)
    default: break
    }
    let status = exitCode(for: error).rawValue
    guard status == EX_USAGE else { return ("\(error)", EXIT_FAILURE) }
    let text = message(for: error)
    return (text + presentName(in: text) + help(for: error), status)
  }

  /// Returns a hint that names the present name of a renamed option.
  private static func presentName(in message: String) -> String {
    guard let option = message.firstMatch(of: /^Unknown option '([^']+)'/)?.1,
      let present = RenamedSettings.presentName(of: String(option))
    else { return "" }
    return "; it is called \(present) now"
  }

  /// Returns a reference to the help that ArgumentParser would suggest.
  private static func help(for error: any Error) -> String {
    fullMessage(for: error).firstMatch(of: /See '([^']+)'/).map { " (see '\($0.1)')" } ?? ""
  }

  /// Replaces control characters, so that the text is one line.
  private static func printable(_ text: String) -> String {
    text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }.joined()
  }
}
