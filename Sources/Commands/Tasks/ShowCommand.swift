internal import ArgumentParser
internal import FerryClient
internal import JSON

/// The command `ferry show`.
struct ShowCommand: ClientCommand {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one task.")

  @Argument(help: "Id of the task, or its last 8 or more characters.")
  var id: String
  @Flag(help: "Print the task as one line of JSON.")
  var json = false
  @OptionGroup var service: ServerOptions

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    let id = try await ShortID.task(id, on: connection)
    let task = try await connection.reply(ServiceRequest("GET", "/v1/tasks/\(id)"))
    let lines = json ? [JSONLine.text(task)] : TaskText(json: task).description.map { $0.text(.output) }
    try Terminal.output(lines)
  }
}

/// The command `ferry cat`.
struct CatCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "cat", abstract: "Write the body of a task's response to standard output.",
    discussion: "The body of a running data task is written while it arrives.")

  @Argument(help: "Id of the task, or its last 8 or more characters.")
  var id: String
  @OptionGroup var service: ServerOptions

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    let id = try await ShortID.task(id, on: connection)
    let stream = try await CommandFailure.converting { () async throws(ServiceError) in
      try await connection.stream(ServiceRequest("GET", "/v1/tasks/\(id)/body"))
    }
    while true {
      let bytes: [UInt8]?
      do throws(ServiceError) { bytes = try await stream.next() } catch { throw CommandFailure(error) }
      guard let bytes else { return }
      try CommandOutput.write(bytes)
    }
  }
}
