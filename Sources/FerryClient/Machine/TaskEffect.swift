internal import FoundationEssentials

/// A call of a task's delegate, with its arguments.
enum DelegateCall: Sendable {
  case challenge(FerryAuthenticationChallenge, isSessionLevel: Bool, decision: String?)
  case redirect(HTTPFerryResponse, FerryRequest, decision: String?)
  case sent(bytes: Int64, total: Int64, expected: Int64)
  case informational(HTTPFerryResponse)
  case waitsForConnectivity
  case delayed(FerryRequest, decision: String?)
  case response(HTTPFerryResponse, decision: String?)
  case data(Data)
  case becameDownload(id: String)
  case willCache(CachedFerryResponse, decision: String?)
  case resumed(offset: Int64, expected: Int64)
  case wrote(bytes: Int64, total: Int64, expected: Int64)
  case finishedDownloading(URL)
  case metrics(FerrySessionTaskMetrics)
  /// The end of the task. `body` and `file` are those of a completion handler.
  case completed(FerryError?, body: Data?, file: URL?)
}

/// A request about a task that goes to the service. Requests about one task are sent one after the other.
enum TaskCommand: Sendable, Equatable {
  case create, resume, suspend
  case cancel(producingResumeData: Bool)
}

/// A consequence of an input of `TaskCallMachine`.
enum TaskEffect: Sendable {
  case command(TaskCommand)
  case call(DelegateCall)
  /// Answers a decision without the delegate: the response is allowed, and stored as the rules say.
  case allow(decision: String)
  case store(CachedFerryResponse, decision: String)
  /// Sends the body of a streamed upload.
  case sendBody
  /// Reads the response's body, and reports it as `bodyBytes` and `bodyEnded`.
  case readBody
  case stopReading
  /// Reads a download's body into a temporary file, and reports it as `fileArrived`.
  case fetchFile
  /// The delegate has received all calls.
  case end
}
