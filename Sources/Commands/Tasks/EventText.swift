internal import JSON

/// An event as one line.
enum EventText {
  static func line(_ event: JSONValue) -> String {
    let time = event["time"]?.string ?? ""
    let task = event["taskId"]?.string.map(ShortID.of) ?? "-"
    let type = event["type"]?.string ?? ""
    return PlainText.safe("\(time)  \(task)  \(type)\(summary(event["data"]).map { "  " + $0 } ?? "")")
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
      return StatusText.of(Int(status))
    }
    return data["url"]?.string
  }
}
