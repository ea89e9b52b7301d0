internal import JSON

/// An event of a task, as the service reports it.
enum TaskEvent: Sendable {
  case stateChanged(isSuspended: Bool)
  case challenge(FerryAuthenticationChallenge, isSessionLevel: Bool, decision: String?)
  case redirect(HTTPFerryResponse, FerryRequest, decision: String?)
  case needsBody
  case sent(bytes: Int64, total: Int64, expected: Int64)
  case informational(HTTPFerryResponse)
  case waitsForConnectivity
  case delayed(FerryRequest, decision: String?)
  case response(HTTPFerryResponse, decision: String?)
  case received(total: Int64, expected: Int64)
  case becameDownload(id: String)
  /// - Parameter size: the size of the body to store.
  case willCache(CachedFerryResponse, size: Int64, decision: String?)
  case resumed(offset: Int64, expected: Int64)
  case wrote(bytes: Int64, total: Int64, expected: Int64)
  case finishedDownloading
  case metrics(FerrySessionTaskMetrics)
  /// - Parameter size: the size of the body that the service has; `nil` if it has none.
  case completed(FerryError?, size: Int64?)

  /// Reads the `data` of an event; `nil` for types that concern no delegate.
  /// - Parameter decision: the decision, if `data` does not name it.
  init?(_ type: String, _ data: JSONValue, decision: String? = nil) {
    func count(_ name: String) -> Int64 { data[name]?.integer ?? -1 }
    let decision = data["decisionId"]?.string ?? decision
    switch type {
    case "task.didChangeState": self = .stateChanged(isSuspended: data["state"]?.string == "suspended")
    case "session.didReceiveChallenge", "task.didReceiveChallenge":
      self = .challenge(
        FerryAuthenticationChallenge(data), isSessionLevel: type.hasPrefix("session"), decision: decision)
    case "task.willPerformHTTPRedirection":
      guard let response = data["response"], let request = FerryRequest(data["request"]) else { return nil }
      self = .redirect(HTTPFerryResponse(response), request, decision: decision)
    case "task.needNewBodyStream": self = .needsBody
    case "task.didSendBodyData":
      self = .sent(
        bytes: count("bytesSent"), total: count("totalBytesSent"),
        expected: count("totalBytesExpectedToSend"))
    case "task.didReceiveInformationalResponse": self = .informational(HTTPFerryResponse(data))
    case "task.isWaitingForConnectivity": self = .waitsForConnectivity
    case "task.willBeginDelayedRequest":
      guard let request = FerryRequest(data["request"]) else { return nil }
      self = .delayed(request, decision: decision)
    case "dataTask.didReceiveResponse":
      guard let response = data["response"] else { return nil }
      self = .response(HTTPFerryResponse(response), decision: decision)
    case "dataTask.didReceiveData":
      self = .received(
        total: count("countOfBytesReceived"), expected: count("countOfBytesExpectedToReceive"))
    case "dataTask.didBecomeDownloadTask":
      guard let id = data["downloadTaskId"]?.string else { return nil }
      self = .becameDownload(id: id)
    case "dataTask.willCacheResponse":
      guard let response = data["response"] else { return nil }
      self = .willCache(
        CachedFerryResponse(response: HTTPFerryResponse(response)), size: count("countOfBytes"),
        decision: decision)
    case "downloadTask.didResumeAtOffset":
      self = .resumed(offset: count("fileOffset"), expected: count("expectedTotalBytes"))
    case "downloadTask.didWriteData":
      self = .wrote(
        bytes: count("bytesWritten"), total: count("totalBytesWritten"),
        expected: count("totalBytesExpectedToWrite"))
    case "downloadTask.didFinishDownloading": self = .finishedDownloading
    case "task.didFinishCollectingMetrics":
      guard let metrics = data["metrics"] else { return nil }
      self = .metrics(FerrySessionTaskMetrics(metrics))
    case "task.didComplete":
      self = .completed(FerryError(data["error"]), size: data["body"]?["size"]?.integer)
    default: return nil
    }
  }
}

/// The state of a task as the service describes it, for a client that has missed events.
struct TaskSnapshot: Sendable {
  let isCompleted: Bool
  let isSuspended: Bool
  let response: HTTPFerryResponse?
  let error: FerryError?
  let bodySize: Int64?
  let received: Int64

  init(_ json: JSONValue) {
    isCompleted = json["state"]?.string == "completed"
    isSuspended = json["state"]?.string == "suspended"
    response = json["response"]?.present.map { HTTPFerryResponse($0) }
    error = FerryError(json["error"])
    bodySize = json["body"]?["size"]?.integer
    received = json["progress"]?["countOfBytesReceived"]?.integer ?? 0
  }
}
