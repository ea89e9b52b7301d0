internal import ArgumentParser
internal import EventLoop
internal import JSON
internal import TransferModel

/// The options that select tasks.
struct TaskSelector: ParsableArguments {
  @Option(
    help: ArgumentHelp("State: suspended, running, canceling or completed.", valueName: "state"),
    completion: .list(["suspended", "running", "canceling", "completed"]))
  var state: String?
  @Flag(help: "Tasks that have failed.")
  var failed = false
  @Flag(help: "Tasks that run.")
  var running = false
  @Option(
    help: ArgumentHelp("Pattern of the URL: * stands for any text, and ? for one byte.", valueName: "glob"))
  var url: String?
  @Option(
    name: [.customShort("l"), .long], help: ArgumentHelp("Label that the tasks have.", valueName: "key=value")
  )
  var label: [String] = []
  @Option(help: ArgumentHelp("Age of the oldest task, such as 30m, 2h or 7d.", valueName: "duration"))
  var since: String?

  var isEmpty: Bool {
    state == nil && !failed && !running && url == nil && label.isEmpty && since == nil
  }

  func validate() throws {
    guard !(running && state != nil), !(failed && (running || state != nil)) else {
      throw ValidationError("--failed, --running and --state exclude each other; give one of them")
    }
    try OptionText.checkSince(since)
    _ = try OptionText.labels(label)
  }

  /// The labels, which `validate` has checked.
  private var labels: [OptionText.Pair] { (try? OptionText.labels(label)) ?? [] }

  /// The members of the filters that have one text.
  private var texts: [OptionText.Pair] {
    var texts: [OptionText.Pair] = []
    if let state = state ?? (running ? "running" : nil) { texts.append(("state", state)) }
    if failed { texts.append(("outcome", "failed")) }
    if let url { texts.append(("url", url)) }
    if let since, let time = Self.time(before: since) { texts.append(("since", time)) }
    return texts
  }

  /// Returns the time before now by a duration.
  static func time(before duration: String) -> String? {
    Quantities.seconds(duration).map {
      Timestamp(microseconds: WallClock.microseconds() - $0 * 1_000_000).description
    }
  }

  /// The filters as parameters of a list.
  var query: [OptionText.Pair] {
    texts + labels.map { ("label", "\($0.name):\($0.value)") }
  }

  /// The filters as the body of a command for many tasks.
  func selection(all: Bool, dryRun: Bool) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      if all { writer.field("all", true) }
      writer.members(texts)
      if !labels.isEmpty { writer.field("labels", labels) }
      if dryRun { writer.field("dryRun", true) }
    }
    return writer.bytes
  }
}
