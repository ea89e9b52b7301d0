internal import FerryClient
internal import JSON
internal import TransferModel

/// An observation about a task: an event of the stream, or the task itself.
enum TransferReport: Sendable, Equatable {
  case created(task: String, key: String)
  case queued(task: String)
  case transferring(task: String)
  case suspended(task: String)
  case waiting(task: String, reason: String, until: Double?, isRetry: Bool)
  case progress(task: String, received: Int64, expected: Int64?)
  case body(task: String, TransferItem.Body)
  case ended(task: String, TransferItem.Failure?)

  /// The reports of one event.
  static func of(event json: JSONValue) -> [TransferReport] {
    guard let task = json["taskId"]?.string, let data = json["data"] else { return [] }
    switch json["type"]?.string {
    case "task.didCreate":
      guard let key = data["labels"]?[GetLabels.file]?.string else { return [] }
      return [.created(task: task, key: key)]
    case "task.didChangeState": return state(of: data, task: task).map { [$0] } ?? []
    case "downloadTask.didWriteData":
      return [
        .progress(
          task: task, received: data["totalBytesWritten"]?.integer ?? 0,
          expected: known(data["totalBytesExpectedToWrite"]))
      ]
    case "downloadTask.didResumeAtOffset":
      return [
        .progress(
          task: task, received: data["fileOffset"]?.integer ?? 0, expected: known(data["expectedTotalBytes"]))
      ]
    case "downloadTask.didFinishDownloading":
      return body(data["body"], name: data["suggestedFilename"]?.string).map { [.body(task: task, $0)] } ?? []
    case "task.didComplete": return [.ended(task: task, failure(data["error"]))]
    default: return []
    }
  }

  /// The reports of a task in a list.
  static func of(task json: JSONValue) -> [TransferReport] {
    guard let task = json["id"]?.string, let key = json["labels"]?[GetLabels.file]?.string else { return [] }
    var reports = [TransferReport.created(task: task, key: key)]
    let progress = json["progress"]
    if let received = progress?["countOfBytesReceived"]?.integer, received > 0 {
      reports.append(
        .progress(
          task: task, received: received, expected: known(progress?["countOfBytesExpectedToReceive"])))
    }
    if let body = body(json["body"], name: json["response"]?["suggestedFilename"]?.string) {
      reports.append(.body(task: task, body))
    }
    if json["state"]?.string == "completed" {
      reports.append(.ended(task: task, failure(json["error"])))
    } else if let state = state(of: json, task: task) {
      reports.append(state)
    }
    return reports
  }

  private static func known(_ value: JSONValue?) -> Int64? {
    value?.integer.flatMap { $0 >= 0 ? $0 : nil }
  }

  private static func body(_ json: JSONValue?, name: String?) -> TransferItem.Body? {
    guard let size = json?["size"]?.integer, let digest = json?["sha256"]?.string else { return nil }
    return TransferItem.Body(suggestedName: name, size: size, sha256: digest)
  }

  private static func state(of json: JSONValue, task: String) -> TransferReport? {
    switch (json["state"]?.string, json["phase"]?.string) {
    case ("suspended", _): return .suspended(task: task)
    case ("running", "transferring"): return .transferring(task: task)
    case ("running", "waitingForConnectivity"):
      return .waiting(task: task, reason: "waits for a network connection", until: nil, isRetry: false)
    case ("running", "waitingForDecision"):
      return .waiting(
        task: task, reason: "waits for an answer; see `ferry answer`", until: nil, isRetry: false)
    case ("running", "waitingToRetry"):
      let time = json["nextAttemptAt"]?.string.flatMap { Timestamp($0) }
      return .waiting(
        task: task, reason: reason(json["lastError"]), until: time.map { Double($0.microseconds) / 1e6 },
        isRetry: true)
    case ("running", _): return .queued(task: task)
    default: return nil
    }
  }

  /// Returns the reason of another attempt, such as `503 Service Unavailable`.
  private static func reason(_ error: JSONValue?) -> String {
    if let status = error?["status"]?.integer { return HTTPStatusText.of(Int(status)) }
    return PlainText.safe(error?["message"]?.string ?? "the attempt failed")
  }

  static func failure(_ error: JSONValue?) -> TransferItem.Failure? {
    guard let error = error?.present else { return nil }
    let message = PlainText.safe(error["message"]?.string ?? error["name"]?.string ?? "failed")
    let cause: CommandFailure.Cause =
      switch (error["domain"]?.string, error["code"]?.integer) {
      case ("FerryErrorDomain", 7): .status
      case ("FerryErrorDomain", 5): .mismatch
      case ("FerryErrorDomain", 1), ("FerryErrorDomain", 2), ("FerryErrorDomain", 3): .refused
      case ("NSURLErrorDomain", -1001): .timedOut
      default: .network
      }
    guard cause == .status, let status = error["status"]?.integer else {
      return TransferItem.Failure(cause: cause, message: message)
    }
    return TransferItem.Failure(cause: cause, message: HTTPStatusText.of(Int(status)))
  }
}

/// The labels by which `ferry get` finds its tasks again.
enum GetLabels {
  /// The target directory.
  static let directory = "ferry-get"
  /// The URL and the place.
  static let file = "ferry-get-file"
}
