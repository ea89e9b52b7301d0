internal import FerryClient
internal import EventLoop
internal import JSON
internal import TransferModel

/// A task as texts for people.
struct TaskText {
  let json: JSONValue

  var id: String { json["id"]?.string ?? "" }
  var url: String { json["originalRequest"]?["url"]?.string ?? "" }
  /// The outcome of an ended task, or what it does now.
  var status: String {
    json["outcome"]?.string ?? json["phase"]?.string ?? json["state"]?.string ?? ""
  }
  var error: String? { json["error"]?["message"]?.string ?? json["lastError"]?["message"]?.string }

  var progress: String {
    let uploads = json["kind"]?.string == "upload"
    let name = uploads ? "countOfBytesSent" : "countOfBytesReceived"
    let total = uploads ? "countOfBytesExpectedToSend" : "countOfBytesExpectedToReceive"
    guard let done = json["progress"]?[name]?.integer else { return "" }
    guard let all = json["progress"]?[total]?.integer, all > 0, all != done else {
      return Quantities.bytes(done)
    }
    return "\(Quantities.bytes(done)) of \(Quantities.bytes(all))"
  }

  /// The time since the creation, in one unit as kubectl prints it.
  var age: String { json["createdAt"]?.string.map { Self.age(of: $0) } ?? "" }

  static func age(of time: String) -> String {
    guard let time = Timestamp(time) else { return "" }
    let seconds = max(0, (WallClock.microseconds() - time.microseconds) / 1_000_000)
    switch seconds {
    case ..<120: return "\(seconds)s"
    case ..<7200: return "\(seconds / 60)m"
    case ..<172_800: return "\(seconds / 3600)h"
    default: return "\(seconds / 86_400)d"
    }
  }

  /// Lines with a name and a value for each property.
  var description: [StyledText] {
    var rows: [(String, String?)] = [
      ("id", id), ("session", json["sessionId"]?.string), ("kind", json["kind"]?.string), ("url", url),
      ("method", json["originalRequest"]?["method"]?.string), ("status", status), ("progress", progress),
      ("response", json["response"]?["status"]?.integer.map { HTTPStatusText.of(Int($0)) }),
      ("error", json["error"]?["message"]?.string),
      ("last error", json["lastError"]?["message"]?.string),
      ("next attempt", json["nextAttemptAt"]?.string),
      ("retries", json["retryCount"]?.integer.map { "\($0)" }),
      ("sha256", json["body"]?["sha256"]?.string), ("body until", json["body"]?["expiresAt"]?.string),
      ("group", json["group"]?.string), ("retry of", json["retryOf"]?.string),
      ("created", json["createdAt"]?.string), ("started", json["startedAt"]?.string),
      ("completed", json["completedAt"]?.string),
    ]
    if let current = json["currentRequest"]?["url"]?.string, current != url {
      rows.insert(("current url", current), at: 4)
    }
    for label in json["labels"]?.members ?? [] {
      rows.append(("label", "\(label.name)=\(label.value.string ?? "")"))
    }
    return rows.compactMap { name, value in
      guard let value, !value.isEmpty else { return nil }
      return StyledText.property(name, width: 12, value, name == "status" ? Colors.Role(state: value) : nil)
    }
  }

  /// The cause of a failed task; `nil` if it has not failed.
  var failure: TransferItem.Failure? { TransferReport.failure(json["error"]) }
}
