internal import ArgumentParser
internal import FerryClient
internal import JSON

/// The command `ferry watch`.
struct WatchCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Show the events of a task until its end.",
    discussion: """
      The list begins with the earlier events of the task. The exit status is 0 if the task has succeeded; otherwise it names the \
      cause, as that of `ferry get` does.
      """)

  @Argument(help: "Id of the task, or its last 8 or more characters.")
  var id: String
  @Flag(help: "Print each event as one line of JSON.")
  var json = false
  @OptionGroup var service: ServerOptions

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    let id = try await ShortID.task(id, on: connection)
    let events = connection.events(ServiceRequest("GET", "/v1/tasks/\(id)/events"), after: "0")
    var outage = ServiceOutage()
    let end = try await events.first { (element) throws(CommandFailure) -> TransferReport? in
      if case .connected = element { outage = ServiceOutage() }
      if case .disconnected(let error) = element { try outage.note(error) }
      guard case .event(let event) = element,
        let value = try? JSONParser.parse(event.data, isLimited: false)
      else { return nil }
      try EventText.output(value, asJSON: json)
      return TransferReport.of(event: value).first { if case .ended = $0 { true } else { false } }
    }
    if case .ended(_, let failure?)? = end { throw CommandFailure(failure.cause) }
  }
}

/// The command `ferry events`.
struct EventsCommand: ClientCommand {
  static let configuration = CommandConfiguration(
    commandName: "events", abstract: "Show events while they happen.",
    discussion: "After an interruption, the command continues with the next event. It ends with Ctrl-C.")

  @Option(help: ArgumentHelp("Types of events, with commas.", valueName: "list"))
  var types: String?
  @Option(
    name: [.customShort("l"), .long], help: ArgumentHelp("Label of the tasks.", valueName: "key=value"))
  var label: [String] = []
  @Option(
    help: ArgumentHelp(
      "Number of the event after which the list begins; 0 for all stored events.", valueName: "number"))
  var after: Int64?
  @Option(help: "End after this number of events.")
  var count: Int?
  @Flag(help: "Omit the progress of transfers.")
  var noProgress = false
  @Flag(help: "Print each event as one line of JSON.")
  var json = false
  @OptionGroup var service: ServerOptions

  func validate() throws { _ = try OptionText.labels(label) }

  func run(_ connection: ServiceConnection) async throws(CommandFailure) {
    var query: [OptionText.Pair] = []
    if let types { query.append(("types", types)) }
    // `validate` has checked them.
    for label in (try? OptionText.labels(label)) ?? [] {
      query.append(("label", "\(label.name):\(label.value)"))
    }
    if noProgress { query.append(("progress", "false")) }
    let events = connection.events(
      ServiceRequest("GET", "/v1/events", query: query), after: after.map { "\($0)" })
    var left = count
    var isFirst = true
    _ = try await events.first { (element) throws(CommandFailure) -> Void? in
      switch element {
      case .connected: isFirst = false
      case .disconnected(let error):
        if isFirst { throw CommandFailure(error) }
        ErrorOutput.write("\(error); trying again")
      case .didReset: ErrorOutput.write("some events were deleted before they could be shown")
      case .event(let event):
        guard let value = try? JSONParser.parse(event.data, isLimited: false) else { return nil }
        try EventText.output(value, asJSON: json)
        left = left.map { $0 - 1 }
        if left == 0 { return () }
      }
      return nil
    }
  }
}
