internal import ArgumentParser
internal import FerryClient
internal import JSON
internal import Limits

/// The command `ferry hooks`.
struct HooksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hooks", abstract: "Show and repeat the deliveries of webhook messages.",
    subcommands: [HooksListCommand.self, HooksShowCommand.self, HooksResendCommand.self])
}

/// The options that select deliveries.
struct DeliveryFilter: ParsableArguments {
  @Flag(help: "Deliveries that have failed.")
  var failed = false
  @Flag(help: "Deliveries that have not ended.")
  var pending = false
  @Option(help: ArgumentHelp("Id of an endpoint.", valueName: "id"))
  var endpoint: String?
  @Option(help: ArgumentHelp("Id of a task.", valueName: "id"))
  var task: String?
  @Option(help: ArgumentHelp("Age of the oldest delivery, such as 30m, 2h or 7d.", valueName: "duration"))
  var since: String?

  func validate() throws {
    guard !failed || !pending else { throw ValidationError("--failed and --pending exclude each other") }
    try OptionText.checkSince(since)
  }

  /// The filters by name, as parameters and as members.
  func values(on connection: ServiceConnection) async throws(CommandFailure) -> [OptionText.Pair] {
    var values: [OptionText.Pair] = []
    if failed { values.append(("state", "failed")) }
    if pending { values.append(("state", "pending")) }
    if let endpoint { values.append(("endpoint", endpoint)) }
    if let task { values.append(("task", try await ShortID.task(task, on: connection))) }
    if let since, let time = TaskSelector.time(before: since) { values.append(("since", time)) }
    return values
  }
}

/// The deliveries of a service.
enum Deliveries {
  static let path = "/v1/webhooks/deliveries"

  static func id(_ text: String, on connection: ServiceConnection) async throws(CommandFailure) -> String {
    if ShortID.isWhole(text, "whd_") { return text }
    let items = try await connection.items(
      path, [("order", "newest")], upTo: ClientLimits.searchedDeliveries.value)
    return try ShortID.match(text, in: items, "delivery")
  }
}

/// The command `ferry hooks ls`.
struct HooksListCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List deliveries, the newest first.")
  @OptionGroup var filter: DeliveryFilter
  @Flag(help: "Print each delivery as one line of JSON.")
  var json = false
  @Option(help: "Maximum number of deliveries.")
  var limit = 100
  @OptionGroup var service: ServerOptions

  func validate() throws {
    try OptionText.checkLimit(limit)
  }

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    let query = try await filter.values(on: connection) + [("order", "newest")]
    let items = try await connection.items(Deliveries.path, query, upTo: limit)
    if json { return try Terminal.output(items.map(JSONLine.text)) }
    var table = AlignedTable(["ID", "STATE", "ATTEMPTS", "AGE", "TYPE", "LAST", "URL"], states: "STATE")
    for item in items {
      let last = item["attempts"]?.elements?.last
      table.append([
        ShortID.of(item["id"]?.string ?? ""), item["state"]?.string ?? "",
        "\(item["attemptCount"]?.integer ?? 0)", item["createdAt"]?.string.map { TaskText.age(of: $0) } ?? "",
        item["type"]?.string ?? "", last.map(Self.result) ?? "-", item["url"]?.string ?? "-",
      ])
    }
    try Terminal.output(table.lines(width: Terminal.isOutput ? Terminal.size(1).columns : nil, .output))
  }

  static func result(_ attempt: JSONValue) -> String {
    attempt["status"]?.integer.map { HTTPStatusText.of(Int($0)) } ?? attempt["error"]?.string ?? "-"
  }
}

/// The command `ferry hooks show`.
struct HooksShowCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show a delivery with its attempts.")
  @Argument(help: "Id of the delivery, or its last 8 or more characters.")
  var id: String
  @Flag(help: "Print the delivery as one line of JSON.")
  var json = false
  @OptionGroup var service: ServerOptions

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    let id = try await Deliveries.id(id, on: connection)
    let item = try await connection.reply(ServiceRequest("GET", "\(Deliveries.path)/\(id)"))
    if json { return try Terminal.output([JSONLine.text(item)]) }
    let names = [
      "id", "webhookId", "state", "type", "url", "endpoint", "taskId", "createdAt", "nextAttemptAt",
      "finishedAt",
    ]
    var lines = names.compactMap { name in
      item[name]?.string.map {
        StyledText.property(name, width: 13, $0, name == "state" ? Colors.Role(state: $0) : nil)
      }
    }
    for attempt in item["attempts"]?.elements ?? [] {
      let reply = attempt["reply"]?.string.map { "  \($0)" } ?? ""
      let text = "\(attempt["time"]?.string ?? "")  \(HooksListCommand.result(attempt))\(reply)"
      lines.append(StyledText.property("attempt", width: 13, text))
    }
    try Terminal.output(lines.map { $0.text(.output) })
  }
}

/// The command `ferry hooks resend`.
struct HooksResendCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "resend", abstract: "Send messages again.",
    discussion:
      "With filters and without ids, the command sends all selected messages again; failed ones by default.")
  @Argument(help: "Ids of deliveries, or their last 8 or more characters.")
  var ids: [String] = []
  @OptionGroup var filter: DeliveryFilter
  @OptionGroup var service: ServerOptions

  func validate() throws {
    let hasFilter =
      filter.failed || filter.pending || filter.endpoint != nil || filter.task != nil || filter.since != nil
    guard ids.isEmpty == hasFilter else {
      throw ValidationError(
        hasFilter
          ? "ids and filters exclude each other"
          : "no delivery is named; give ids, or a filter such as --failed")
    }
  }

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    guard ids.isEmpty else {
      for text in ids {
        let id = try await Deliveries.id(text, on: connection)
        _ = try await connection.reply(ServiceRequest("POST", "\(Deliveries.path)/\(id)/redeliver"))
        try Terminal.output(["sending \(id) again"])
      }
      return
    }
    let values = try await filter.values(on: connection)
    var writer = JSONWriter()
    writer.object { $0.members(values) }
    let reply = try await connection.reply(
      ServiceRequest("POST", "\(Deliveries.path)/redeliver", json: writer.bytes))
    let count = reply["redelivered"]?.integer ?? 0
    try Terminal.output(["sending \(count) \(count == 1 ? "message" : "messages") again"])
  }
}
