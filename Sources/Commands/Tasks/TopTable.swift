internal import FerryClient
internal import JSON
internal import Limits

/// The table of `ferry top`: it receives tasks, events and keys, and returns commands.
struct TopTable {
  enum Action: Equatable {
    case quit
    case command(String, task: String)
  }

  struct Row: Equatable {
    let id: String
    var url: String
    var status: String
    var received: Int64 = 0
    var expected: Int64?
    var note = ""
    var rate = RateMeter()
  }

  /// The most tasks of the table. The oldest leave first.
  static let maximumRows = ClientLimits.topRows.value
  static let keys = "j/k move  x cancel  s suspend  u resume  r retry  d delete  f failed only  q quit"

  private(set) var rows: [Row] = []
  private var selectedID: String?
  private var showsFailed = false
  var message = ""

  private var shown: [Row] { showsFailed ? rows.filter { $0.status == "failed" } : rows }
  var selected: String? { selectedID ?? shown.first?.id }

  // MARK: Inputs

  /// Replaces the rows by tasks, the newest first.
  mutating func load(_ tasks: [JSONValue]) {
    rows = tasks.prefix(Self.maximumRows).map { json in
      let text = TaskText(json: json)
      var row = Row(id: text.id, url: text.url, status: text.status)
      row.received = json["progress"]?["countOfBytesReceived"]?.integer ?? 0
      row.expected = json["progress"]?["countOfBytesExpectedToReceive"]?.integer.flatMap {
        $0 >= 0 ? $0 : nil
      }
      row.note = text.error ?? ""
      return row
    }
  }

  mutating func receive(_ event: JSONValue) {
    guard let id = event["taskId"]?.string, let data = event["data"] else { return }
    if event["type"]?.string == "task.didCreate" {
      guard !rows.contains(where: { $0.id == id }) else { return }
      rows.insert(Row(id: id, url: data["url"]?.string ?? "", status: "suspended"), at: 0)
      if rows.count > Self.maximumRows { rows.removeLast() }
      return
    }
    guard let index = rows.firstIndex(where: { $0.id == id }) else { return }
    switch event["type"]?.string {
    case "task.didChangeState":
      rows[index].status = data["phase"]?.string ?? data["state"]?.string ?? ""
      rows[index].note = data["lastError"]?["message"]?.string ?? ""
    case "task.didComplete":
      let error = data["error"]
      let isCancelled = error?["code"]?.integer == -999
      rows[index].status = error?.isObject == true ? (isCancelled ? "cancelled" : "failed") : "succeeded"
      rows[index].note = error?["message"]?.string ?? ""
    case "downloadTask.didWriteData":
      progress(index, data["totalBytesWritten"], data["totalBytesExpectedToWrite"])
    case "dataTask.didReceiveData":
      progress(index, data["countOfBytesReceived"], data["countOfBytesExpectedToReceive"])
    default: break
    }
  }

  private mutating func progress(_ index: Int, _ done: JSONValue?, _ total: JSONValue?) {
    rows[index].received = done?.integer ?? rows[index].received
    rows[index].expected = total?.integer.flatMap { $0 >= 0 ? $0 : nil } ?? rows[index].expected
  }

  mutating func tick(at time: Double) {
    for index in rows.indices where rows[index].status == "transferring" {
      rows[index].rate.record(rows[index].received, at: time)
    }
  }

  /// Handles one key.
  mutating func press(_ key: Character) -> Action? {
    message = ""
    switch key {
    case "q", "\u{3}": return .quit
    case "j": move(1)
    case "k": move(-1)
    case "g": selectedID = shown.first?.id
    case "G": selectedID = shown.last?.id
    case "f":
      showsFailed.toggle()
      selectedID = shown.first?.id
    case "x": return command("cancel")
    case "s": return command("suspend")
    case "u": return command("resume")
    case "r": return command("retry")
    case "d": return command("delete")
    default: message = Self.keys
    }
    return nil
  }

  private func command(_ name: String) -> Action? { selected.map { .command(name, task: $0) } }

  private mutating func move(_ step: Int) {
    let ids = shown.map(\.id)
    guard !ids.isEmpty else { return }
    let index = selected.flatMap { ids.firstIndex(of: $0) } ?? 0
    selectedID = ids[max(0, min(ids.count - 1, index + step))]
  }

  mutating func remove(_ id: String) {
    let ids = shown.map(\.id)
    if selected == id, let index = ids.firstIndex(of: id) {
      selectedID = index + 1 < ids.count ? ids[index + 1] : index > 0 ? ids[index - 1] : nil
    }
    rows.removeAll { $0.id == id }
  }

  // MARK: Output

  /// The lines of the screen. The selected row is marked by `>`.
  func lines(columns: Int, height: Int, _ colors: Colors) -> [String] {
    let shown = shown
    let room = max(1, height - 4)
    let place = selected.flatMap { id in shown.firstIndex { $0.id == id } } ?? 0
    let first = max(0, min(place - room / 2, shown.count - room))
    let running = rows.filter { $0.status == "transferring" }
    let rate = running.reduce(0) { $0 + $1.rate.rate }
    let failed = rows.count { $0.status == "failed" }
    var lines = [
      StyledText(
        "\(rows.count) tasks, \(running.count) transferring, \(failed) failed, \(Quantities.bytes(Int64(rate)))/s"
          + (showsFailed ? " (failed only)" : "")),
      StyledText("  ID        STATUS            PROGRESS                RATE          URL", .secondary),
    ]
    for row in shown[first..<min(shown.count, first + room)] {
      let total = row.expected.map { " of \(Quantities.bytes($0))" } ?? ""
      let rate = row.status == "transferring" ? Quantities.bytes(Int64(row.rate.rate)) + "/s" : ""
      let text = row.note.isEmpty ? row.url : "\(row.note) – \(row.url)"
      lines.append(
        StyledText("\(row.id == selected ? ">" : " ") \(PlainText.padded(ShortID.of(row.id), to: 8))  ")
          + StyledText(PlainText.padded(PlainText.safe(row.status), to: 16), Colors.Role(state: row.status))
          + StyledText(
            "  \(PlainText.padded(Quantities.bytes(row.received) + total, to: 22))  "
              + "\(PlainText.padded(rate, to: 12))  \(PlainText.safe(text))"))
    }
    lines += Array(repeating: StyledText(""), count: max(0, height - 1 - lines.count))
    lines.append(message.isEmpty ? StyledText(Self.keys, .secondary) : StyledText(PlainText.safe(message)))
    return lines.map { $0.fitted(to: max(1, columns - 1)).text(colors) }
  }
}
