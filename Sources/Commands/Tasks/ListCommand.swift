internal import ArgumentParser
internal import FerryClient
internal import JSON

/// The form of a list.
enum ListForm: String, ExpressibleByArgument, CaseIterable {
  case wide, json
}

/// The command `ferry ls`.
struct ListCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List tasks, the newest first.",
    discussion: """
      The first column is the short form of an id, which other commands accept. Lists have a header on a terminal and in pipes. \
      `-o json` prints one task a line instead, without a header.
      """)

  @OptionGroup var filter: TaskSelector
  @Option(name: .shortAndLong, help: ArgumentHelp("Form of the list: wide or json.", valueName: "form"))
  var output: ListForm?
  @Flag(help: "The same as --output json.")
  var json = false
  @Option(help: "Maximum number of tasks.")
  var limit = 100
  @OptionGroup var service: ServerOptions

  func validate() throws {
    try OptionText.checkLimit(limit)
  }

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    let tasks = try await connection.items("/v1/tasks", filter.query + [("order", "newest")], upTo: limit)
    if json || output == .json { return try Terminal.output(tasks.map(JSONLine.text)) }
    var table = AlignedTable(
      output == .wide
        ? ["ID", "SESSION", "KIND", "STATUS", "PROGRESS", "RETRIES", "AGE", "ERROR", "URL"]
        : ["ID", "STATUS", "PROGRESS", "AGE", "URL"], states: "STATUS")
    for task in tasks.map(TaskText.init) {
      let retries = task.json["retryCount"]?.integer ?? 0
      table.append(
        output == .wide
          ? [
            task.id, task.json["sessionId"]?.string ?? "", task.json["kind"]?.string ?? "", task.status,
            task.progress, "\(retries)", task.age, task.error ?? "-", task.url,
          ] : [ShortID.of(task.id), task.status, task.progress, task.age, task.url])
    }
    let width = Terminal.isOutput && output == nil ? Terminal.size(1).columns : nil
    try Terminal.output(table.lines(width: width, .output))
  }
}

/// One line of JSON.
enum JSONLine {
  static func text(_ value: JSONValue) -> String {
    var writer = JSONWriter()
    value.encode(into: &writer)
    return PlainText.safe(json: writer.bytes)
  }
}
