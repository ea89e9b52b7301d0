internal import ArgumentParser
internal import FerryClient
internal import FoundationEssentials

/// The command `ferry context`.
struct ContextCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "context", abstract: "Manage named services.",
    discussion: """
      The names are in $XDG_CONFIG_HOME/ferry/contexts.json, which only its owner may read. Client commands use the current \
      context unless --server, --context, FERRY_SERVER or FERRY_CONTEXT name another service.
      """,
    subcommands: [
      ContextListCommand.self, ContextUseCommand.self, ContextAddCommand.self, ContextRemoveCommand.self,
    ])

  fileprivate static var path: String { Contexts.path(ProcessInfo.processInfo.environment) }

  fileprivate static func change(_ body: (inout Contexts) throws(CommandFailure) -> Void)
    throws(CommandFailure)
  {
    var contexts = try Contexts(path: path)
    try body(&contexts)
    try contexts.write(to: path)
  }

  fileprivate static func check(_ name: String, in contexts: Contexts) throws(CommandFailure) {
    guard contexts.entries[name] != nil else {
      throw CommandFailure(.settings, "no context is called '\(name)'; see `ferry context ls`")
    }
  }
}

/// The command `ferry context ls`.
struct ContextListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List the contexts. A star marks the current one.")

  func run() throws {
    let contexts = try Contexts(path: ContextCommand.path)
    var table = AlignedTable(["CURRENT", "NAME", "TOKEN", "SERVER"])
    for (name, entry) in contexts.entries.sorted(by: { $0.key < $1.key }) {
      table.append([
        name == contexts.current ? "*" : "", name, entry.token == nil ? "no" : "yes", entry.server,
      ])
    }
    try Terminal.output(table.lines(width: nil, .output))
  }
}

/// The command `ferry context use`.
struct ContextUseCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "use", abstract: "Make a context the current one.")
  @Argument(help: "Name of the context.")
  var name: String

  func run() throws {
    try ContextCommand.change { (contexts) throws(CommandFailure) in
      try ContextCommand.check(name, in: contexts)
      contexts.current = name
    }
  }
}

/// The command `ferry context add`.
struct ContextAddCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add or replace a context.",
    discussion: """
      The token is read from --token-file, from FERRY_TOKEN, or from the terminal. It is never an option, because every user of \
      the machine can see a command line. The first context becomes the current one.
      """)
  @Argument(help: "Name of the context.")
  var name: String
  @Argument(help: "URL of the service.")
  var server: String
  @Option(help: ArgumentHelp("File whose first line is the token.", valueName: "file"), completion: .file())
  var tokenFile: String?
  @Flag(help: "The service needs no token.")
  var noToken = false

  func validate() throws {
    guard !noToken || tokenFile == nil else {
      throw ValidationError("--no-token excludes --token-file")
    }
  }

  func run() throws {
    let token = try token()
    do throws(ServiceAddress.Fault) { _ = try ServiceAddress(server, token: token) } catch {
      throw CommandFailure(.usage, error.description)
    }
    try ContextCommand.change { (contexts) throws(CommandFailure) in
      contexts.entries[name] = .init(server: server, token: token)
      if contexts.current == nil { contexts.current = name }
    }
  }

  private func token() throws(CommandFailure) -> String? {
    if noToken { return nil }
    if let tokenFile { return try ServerOptions.token(in: tokenFile) }
    if let token = ProcessInfo.processInfo.environment["FERRY_TOKEN"], !token.isEmpty { return token }
    let answer = try Terminal.ask("Token of \(server) (empty for none): ", isSecret: true)
    return answer.flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// The command `ferry context rm`.
struct ContextRemoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "rm", abstract: "Delete a context.")
  @Argument(help: "Name of the context.")
  var name: String

  func run() throws {
    try ContextCommand.change { (contexts) throws(CommandFailure) in
      try ContextCommand.check(name, in: contexts)
      contexts.entries[name] = nil
      if contexts.current == name { contexts.current = nil }
    }
  }
}
