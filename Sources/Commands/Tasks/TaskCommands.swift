internal import ArgumentParser
internal import FerryClient
internal import JSON

/// The tasks that a command concerns: ids, or filters.
struct TaskChoice: ParsableArguments {
  @Argument(help: "Ids of tasks, or their last 8 or more characters.")
  var ids: [String] = []
  @OptionGroup var filter: TaskSelector
  @Flag(help: "All tasks.")
  var all = false
  @Flag(help: "Only count the tasks that the filters select.")
  var dryRun = false

  func validate() throws {
    guard ids.isEmpty || filter.isEmpty && !all && !dryRun else {
      throw ValidationError("ids exclude filters, --all and --dry-run; omit the ids or the others")
    }
    guard !ids.isEmpty || !filter.isEmpty || all else {
      throw ValidationError("no task is named; give ids, a filter such as --failed, or --all")
    }
    guard !all || filter.isEmpty else { throw ValidationError("--all and filters exclude each other") }
  }

  /// Sends a command for the tasks, and reports each task or the count.
  /// - Parameters:
  ///   - verb: the last part of the path of the command for many tasks.
  ///   - done: the participle for reports.
  func perform(
    _ verb: String, done: String, on connection: ServiceConnection
  ) async throws(CommandFailure) {
    guard !ids.isEmpty else {
      let reply = try await connection.reply(
        ServiceRequest("POST", "/v1/tasks/\(verb)", json: filter.selection(all: all, dryRun: dryRun)))
      let matched = reply["matched"]?.integer ?? 0
      let (changed, failed) = (reply["changed"]?.integer ?? 0, reply["failed"]?.integer ?? 0)
      try Terminal.output([dryRun ? "\(matched) tasks match" : "\(done) \(changed) of \(matched) tasks"])
      if failed > 0 { throw CommandFailure(.unreachable, "\(failed) tasks could not be changed; try again") }
      return
    }
    var first: CommandFailure?
    for id in try await ShortID.tasks(ids, on: connection) {
      do throws(CommandFailure) {
        let reply = try await connection.reply(.command(verb, task: id))
        let new = reply["id"]?.string
        // The service leaves a task as it is that has ended.
        if let outcome = reply["outcome"]?.string, verb != "retry", verb != "delete",
          reply["state"]?.string == "completed",
          !(verb == "cancel" && outcome == "cancelled")
        {
          ErrorOutput.write("\(id) has already ended: \(outcome)")
          continue
        }
        try Terminal.output(["\(done) \(id)\(new != nil && new != id ? " as \(new ?? "")" : "")"])
      } catch {
        if let message = error.message { ErrorOutput.write("\(id): \(message)") }
        first = first ?? CommandFailure(error.cause)
      }
    }
    if let first { throw first }
  }
}

/// A command for tasks.
protocol TaskCommand: ClientCommand {
  static var verb: String { get }
  /// The participle of the verb, for reports.
  static var done: String { get }
  var choice: TaskChoice { get }
}

extension TaskCommand {
  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    try await choice.perform(Self.verb, done: Self.done, on: connection)
  }
}

/// The command `ferry cancel`.
struct CancelCommand: TaskCommand {
  static let configuration = CommandConfiguration(commandName: "cancel", abstract: "Cancel tasks.")
  static let (verb, done) = ("cancel", "cancelled")
  @OptionGroup var choice: TaskChoice
  @OptionGroup var service: ServerOptions
}

/// The command `ferry suspend`.
struct SuspendCommand: TaskCommand {
  static let configuration = CommandConfiguration(commandName: "suspend", abstract: "Suspend tasks.")
  static let (verb, done) = ("suspend", "suspended")
  @OptionGroup var choice: TaskChoice
  @OptionGroup var service: ServerOptions
}

/// The command `ferry resume`.
struct ResumeCommand: TaskCommand {
  static let configuration = CommandConfiguration(commandName: "resume", abstract: "Resume suspended tasks.")
  static let (verb, done) = ("resume", "resumed")
  @OptionGroup var choice: TaskChoice
  @OptionGroup var service: ServerOptions
}

/// The command `ferry retry`.
struct RetryCommand: TaskCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Repeat failed tasks.",
    discussion: """
      A failed or cancelled task gets a new task with the same request, whose id is printed. A task that waits for its next \
      attempt starts it now.
      """)
  static let (verb, done) = ("retry", "retried")
  @OptionGroup var choice: TaskChoice
  @OptionGroup var service: ServerOptions
}

/// The command `ferry rm`.
struct RemoveCommand: TaskCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Delete ended tasks with their bodies and events.")
  static let (verb, done) = ("delete", "deleted")
  @OptionGroup var choice: TaskChoice
  @OptionGroup var service: ServerOptions
}
