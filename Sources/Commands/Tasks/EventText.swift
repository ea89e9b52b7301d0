internal import FerryClient
internal import JSON

/// An event as one line.
enum EventText {
  static func line(_ event: JSONValue) -> StyledText {
    let time = event["time"]?.string ?? ""
    let task = event["taskId"]?.string.map(ShortID.of) ?? "-"
    let type = event["type"]?.string ?? ""
    let rest = "\(task)  \(type)\(summary(event["data"]).map { "  " + $0 } ?? "")"
    return StyledText(PlainText.safe(time), .secondary) + StyledText("  " + PlainText.safe(rest))
  }

  /// Writes an event to standard output.
  static func output(_ event: JSONValue, asJSON: Bool) throws(CommandFailure) {
    try Terminal.output([asJSON ? JSONLine.text(event) : line(event).text(.output)])
  }

  /// The part of an event that a reader looks for first.
  private static func summary(_ data: JSONValue?) -> String? {
    guard let data else { return nil }
    if let error = data["error"], let message = error["message"]?.string { return message }
    if let last = data["lastError"]?["message"]?.string {
      return "\(last)\(data["nextAttemptAt"]?.string.map { "; next attempt at \($0)" } ?? "")"
    }
    if let decision = data["decisionId"]?.string { return "decision \(ShortID.of(decision))" }
    if let state = data["state"]?.string { return data["phase"]?.string ?? state }
    if let written = data["totalBytesWritten"]?.integer {
      let total = data["totalBytesExpectedToWrite"]?.integer ?? -1
      return Quantities.bytes(written) + (total >= 0 ? " of \(Quantities.bytes(total))" : "")
    }
    if let size = data["body"]?["size"]?.integer { return Quantities.bytes(size) }
    if let status = data["status"]?.integer ?? data["response"]?["status"]?.integer {
      return HTTPStatusText.of(Int(status))
    }
    return data["url"]?.string
  }
}
